import type { PackageManager, SystemRelease } from "#domain/ports/packages.ts";
import { asResult, orLocked, unitFor } from "../apt/manager-commit.ts";
import { createStaleUnits } from "../apt/manager-restarts.ts";
import { createAvailable, orWithoutLists } from "../rpm/offers.ts";
import { createRpmSettle } from "../rpm/settle.ts";
import { splitVersion } from "../rpm/version.ts";
import { toInstalled } from "./database.ts";
import { createSimulate } from "./manager-simulate.ts";
import { scriptFailures, telling } from "./output.ts";
import type { ZypperPorts } from "./parts.ts";
import { createParts } from "./parts.ts";
import { leftovers } from "./repairs.ts";

/** What the package that says which release this is provides. */
const releaseName = "distribution-release";
/** What zypper exits with where the host should be started anew. */
const rebootCode = 102;

/**
 * Zypper and rpm as the package manager of updates. A plan is carried out as an installation in which each version is named,
 * after a rehearsal of it that says just the same. A changed configuration file stays, and the new one lies beside it as
 * `.rpmnew`.
 */
export function createZypperManager(
  ports: ZypperPorts & {
    /** Whether the host has to be started anew for what is installed to run. */
    readonly needsReboot: (signal: AbortSignal) => Promise<boolean>;
  },
): PackageManager {
  const { clock } = ports;
  const parts = createParts(ports);
  const { exec, asking, database, exact, findings, locks, offers, places, refresh } = parts;
  const settle = createRpmSettle({ exec, clock, places: parts.unitPlaces });
  const staleUnits = createStaleUnits();

  const audit: PackageManager["audit"] = async (signal) => {
    // What somebody else is in the middle of is not left over.
    if ((await locks.holder(places.lock)) !== undefined) return [];
    const found = await findings(signal);
    return [
      ...leftovers(found).map(({ name, from }) => `${name} ${from} is left beside another version of it`),
      ...found.unmet.map(({ name, needs }) => `${name} lacks what it needs (${needs})`),
    ];
  };

  const commit: PackageManager["commit"] = async ({ changes }, { id, progress }, signal) => {
    const unit = unitFor(id);
    if (changes.length === 0) return { isDone: true, reason: "" };
    let failures = "";
    const result = await asResult(async () => {
      failures = scriptFailures(await exact({ unit, changes, onLine: telling(progress) }, signal));
    });
    return result.isDone && failures !== "" ? { isDone: false, reason: failures } : result;
  };

  const repair: PackageManager["repair"] = async ({ id, progress }, signal) => {
    const unit = unitFor(id);
    const changes = leftovers(await findings(signal));
    // What was not begun is left to who wants it; what was is mended by the next transaction that brings it.
    if (changes.length === 0) return { isDone: true, reason: "" };
    progress.step(0, `remove what is left of ${changes.map(({ name }) => name).join(", ")}`);
    return asResult(() => exact({ unit, changes, onLine: telling(progress) }, signal));
  };

  const release = async (signal: AbortSignal): Promise<SystemRelease | undefined> => {
    const words = ["--query", "--queryformat=%{NAME}\\n", "--whatprovides", "--", releaseName];
    const { exitCode, stdout } = await exec([...places.rpm, ...words], { signal });
    const names = exitCode === 0 ? stdout.trim().split("\n") : [];
    const next = (await offers(signal)).updates.find(({ name }) => names.includes(name));
    if (next?.to === undefined || next.to === null) return undefined;
    return {
      version: splitVersion(next.to).version,
      releaseDate: "",
      isSecurity: next.isSecurity,
      changelog: "",
    };
  };

  return {
    name: "zypper",
    knowsSecurity: true,
    installed: async (signal) => toInstalled(await database(signal)),

    updates: createAvailable({ database, offers, listsAt: asking.listsAt }),
    // Nothing is known of it before the lists are there.
    release: (signal) => orWithoutLists(release(signal), undefined),
    refresh: (progress, signal) => orLocked(() => refresh(telling(progress), signal)),
    simulate: createSimulate({ asking, offers, places }),
    commit,
    settle: (id, signal) => settle(unitFor(id), signal),
    repair,
    audit,
    restartNeeds: async (signal) => ({
      requiresReboot:
        (await ports.needsReboot(signal)) ||
        (await asking.tryInstalled(["needs-rebooting"], signal)).exitCode === rebootCode,
      units: await staleUnits(signal),
    }),
  };
}
