import { readFile } from "node:fs/promises";
import {
  noChanges,
  type PackageChange,
  type PackageManager,
  type SystemRelease,
  type TransactionPlan,
  type UpdateRequest,
} from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import { createStaleUnits } from "../common/stale-units.ts";
import { asResult, orLocked, unitFor } from "../common/transactions.ts";
import { splitVersion } from "../rpm/names.ts";
import {
  createAvailable,
  demandLists,
  demandNames,
  demandNoRemoval,
  demandSecurity,
  isSecurityStep,
  orWithoutLists,
  wantedAdvised,
} from "../rpm/offers.ts";
import { createRpmSettle } from "../rpm/package-files.ts";
import type { Asking, ZypperPlaces } from "./asking.ts";
import { toInstalled } from "./database.ts";
import { createParts, type ZypperPorts } from "./index.ts";
import { scriptFailures, telling } from "./output.ts";
import { leftovers } from "./repairs.ts";
import { simulate } from "./simulation.ts";
import { operandOf } from "./transaction.ts";
import type { createOffers, Offers } from "./updates.ts";

/**
 * Whether a distribution has no releases. Its way of upgrading is then `dup`, which goes to what the repositories have, whatever
 * goes for it; inside a release it is `update`, and `dup` would take what is not in its repositories for something to get rid of.
 */
export const isRolling = (osRelease: string): boolean =>
  /^ID=["']?opensuse-(?:tumbleweed|slowroll|microos)["']?\s*$/m.test(osRelease);

export function createSimulate(ports: {
  readonly asking: Pick<Asking, "tryAsking">;
  readonly offers: ReturnType<typeof createOffers>;
  readonly places: Pick<ZypperPlaces, "osRelease">;
}): (request: UpdateRequest, signal: AbortSignal) => Promise<TransactionPlan> {
  const { asking, offers, places } = ports;

  const wordsFor = async ({ type, names }: UpdateRequest): Promise<readonly string[]> => {
    const osRelease = (await orUndefined(readFile(places.osRelease, "utf8"))) ?? "";
    // Of single packages there is no upgrade of the distribution.
    if (type !== "packages" && names === undefined && isRolling(osRelease)) return ["dup", "--no-recommends"];
    // One that takes the place of another is a removal.
    const keeping = type === "packages" ? ["--no-allow-name-change"] : [];
    return ["update", "--type", "package", "--no-recommends", ...keeping, "--", ...(names ?? [])];
  };

  const planOf = async (request: UpdateRequest, found: Offers, signal: AbortSignal): Promise<TransactionPlan> => {
    const { names, isSecurityOnly, type } = request;
    const { database, advised } = found;
    if (names !== undefined) demandNames(names, database);
    const wanted = wantedAdvised(advised, database, names);
    // Without operands it would be an update of everything.
    if (isSecurityOnly ? wanted.length === 0 : names?.length === 0) return noChanges;
    const exact = ["install", "--no-recommends", "--", ...wanted.map(operandOf)];
    const words = isSecurityOnly ? exact : await wordsFor(request);
    const { changes: plain, ...sizes } = await simulate(asking.tryAsking, words, signal);
    if (isSecurityOnly) demandSecurity(plain, wanted);
    const come = new Set(plain.flatMap(({ name, to }) => (to === null ? [] : [name])));
    // Of a package whose architecture changes only the other half goes.
    if (type === "packages")
      demandNoRemoval(
        "zypper",
        plain.filter(({ name, to }) => to !== null || !come.has(name)),
      );
    const changes = plain.map((change): PackageChange => {
      const { name, architecture, from, to } = change;
      const isSecurity = to !== null && isSecurityStep({ name, architecture, version: to }, advised, from);
      return { ...change, isSecurity };
    });
    return { changes, ...sizes };
  };

  const plan = async (request: UpdateRequest, signal: AbortSignal): Promise<TransactionPlan> =>
    planOf(request, await offers(signal), signal);
  return (request, signal) => demandLists(plan(request, signal));
}

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
