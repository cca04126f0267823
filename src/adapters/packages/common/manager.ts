import type { PackageFaults, PackageManager, PackageVersion, Transactions } from "#domain/ports/packages.ts";
import { describeUnmet, heldIn } from "./changes.ts";
import type { LockHolder } from "./locks.ts";
import type { Asks, ManagerPorts } from "./ports.ts";
import { createStaleUnits } from "./stale-code.ts";

/** What an interrupted transaction has left, and what does not fit together. */
export interface FoundFaults extends Pick<PackageFaults, "unfinished" | "isInterrupted" | "unmet"> {
  /** What is half-done, a sentence each. */
  readonly halfDone: readonly string[];
}

const noFaults: FoundFaults = { unfinished: [], isInterrupted: false, unmet: [], halfDone: [] };

export const describeFaults = ({ halfDone, unmet }: Pick<FoundFaults, "halfDone" | "unmet">): readonly string[] => [
  ...halfDone,
  ...unmet.map(describeUnmet),
];

/** What is asked of every manager in the same way. */
export function createQuestions<Package extends PackageVersion>(
  host: {
    readonly database: Asks<{
      readonly packages: readonly Package[];
      readonly isHeld: (found: Package) => boolean;
    }>;
    readonly writer: () => Promise<LockHolder | undefined>;
    readonly findings: Asks<FoundFaults>;
    /** Whether the manager itself says that the host should be rebooted. */
    readonly asksReboot?: Asks<boolean>;
  },
  ports: ManagerPorts,
): Pick<PackageManager, "faults" | "restartNeeds"> & Pick<Transactions, "audit"> {
  const staleUnits = createStaleUnits();
  return {
    async faults(signal) {
      // First who writes, then what is written: in the middle of a transaction all of it looks interrupted.
      const writer = await host.writer();
      const { unfinished, isInterrupted, unmet } = writer === undefined ? await host.findings(signal) : noFaults;
      const state = await host.database(signal);
      return { installed: state.packages.length, unfinished, isInterrupted, unmet, held: heldIn(state), writer };
    },

    async audit(signal) {
      // What somebody else is in the middle of is not left over.
      return (await host.writer()) === undefined ? describeFaults(await host.findings(signal)) : [];
    },

    restartNeeds: async (signal) => ({
      requiresReboot: (await ports.needsReboot(signal)) || ((await host.asksReboot?.(signal)) ?? false),
      units: await staleUnits(signal),
    }),
  };
}
