import type { GuardVerdict, KeptConfig, UpdateApply } from "#contract/updates.ts";
import { DomainError, unavailable } from "#domain/common/error.ts";
import type { Clock } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { counted } from "#kernel/text.ts";
import { type Condition, type ConditionReport, type GuardTimes, watchAfter } from "./guard.ts";
import type {
  ConfigFiles,
  OfferedConfig,
  PackageManager,
  SnapshotBackend,
  TransactionPlan,
  TransactionResult,
  UpdateRequest,
} from "./ports.ts";
import { PackageFileMissing, PackagesLocked, SnapshotUnusable, UpdateRefused } from "./ports.ts";
import type { Progress } from "./progress.ts";
import { lockedBy, refusedAsInvalid } from "./refusals.ts";
import { type RollbackPhase, rollBack, type Work } from "./rollback.ts";
import { freeSnapshotId } from "./snapshot-id.ts";
import { changedOf, doneOf } from "./transaction.ts";

/** What is wanted: what it comes to is planned when it is done. */
export interface ApplyInput {
  readonly request: UpdateRequest;
  readonly takesSnapshot: boolean;
  readonly isGuarded: boolean;
}

/** How far an update has come. */
export interface ApplyPhase {
  readonly is: "planned" | "snapshot_taken" | "committing" | "committed" | "rolling_back";
  readonly plan: TransactionPlan;
  /** Of the snapshot to take first; empty for none. */
  readonly snapshotId: string;
  /** How the host was before, where the update is guarded. */
  readonly before?: Condition;
  /** Why it was not done. */
  readonly reason?: string;
  readonly worse?: readonly string[];
  /** What lay beside configuration files before. */
  readonly offered?: readonly OfferedConfig[];
  readonly safetySnapshotId?: string;
}

export interface ApplyPorts {
  readonly manager: PackageManager;
  /** Undefined where no snapshot can be taken. */
  readonly backend: SnapshotBackend | undefined;
  readonly report: ConditionReport;
  readonly clock: Pick<Clock, "now" | "monotonicMs" | "sleep">;
  readonly guard: GuardTimes;
  readonly configFiles: ConfigFiles;
}

/** The progress of a part of the work, as a share of the whole. */
const within = (progress: Progress, from: number, to: number): Progress => ({
  line: progress.line,
  step: (percent, what) => progress.step(from + ((to - from) * percent) / 100, what),
});

/**
 * Carries out a plan. A process that takes it up again, after the first one ended at any moment, goes on from what was
 * written down and from what is installed by then.
 */
export async function applyUpdates(input: ApplyInput, ports: ApplyPorts, work: Work<ApplyPhase>): Promise<UpdateApply> {
  const { manager, backend } = ports;
  const { id, progress, signal } = work;
  const changing = { id, progress: within(progress, 30, 70) };
  let phase = work.phase;
  const save = (next: ApplyPhase): ApplyPhase => {
    work.savePhase(next);
    phase = next;
    return next;
  };

  const makePlan = async (): Promise<ApplyPhase> => {
    progress.step(0, "plan");
    const plan = await refusedAsInvalid(() => manager.simulate(input.request, signal));
    const before = input.isGuarded && plan.changes.length > 0 ? { before: await ports.report.look(signal) } : {};
    const hasSnapshot = input.takesSnapshot && plan.changes.length > 0 && backend !== undefined;
    const snapshotId = hasSnapshot ? await freeSnapshotId(backend, ports.clock, signal) : "";
    const offered = plan.changes.length > 0 ? { offered: await ports.configFiles.offered(signal) } : {};
    return save({ is: "planned", plan, snapshotId, ...before, ...offered });
  };

  /** What went wrong, for people. A task that is told to stop has not gone wrong: it is left as it stands. */
  const troubleIn = (error: unknown): string => {
    signal.throwIfAborted();
    const text = errorMessage(error);
    progress.line(text);
    return text;
  };

  /** Without the snapshot that was asked for nothing is changed. */
  const refuseWithout = (error: unknown): never => {
    const text = troubleIn(error);
    if (error instanceof DomainError) throw error;
    if (error instanceof PackagesLocked) throw lockedBy(error);
    const shortage = unavailable("take the snapshot, so nothing was changed", error);
    if (shortage !== undefined) throw shortage;
    // Others may name paths and programs, which are for the log.
    const isForCallers = error instanceof PackageFileMissing || error instanceof SnapshotUnusable;
    const reason = isForCallers ? text : "the log of the operation tells why";
    const details = { missing: "snapshot", retryable: true };
    throw new DomainError("UNAVAILABLE", `cannot take the snapshot: ${reason}; nothing was changed`, details, error);
  };

  const takeSnapshot = async (last: ApplyPhase): Promise<ApplyPhase> => {
    const { snapshotId, plan } = last;
    if (snapshotId === "" || backend === undefined) return save({ ...last, is: "snapshot_taken" });
    progress.step(5, "take a snapshot");
    const description = `Before the update of ${counted(plan.changes.length, "package")}`;
    const options = {
      id: snapshotId,
      description,
      kind: "before_update",
      changes: plan.changes,
      progress: within(progress, 5, 30),
    } as const;
    const isTaken = (await backend.list(signal)).some(({ id: taken }) => taken === snapshotId);
    if (!isTaken) await backend.create(options, signal).catch((error: unknown) => refuseWithout(error));
    return save({ ...last, is: "snapshot_taken" });
  };

  /** What is left to do of a plan that another process began. */
  const goOn = async ({ plan }: ApplyPhase): Promise<TransactionResult> => {
    await manager.settle(id, signal);
    const repaired = await manager.repair(changing, signal);
    const done = doneOf(plan, await manager.installed(signal));
    const rest = plan.changes.filter((change) => !done.includes(change));
    if (rest.length === 0 || !repaired.isDone) return repaired;
    return manager.commit({ ...plan, changes: rest }, changing, signal);
  };

  const commit = async (last: ApplyPhase): Promise<ApplyPhase> => {
    if (last.plan.changes.length === 0) return save({ ...last, is: "committed" });
    progress.step(30, `change ${counted(last.plan.changes.length, "package")}`);
    const isGoingOn = last.is === "committing";
    if (!isGoingOn) save({ ...last, is: "committing" });
    try {
      const result = isGoingOn ? await goOn(last) : await manager.commit(last.plan, changing, signal);
      // A host that stops may cut off the package manager as well: that is an interruption, not how the update ended.
      if (!result.isDone) signal.throwIfAborted();
      return save({ ...last, is: "committed", ...(result.isDone ? {} : { reason: result.reason }) });
    } catch (error) {
      const isLocked = error instanceof PackagesLocked;
      // Before anything is changed the caller may just try again; what an earlier process has changed is to be told.
      if (isLocked && !isGoingOn) throw lockedBy(error);
      if (!isLocked && !(error instanceof UpdateRefused)) throw error;
      return save({ ...last, is: "committed", reason: error.message });
    }
  };

  /** Whether what it was rolled back to is there only after a reboot. */
  let isBackAfterReboot = false;
  const rollBackTo = async (last: ApplyPhase, worse: readonly string[]): Promise<GuardVerdict> => {
    if (backend === undefined || last.snapshotId === "")
      return { outcome: "rollback_failed", message: "there is no snapshot to return to", worse: [...worse] };
    const rolling = save({ ...last, is: "rolling_back", worse });
    progress.step(80, "roll back, since the host is worse than before");
    const { safetySnapshotId } = rolling;
    const back = {
      ...work,
      id: `${id}-back`,
      progress: within(progress, 80, 99),
      phase: safetySnapshotId === undefined ? undefined : { safetySnapshotId },
      savePhase: (next: RollbackPhase) => void save({ ...rolling, ...next }),
    };
    const result = await rollBack(last.snapshotId, { backend, clock: ports.clock }, back).catch((error: unknown) => ({
      success: false,
      message: `cannot return to ${last.snapshotId}: ${troubleIn(error)}`,
      requires_reboot: false,
    }));
    isBackAfterReboot = result.requires_reboot;
    const outcome = result.success ? "rolled_back" : "rollback_failed";
    return { outcome, message: `${worse.join("; ")}: ${result.message}`, worse: [...worse] };
  };

  const isUntouched = async ({ plan }: ApplyPhase): Promise<boolean> =>
    changedOf(plan, await manager.installed(signal)).length === 0 && (await manager.audit(signal)).length === 0;

  const guard = async (last: ApplyPhase): Promise<GuardVerdict | undefined> => {
    if (last.before === undefined) return undefined;
    if (last.is === "rolling_back") return rollBackTo(last, last.worse ?? []);
    if (last.reason !== undefined && (await isUntouched(last)))
      return { outcome: "kept", message: "nothing was changed", worse: [] };
    if (last.reason !== undefined) return rollBackTo(last, [`the update failed: ${last.reason}`]);
    progress.step(70, "watch checks and units");
    const removesPackages = last.plan.changes.some(({ to }) => to === null);
    const watch = { before: last.before, removesPackages, ...ports.guard };
    const worse = await watchAfter(watch, ports, signal);
    if (worse.length > 0) return rollBackTo(last, worse);
    return { outcome: "kept", message: "nothing is worse than before", worse: [] };
  };

  let last = phase ?? (await makePlan());
  if (last.is === "planned") last = await takeSnapshot(last);
  if (last.is === "snapshot_taken" || last.is === "committing") last = await commit(last);
  const { plan } = last;
  const verdict = await guard(last);
  // From here on packages have changed: what cannot be found out is said, and the rest of the result is not lost for it.
  const unknown: string[] = [];
  const orUnknown = async <T, U>(what: string, ask: () => Promise<T>, otherwise: U): Promise<T | U> => {
    try {
      return await ask();
    } catch (error) {
      unknown.push(`cannot tell ${what}: ${troubleIn(error)}`);
      return otherwise;
    }
  };
  const installed = await orUnknown("which packages are installed", () => manager.installed(signal), undefined);
  const leftOver = await orUnknown("what is left half-done", () => manager.audit(signal), []);
  const { requiresReboot, units } = await orUnknown("what has to be restarted", () => manager.restartNeeds(signal), {
    requiresReboot: false,
    units: [],
  });
  /** Files that are as they were although their package has another version of them. */
  const keptFiles = async (): Promise<readonly KeptConfig[]> => {
    if (last.offered === undefined) return [];
    const before = new Map(last.offered.map(({ offered, changedAt }) => [offered, changedAt]));
    const now = await ports.configFiles.offered(signal);
    const added = now.filter(({ offered, changedAt }) => before.get(offered) !== changedAt);
    return added.map(({ file, offered }) => ({ file, offered }));
  };
  const kept = await orUnknown("which configuration files were kept", keptFiles, []);
  const isRolledBack = verdict !== undefined && verdict.outcome !== "kept";
  const done = installed === undefined ? [] : doneOf(plan, installed);
  const missing = installed === undefined ? 0 : plan.changes.length - done.length;
  const reasons = [
    ...(last.reason === undefined ? [] : [last.reason]),
    ...leftOver,
    ...(isRolledBack ? [`${verdict.outcome}: ${verdict.message}`] : []),
    ...(missing > 0 && last.reason === undefined && !isRolledBack
      ? [`${missing} packages are not at their new version`]
      : []),
    ...unknown,
  ];
  return {
    success: reasons.length === 0,
    snapshot_id: last.snapshotId,
    packages_updated: done.length,
    requires_reboot: requiresReboot || isBackAfterReboot,
    operation_id: id,
    packages: installed === undefined ? [] : [...changedOf(plan, installed)],
    requires_restart: [...units],
    error: reasons.length === 0 ? null : reasons.join("; "),
    ...(verdict !== undefined && { guard: verdict }),
    ...(kept.length > 0 && !isRolledBack && { kept_configs: [...kept] }),
  };
}
