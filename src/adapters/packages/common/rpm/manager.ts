import {
  type InstalledPackage,
  isChange,
  noChanges,
  noOldKernels,
  type PackageChange,
  type PackageManager,
  type PackageRepairs,
  type PackageVersion,
  type Progress,
  type SystemRelease,
  type TransactionPlan,
  type TransactionResult,
  UpdateRefused,
  type UpdateRequest,
} from "#domain/ports/packages.ts";
import { demandNames, type PlainChange } from "../changes.ts";
import type { LockHolder } from "../locks.ts";
import { createQuestions } from "../manager.ts";
import { rememberByMark } from "../marks.ts";
import type { Argv, Asks, ManagerPorts, OnLine } from "../ports.ts";
import { asResult, orLocked, unitFor } from "../transactions.ts";
import { createPlanChange, type PlannedChange } from "./change-plan.ts";
import { type Findings, faultsIn, leftovers } from "./findings.ts";
import { createRpmHolds } from "./holds.ts";
import { isPackageName, type Wanted } from "./names.ts";
import {
  type AdvisedRpm,
  createAvailable,
  createSecurity,
  demandLists,
  demandNoRemoval,
  demandSecurity,
  isSecurityStep,
  type Offers,
  orWithoutLists,
  type RpmState,
  wantedAdvised,
} from "./offers.ts";
import { settleRpm } from "./package-files.ts";
import { createPurge } from "./purge.ts";
import { createUnremovable } from "./unremovable.ts";

export interface RpmHost<State> extends Pick<PackageManager, "name" | "commands" | "files" | "catalog"> {
  readonly isPlannedByRoot: boolean;
  /** Why packages cannot be held here; undefined where they can. */
  readonly holdsLack: () => Promise<string | undefined>;
  readonly database: Asks<State>;
  readonly toInstalled: (state: State) => readonly InstalledPackage[];
  readonly offers: Asks<Offers<State>>;
  readonly listsAt: Asks<number | undefined>;
  readonly repairs: PackageRepairs;
  readonly writer: () => Promise<LockHolder | undefined>;
  readonly findings: Asks<Findings>;
  /** What a request comes to. `removals` are those to be refused where nothing may be removed. */
  readonly plan: (
    request: UpdateRequest,
    wanted: readonly AdvisedRpm[],
    state: State,
    signal: AbortSignal,
  ) => Promise<PlannedChange & { readonly removals: readonly PlainChange[] }>;
  /** What an installation comes to. @param mayErase whether what is in conflict with it may go. */
  readonly planInstall: (
    wanted: readonly Wanted[],
    mayErase: boolean,
    state: State,
    signal: AbortSignal,
  ) => Promise<PlannedChange>;
  /** What a removal comes to. What nothing needs afterwards stays. */
  readonly planRemoval: (
    packages: readonly PackageVersion[],
    state: State,
    signal: AbortSignal,
  ) => Promise<PlannedChange>;
  readonly rpm: Argv;
  /** Names of its own packages. */
  readonly ownPackages: readonly string[];
  /** Names of packages that it refuses to remove. */
  readonly protectedNames: () => Promise<readonly string[]>;
  /** @param options.ready is called right before packages change. */
  readonly change: (
    unit: string,
    changes: readonly PlainChange[],
    options: { readonly onLine: OnLine; readonly ready?: (() => Promise<void>) | undefined },
    signal: AbortSignal,
  ) => Promise<string>;
  /** Whether a failure says that the changes cannot be made as they were planned. */
  readonly isRefusal?: (reason: string) => boolean;
  readonly scriptFailures: (output: string) => string;
  readonly reporter: (progress: Progress) => (line: string) => void;
  /** Holds packages by their names, or takes back just that. */
  readonly hold: (names: readonly string[], isHeld: boolean, signal: AbortSignal) => Promise<unknown>;
  readonly refresh: (onLine: OnLine, signal: AbortSignal) => Promise<void>;
  readonly release: Asks<SystemRelease | undefined>;
  readonly asksReboot: Asks<boolean>;
  readonly updaters: PackageManager["otherUpdaters"];
}

/** Of rpm 4.16 and later, where distributions keep them. */
export const rpmDatabases = [
  "/var/lib/rpm/rpmdb.sqlite",
  "/usr/lib/sysimage/rpm/rpmdb.sqlite",
  "/usr/lib/sysimage/rpm/Packages.db",
];

const listsMs = 10_000;

export function createRpmManager<State extends RpmState>(host: RpmHost<State>, ports: ManagerPorts): PackageManager {
  const { name, database, offers, change, reporter } = host;
  const remembered = rememberByMark<Findings>();
  const findings: Asks<Findings> = async (signal) =>
    remembered((await database(signal)).mark, () => host.findings(signal));

  const plan = async (request: UpdateRequest, signal: AbortSignal): Promise<TransactionPlan> => {
    const { names, isSecurityOnly, type } = request;
    const { database: state, advised } = await offers(signal);
    if (names !== undefined) demandNames(names, state, isPackageName);
    const wanted = wantedAdvised(advised, state, names);
    // Without operands it would be an upgrade of everything.
    if (isSecurityOnly ? wanted.length === 0 : names?.length === 0) return noChanges;
    const { changes, removals, sizes } = await host.plan(request, wanted, state, signal);
    if (isSecurityOnly) demandSecurity(changes, wanted);
    if (type === "packages") demandNoRemoval(name, removals);
    const marked = changes.map((each): PackageChange => {
      const { architecture, from, to } = each;
      const isSecurity = to !== null && isSecurityStep({ name: each.name, architecture, version: to }, advised, from);
      return { ...each, isSecurity };
    });
    return { changes: marked, ...(await sizes()) };
  };

  const planChange = createPlanChange({
    database,
    advised: async (signal) => (await offers(signal)).advised,
    install: host.planInstall,
    remove: host.planRemoval,
  });
  const installed: PackageManager["installed"] = async (signal) => host.toInstalled(await database(signal));
  const purge = createPurge(host, ports);
  const { audit, ...questions } = createQuestions(
    { ...host, findings: async (signal) => faultsIn(await findings(signal)) },
    ports,
  );

  return {
    name,
    capabilities: { knowsSecurity: true, isPlannedByRoot: host.isPlannedByRoot, isImageBased: false },
    commands: host.commands,
    files: host.files,
    installed,
    catalog: host.catalog,
    // It keeps as many of them as its settings say.
    oldKernels: noOldKernels,
    holds: { lack: host.holdsLack, set: createRpmHolds({ installed, commands: host.commands, set: host.hold }) },
    ...questions,
    lists: {
      updates: createAvailable({ database, offers, listsAt: host.listsAt }),
      security: createSecurity(offers),
      refreshedAt: () => host.listsAt(AbortSignal.timeout(listsMs)),
      release: (signal) => orWithoutLists(host.release(signal), undefined),
      refresh: (progress, signal) => orLocked(() => host.refresh(reporter(progress), signal)),
    },
    plan: (request, signal) => (isChange(request) ? planChange(request, signal) : demandLists(plan(request, signal))),
    unremovable: createUnremovable(host, ports),

    repairs: host.repairs,

    transactions: {
      async commit({ changes, isPurge = false }, { id, progress, ready }, signal) {
        const unit = unitFor(id);
        if (changes.length === 0) return { isDone: true, reason: "" };
        const carryOut = async (): Promise<TransactionResult> => {
          const result = await asResult(
            () => change(unit, changes, { onLine: reporter(progress), ready }, signal),
            host.scriptFailures,
          );
          if (host.isRefusal?.(result.reason) === true)
            throw new UpdateRefused(`what would be done has changed since it was planned: ${result.reason}`);
          return result;
        };
        return isPurge ? purge.around(unit, changes, carryOut, signal) : carryOut();
      },

      settle: (id, signal) => settleRpm(ports, unitFor(id), signal),

      async repair({ id, progress }, signal) {
        const unit = unitFor(id);
        const changes = leftovers(await findings(signal));
        if (changes.length === 0) return purge.finish(unit, { isDone: true, reason: "" }, signal);
        progress.step(0, `remove what is left of ${changes.map((each) => each.name).join(", ")}`);
        const result = await asResult(() => change(unit, changes, { onLine: reporter(progress) }, signal));
        return purge.finish(unit, result, signal);
      },

      audit,
    },
    otherUpdaters: host.updaters,
  };
}
