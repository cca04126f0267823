import { readTextOrEmpty } from "#adapters/files/index.ts";
import type { PackageManager, SystemRelease, UpdateRequest } from "#domain/ports/packages.ts";
import { describeUnmet } from "../common/changes.ts";
import type { ManagerPorts } from "../common/ports.ts";
import { createRpmManager } from "../rpm/manager.ts";
import { splitVersion } from "../rpm/names.ts";
import { openZypper, toInstalled, type Zypper, type ZypperPorts } from "./host.ts";
import { scriptFailures, telling } from "./output.ts";
import { createRepairs, leftovers, refresh } from "./repairs.ts";
import { simulate } from "./simulation.ts";
import { createFaults, createFindings } from "./states.ts";
import { makeChanges, operandOf } from "./transaction.ts";
import { createOffers } from "./updates.ts";

const releaseName = "distribution-release";
const rebootCode = 102;

/** Whether a distribution has no releases and is upgraded with `dup`. */
export const isRolling = (osRelease: string): boolean =>
  /^ID=["']?opensuse-(?:tumbleweed|slowroll|microos)["']?\s*$/m.test(osRelease);

async function upgradeWords({ places }: Zypper, { type, names }: UpdateRequest): Promise<readonly string[]> {
  const osRelease = await readTextOrEmpty(places.osRelease);
  if (type !== "packages" && names === undefined && isRolling(osRelease)) return ["dup", "--no-recommends"];
  // One that takes the place of another is a removal.
  const keeping = type === "packages" ? ["--no-allow-name-change"] : [];
  return ["update", "--type", "package", "--no-recommends", ...keeping, "--", ...(names ?? [])];
}

/** A plan is carried out as an installation of exact versions, after a rehearsal with the same result. */
export function createZypper(ports: ManagerPorts & ZypperPorts): PackageManager {
  const zypper = openZypper(ports);
  const { exec, places, database } = zypper;
  const offers = createOffers(zypper);
  const findings = createFindings(zypper);

  return createRpmManager(
    {
      name: "zypper",
      database,
      toInstalled,
      offers,
      listsAt: zypper.listsAt,
      faults: createFaults(zypper, findings),
      repairs: createRepairs(zypper, findings),
      isBusy: async () => (await zypper.writer()) !== undefined,

      async leftovers(signal) {
        const found = await findings(signal);
        return { changes: leftovers(found), other: found.unmet.map(describeUnmet) };
      },

      async plan(request, wanted, _state, signal) {
        const words = request.isSecurityOnly
          ? ["install", "--no-recommends", "--", ...wanted.map(operandOf)]
          : await upgradeWords(zypper, request);
        const { changes, ...sizes } = await simulate(zypper.tryAsking, words, signal);
        // Of a package whose architecture changes only the other half goes.
        const come = new Set(changes.flatMap(({ name, to }) => (to === null ? [] : [name])));
        const removals = changes.filter(({ name, to }) => to === null && !come.has(name));
        return { changes, removals, sizes: () => Promise.resolve(sizes) };
      },

      change: (unit, changes, onLine, signal) => makeChanges(zypper, { unit, changes, onLine }, signal),
      scriptFailures,
      telling,
      refresh: (onLine, signal) => refresh(zypper, onLine, signal),

      async release(signal): Promise<SystemRelease | undefined> {
        const words = ["--query", "--queryformat=%{NAME}\\n", "--whatprovides", "--", releaseName];
        const { exitCode, stdout } = await exec([...places.rpm, ...words], { signal });
        const names = exitCode === 0 ? stdout.trim().split("\n") : [];
        const next = (await offers(signal)).updates.find(({ name }) => names.includes(name));
        if (next?.to === undefined || next.to === null) return undefined;
        const { version } = splitVersion(next.to);
        return { version, releaseDate: "", isSecurity: next.isSecurity, changelog: "" };
      },

      asksReboot: async (signal) => (await zypper.tryInstalled(["needs-rebooting"], signal)).exitCode === rebootCode,
    },
    ports,
  );
}
