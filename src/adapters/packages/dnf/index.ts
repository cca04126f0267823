import type { PackageManager, SystemRelease, UpdateRequest } from "#domain/ports/packages.ts";
import { describeUnmet } from "../common/changes.ts";
import type { ManagerPorts } from "../common/ports.ts";
import { createRpmManager } from "../rpm/manager.ts";
import { nevraOf, splitVersion } from "../rpm/names.ts";
import { isSecurityStep, newestOf } from "../rpm/offers.ts";
import { type Dnf, type DnfPorts, openDnf, toInstalled, withoutRepositories } from "./host.ts";
import { availableFormat, parseOffered } from "./lists.ts";
import { scriptFailures } from "./output.ts";
import { createRepairs, leftovers, refresh } from "./repairs.ts";
import { replay, telling } from "./replay.ts";
import { changesOf, simulate, sizesOf, type TableRow } from "./simulation.ts";
import { createFaults, findingsOf } from "./states.ts";
import { createOffers, listsAt } from "./updates.ts";

/** How often what takes the place of others is left out before it is seen that there is no way without it. */
const mostRounds = 5;

async function upgradeRows(
  dnf: Dnf,
  { type }: UpdateRequest,
  operands: readonly string[],
  signal: AbortSignal,
): Promise<readonly TableRow[]> {
  const words = ["upgrade", ...(operands.length > 0 ? ["--", ...operands] : [])];
  const excluded = new Set<string>();
  for (let round = 1; ; round += 1) {
    const rows = await simulate(dnf, [...[...excluded].map((name) => `--exclude=${name}`), ...words], signal);
    const taking = rows.filter(({ kind, replaces }) => kind === "install" && replaces.length > 0);
    if (type !== "packages" || taking.length === 0 || round > mostRounds) return rows;
    for (const { name } of taking) excluded.add(name);
  }
}

export function createDnf(ports: ManagerPorts & DnfPorts): PackageManager {
  const dnf = openDnf(ports);
  const { ask, tryAsking, database } = dnf;
  const offers = createOffers(dnf);

  return createRpmManager(
    {
      name: "dnf",
      database,
      toInstalled,
      offers,
      listsAt: () => listsAt(dnf.places),
      faults: createFaults(dnf),
      repairs: createRepairs(dnf),
      isBusy: async () => (await dnf.writer()) !== undefined,

      async leftovers(signal) {
        const found = await findingsOf(dnf, signal);
        return {
          changes: leftovers(found),
          other: [
            ...found.missing.map((each) => `${nevraOf(each)} was to be installed and is not`),
            ...found.remaining.map((each) => `${nevraOf(each)} was to be removed and is there`),
            ...found.unmet.map(describeUnmet),
          ],
        };
      },

      async plan(request, wanted, { packages }, signal) {
        const operands = request.isSecurityOnly ? wanted.map(nevraOf) : (request.names ?? []);
        const changes = changesOf(await upgradeRows(dnf, request, operands, signal), packages);
        return { changes, removals: changes, sizes: () => sizesOf(dnf, changes, packages, signal) };
      },

      change: (unit, changes, onLine, signal) => replay(dnf, { unit, changes, onLine }, signal),
      // Dnf says of a stored transaction that it cannot be done as it is.
      isRefusal: (reason) => /problems occurred while (?:replaying|running)/.test(reason),
      scriptFailures,
      telling,
      refresh: (onLine, signal) => refresh(dnf, onLine, signal),

      async release(signal): Promise<SystemRelease | undefined> {
        const query = ["repoquery", "--upgrades", "--latest-limit=1", "--whatprovides=system-release"];
        const [next] = parseOffered(await ask([...query, `--queryformat=${availableFormat}`], signal));
        if (next === undefined) return undefined;
        const { advised, database: state } = await offers(signal);
        const from = newestOf(state).get(`${next.name}.${next.architecture}`)?.version ?? null;
        const isSecurity = isSecurityStep(next, advised, from);
        return { version: splitVersion(next.version).version, releaseDate: "", isSecurity, changelog: "" };
      },

      // Where its plugin is there, dnf knows by what was installed since the start.
      async asksReboot(signal) {
        const { exitCode, stdout } = await tryAsking([withoutRepositories, "needs-restarting", "--reboothint"], signal);
        return exitCode === 1 && /^Reboot is required/m.test(stdout);
      },
    },
    ports,
  );
}
