import { parseOsRelease } from "#adapters/files/etc.ts";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import type { PackageManager, SystemRelease, UpdateRequest } from "#domain/ports/packages.ts";
import { rememberByMark } from "../common/marks.ts";
import type { Asks, Backend, ManagerPorts } from "../common/ports.ts";
import { createRpmManager, rpmDatabases } from "../common/rpm/manager.ts";
import { splitVersion } from "../common/rpm/names.ts";
import { changesTo, newestOf, type Offers } from "../common/rpm/offers.ts";
import { createCatalog } from "./catalog.ts";
import { openZypper, toInstalled, type Zypper, type ZypperDatabase } from "./host.ts";
import { advisedFor, parsePatches, parsePatchInfo, parseUpdates } from "./lists.ts";
import { reporter, scriptFailures } from "./output.ts";
import { createZypperPackageFiles } from "./package-files.ts";
import { createRepairs, findingsOf, refresh } from "./repairs.ts";
import { simulate } from "./simulation.ts";
import { createPlans, makeChanges, operandOf } from "./transaction.ts";

/** Locks packages by their names, or takes away just these locks. */
async function setLocks(
  { transact, places }: Pick<Zypper, "transact" | "places">,
  { names, isHeld }: { readonly names: readonly string[]; readonly isHeld: boolean },
  signal: AbortSignal,
): Promise<void> {
  const verb = isHeld ? "addlock" : "removelock";
  const description = `Steward ${isHeld ? "holds" : "releases"} packages (zypper ${verb})`;
  const argv = [...places.zypper, "--non-interactive", "--xmlout", verb, "--type", "package", "--", ...names] as const;
  await transact({ unit: `steward-zypper-${verb}`, description, argv, locks: [places.lock] }, signal);
}

const releaseName = "distribution-release";
const rebootCode = 102;

/** Whether a distribution has no releases and is upgraded with `dup`. */
export const isRolling = (osRelease: string): boolean =>
  /^opensuse-(?:tumbleweed|slowroll|microos)$/.test(parseOsRelease(osRelease).get("ID") ?? "");

function createOffers({ ask, database, listsMark }: Zypper): Asks<Offers<ZypperDatabase>> {
  const remembered = rememberByMark<Offers<ZypperDatabase>>();
  return async (signal) => {
    const state = await database(signal);
    return remembered(`${state.mark}\n${await listsMark(signal)}`, async () => {
      const newest = newestOf(state);
      const offered = parseUpdates(await ask(["list-updates", "--type", "package"], signal));
      const patches = parsePatches(await ask(["list-patches", "--category", "security"], signal));
      const info = patches.length === 0 ? "" : await ask(["info", "--type", "patch", "--", ...patches], signal);
      const advised = advisedFor(parsePatchInfo(info), newest.values());
      return { updates: changesTo(offered, newest, advised), advised, database: state };
    });
  };
}

async function upgradeWords({ places }: Zypper, { type, names }: UpdateRequest): Promise<readonly string[]> {
  const osRelease = await readTextOrEmpty(places.osRelease);
  if (type !== "packages" && names === undefined && isRolling(osRelease)) return ["dup", "--no-recommends"];
  // One that takes the place of another is a removal.
  const keeping = type === "packages" ? ["--no-allow-name-change"] : [];
  return ["update", "--type", "package", "--no-recommends", ...keeping, "--", ...(names ?? [])];
}

/** A plan is carried out as an installation of exact versions, after a rehearsal with the same result. */
function createZypper(ports: ManagerPorts): PackageManager {
  const zypper = openZypper(ports);
  const { exec, places, database } = zypper;
  const offers = createOffers(zypper);

  return createRpmManager(
    {
      name: "zypper",
      isPlannedByRoot: true,
      holdsLack: () => Promise.resolve(undefined),
      catalog: createCatalog(zypper),
      commands: {
        finisher: "zypper",
        finish: "",
        installMissing: "zypper install",
        refreshLists: "zypper refresh",
        hold: "zypper addlock",
        unhold: "zypper removelock",
      },
      database,
      toInstalled,
      offers,
      listsAt: zypper.listsAt,
      repairs: createRepairs(zypper),
      files: createZypperPackageFiles(zypper, ports),
      writer: zypper.writer,
      findings: (signal) => findingsOf(zypper, signal),

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

      ...createPlans(zypper),
      rpm: places.rpm,
      ownPackages: ["zypper", "libzypp"],
      protectedNames: () => Promise.resolve([]),

      change: (unit, changes, options, signal) => makeChanges(zypper, { unit, changes, ...options }, signal),
      scriptFailures,
      reporter,
      hold: (names, isHeld, signal) => setLocks(zypper, { names, isHeld }, signal),
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

      updaters: () => Promise.resolve(["os-update.timer"]),
      asksReboot: async (signal) => (await zypper.tryInstalled(["needs-rebooting"], signal)).exitCode === rebootCode,
    },
    ports,
  );
}

export const zypper: Backend = {
  program: "/usr/bin/zypper",
  probe: ["/usr/bin/rpm", "--query", "rpm"],
  databases: rpmDatabases,
  open: createZypper,
};
