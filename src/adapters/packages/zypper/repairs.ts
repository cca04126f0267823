import { CommandFailed } from "#adapters/exec/command.ts";
import { type MissingPlan, type PackageRepairs, UpdateRefused } from "#domain/ports/packages.ts";
import type { PlainChange } from "../common/changes.ts";
import type { createTransactions } from "../common/transactions.ts";
import { NoLists } from "../rpm/offers.ts";
import type { Asking, ZypperPlaces } from "./asking.ts";
import { simulate } from "./simulation.ts";
import type { createFindings, Findings } from "./states.ts";
import type { createExact } from "./transaction.ts";

/** To remove what an interrupted transaction left beside what it brought is what it had not come to. */
export const leftovers = ({ duplicates }: Pick<Findings, "duplicates">): readonly PlainChange[] =>
  duplicates.map(({ old: { name, architecture, version } }) => ({ name, architecture, from: version, to: null }));

/** Downloads the lists of all repositories; one that cannot be reached, or is not signed as it should be, is an error. */
export function createRefresh(ports: {
  readonly transact: ReturnType<typeof createTransactions>;
  readonly places: ZypperPlaces;
}): (onLine: ((line: string) => void) | undefined, signal: AbortSignal) => Promise<void> {
  const { transact, places } = ports;
  return async (onLine, signal) => {
    await transact(
      {
        unit: "steward-zypper-refresh",
        description: "Steward downloads the package lists (zypper refresh)",
        isInterruptible: true,
        argv: [...places.zypper, "--non-interactive", "--xmlout", "refresh"],
        locks: [places.lock],
        ...(onLine !== undefined && { onLine }),
      },
      signal,
    );
  };
}

const described = ({ name, architecture, from, to }: MissingPlan["changes"][number]): string =>
  `${name}.${architecture} ${from ?? "-"} ${to}`;
const nameAndVersion = ({ name, to }: { name: string; to: string }): string => `${name} ${to}`;

export function createRepairs(ports: {
  readonly asking: Pick<Asking, "tryAsking">;
  readonly findings: ReturnType<typeof createFindings>;
  readonly exact: ReturnType<typeof createExact>;
  readonly refresh: ReturnType<typeof createRefresh>;
}): PackageRepairs {
  const { asking, findings, exact, refresh } = ports;

  const planMissing: PackageRepairs["planMissing"] = async (reinstalled, signal) => {
    const plan = { reinstalled, changes: [], configured: [], downloadBytes: 0, obstacle: null };
    if (reinstalled.length > 0)
      return { ...plan, obstacle: "zypper knows of no package that is only partly installed" };
    try {
      const words = ["verify", "--no-recommends"];
      const { changes, downloadBytes } = await simulate(asking.tryAsking, words, signal);
      const removed = changes.filter(({ to }) => to === null).map(({ name }) => name);
      if (removed.length > 0) return { ...plan, obstacle: `zypper would have to remove ${removed.join(", ")}` };
      if (changes.length === 0) return { ...plan, obstacle: "nothing that could be installed would mend it" };
      return { ...plan, changes: changes.map((change) => ({ ...change, to: change.to ?? "" })), downloadBytes };
    } catch (error) {
      if (error instanceof NoLists)
        return { ...plan, obstacle: "there are no package lists: they have to be refreshed first" };
      if (error instanceof UpdateRefused) return { ...plan, obstacle: error.message };
      throw error;
    }
  };

  return {
    async finish(signal) {
      const changes = leftovers(await findings(signal));
      if (changes.length > 0) await exact({ unit: "steward-zypper-leftovers", changes }, signal);
    },

    planMissing,

    async installMissing(plan, signal) {
      const now = await planMissing(plan.reinstalled, signal);
      if (now.obstacle !== null) throw new CommandFailed(now.obstacle);
      if (now.changes.map(described).sort().join() !== plan.changes.map(described).sort().join())
        throw new CommandFailed(
          `what has to be installed has changed meanwhile to ${now.changes.map(nameAndVersion).join(", ")}: look at it and try again`,
        );
      await exact({ unit: "steward-zypper-missing", changes: now.changes }, signal);
    },

    refreshLists: (signal) => refresh(undefined, signal),
  };
}
