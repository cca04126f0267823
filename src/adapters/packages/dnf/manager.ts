import type { Exec } from "#adapters/exec/index.ts";
import {
  type PackageManager,
  type SystemRelease,
  type TransactionPlan,
  type TransactionResult,
  UpdateRefused,
} from "#domain/ports/packages.ts";
import type { Clock } from "#kernel/clock.ts";
import { createStaleUnits } from "../common/stale-units.ts";
import { asResult, createTransactions, hostPlaces, orLocked, unitFor } from "../common/transactions.ts";
import { nevraOf, splitVersion } from "../rpm/names.ts";
import { createAvailable, isSecurityStep, newestOf, orWithoutLists } from "../rpm/offers.ts";
import { createRpmSettle } from "../rpm/package-files.ts";
import { createAsking, type DnfPlaces, dnfPlaces, withoutRepositories } from "./asking.ts";
import { createDatabase, toInstalled } from "./database.ts";
import { availableFormat, parseOffered } from "./lists.ts";
import { createDnfLocks } from "./locks.ts";
import { dnfOutput, scriptFailures } from "./output.ts";
import { createRefresh, leftovers } from "./repairs.ts";
import { createReplay, telling } from "./replay.ts";
import { createSimulate } from "./simulation.ts";
import { createFindings } from "./states.ts";
import { createOffers, listsAt } from "./updates.ts";

const namesOf = (changes: TransactionPlan["changes"]): string => changes.map(({ name }) => name).join(", ");

/** Dnf says of a stored transaction that it cannot be done as it is. */
const isRefusal = (reason: string): boolean => /problems occurred while (?:replaying|running)/.test(reason);

/**
 * Dnf and rpm as the package manager of updates. A plan is carried out as a stored transaction (`dnf history replay`), of
 * which dnf itself does all and nothing else.
 */
export function createDnfManager(ports: {
  readonly exec: Exec;
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
  /** Whether the host has to be started anew for what is installed to run. */
  readonly needsReboot: (signal: AbortSignal) => Promise<boolean>;
  readonly lockWaitMs?: number;
  readonly dnfPlaces?: DnfPlaces;
  readonly places?: { readonly booted: string; readonly output: string };
}): PackageManager {
  const { exec, clock, needsReboot, dnfPlaces: where = dnfPlaces(), places = hostPlaces } = ports;
  const asking = createAsking({ exec, places: where });
  const { ask, tryAsking } = asking;
  const database = createDatabase({ ask, places: where });
  const locks = createDnfLocks();
  const transact = createTransactions({ ...ports, places, locks, reader: dnfOutput });
  const settle = createRpmSettle({ exec, clock, places });
  const offers = createOffers({ ask, database, places: where });
  const simulate = createSimulate({ asking, offers });
  const findings = createFindings({ tryAsking, database });
  const replay = createReplay({ transact, places: where, folder: places.output });
  const refresh = createRefresh({ transact, places: where });
  const staleUnits = createStaleUnits();

  const audit: PackageManager["audit"] = async (signal) => {
    // What somebody else is in the middle of is not left over.
    if ((await locks.holder(where.transactionLock)) !== undefined) return [];
    const found = await findings(signal);
    return [
      ...leftovers(found).map(({ name, from }) => `${name} ${from} is left beside another version of it`),
      ...found.missing.map((each) => `${nevraOf(each)} was to be installed and is not`),
      ...found.remaining.map((each) => `${nevraOf(each)} was to be removed and is there`),
      ...found.unmet.map(({ name, needs }) => `${name} lacks what it needs (${needs})`),
    ];
  };

  const commit: PackageManager["commit"] = async ({ changes }, { id, progress }, signal) => {
    const unit = unitFor(id);
    if (changes.length === 0) return { isDone: true, reason: "" };
    const { packages } = await database(signal);
    let failures = "";
    const result = await asResult(async () => {
      const output = await replay({ unit, changes, installed: packages, onLine: telling(progress) }, signal);
      failures = scriptFailures(output);
    });
    if (isRefusal(result.reason))
      throw new UpdateRefused(`what would be done has changed since it was planned: ${result.reason}`);
    return result.isDone && failures !== "" ? { isDone: false, reason: failures } : result;
  };

  const repair: PackageManager["repair"] = async ({ id, progress }, signal): Promise<TransactionResult> => {
    const unit = unitFor(id);
    const changes = leftovers(await findings(signal));
    // What was not begun is left to who wants it; what was is mended by the next transaction that brings it.
    if (changes.length === 0) return { isDone: true, reason: "" };
    progress.step(0, `remove what is left of ${namesOf(changes)}`);
    const { packages } = await database(signal);
    return asResult(() => replay({ unit, changes, installed: packages, onLine: telling(progress) }, signal));
  };

  const release = async (signal: AbortSignal): Promise<SystemRelease | undefined> => {
    const query = ["repoquery", "--upgrades", "--latest-limit=1", "--whatprovides=system-release"];
    const [next] = parseOffered(await ask([...query, `--queryformat=${availableFormat}`], signal));
    if (next === undefined) return undefined;
    const { advised, database: state } = await offers(signal);
    const from = newestOf(state).get(`${next.name}.${next.architecture}`)?.version ?? null;
    const isSecurity = isSecurityStep(next, advised, from);
    return { version: splitVersion(next.version).version, releaseDate: "", isSecurity, changelog: "" };
  };

  /** Where its plugin is there, dnf knows by what was installed since the start. */
  const asksReboot = async (signal: AbortSignal): Promise<boolean> => {
    const { exitCode, stdout } = await tryAsking([withoutRepositories, "needs-restarting", "--reboothint"], signal);
    return exitCode === 1 && /^Reboot is required/m.test(stdout);
  };

  return {
    name: "dnf",
    knowsSecurity: true,
    installed: async (signal) => toInstalled(await database(signal)),

    updates: createAvailable({ database, offers, listsAt: () => listsAt(where) }),
    // Nothing is known of it before the lists are there.
    release: (signal) => orWithoutLists(release(signal), undefined),
    refresh: (progress, signal) => orLocked(() => refresh(telling(progress), signal)),
    simulate,
    commit,
    settle: (id, signal) => settle(unitFor(id), signal),
    repair,
    audit,
    restartNeeds: async (signal) => ({
      requiresReboot: (await needsReboot(signal)) || (await asksReboot(signal)),
      units: await staleUnits(signal),
    }),
  };
}
