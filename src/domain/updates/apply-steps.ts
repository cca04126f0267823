import { DomainError, unavailable } from "#domain/common/error.ts";
import type {
  ConfigFiles,
  OfferedConfig,
  PackageManager,
  Progress,
  TransactionPlan,
  TransactionResult,
  UpdateRequest,
} from "#domain/ports/packages.ts";
import { PackageFileMissing, PackagesLocked, UpdateRefused } from "#domain/ports/packages.ts";
import type { SnapshotBackend } from "#domain/ports/snapshots.ts";
import { SnapshotUnusable } from "#domain/ports/snapshots.ts";
import type { Clock } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { counted } from "#kernel/text.ts";
import type { Condition, ConditionReport, GuardTimes } from "./guard.ts";
import { lockedBy, refusedAsInvalid } from "./refusals.ts";
import type { Work } from "./rollback.ts";
import { freeSnapshotId } from "./snapshot.ts";
import { doneOf } from "./transaction.ts";

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

/** An update that is being carried out. */
export interface Update extends ApplyPorts, Work<ApplyPhase> {
  readonly input: ApplyInput;
}

/** The progress of a part of the work, as a share of the whole. */
export const within = (progress: Progress, from: number, to: number): Progress => ({
  line: progress.line,
  step: (percent, what) => progress.step(from + ((to - from) * percent) / 100, what),
});

export function save({ savePhase }: Update, phase: ApplyPhase): ApplyPhase {
  savePhase(phase);
  return phase;
}

/** What went wrong, for people. A task that is told to stop has not gone wrong: it is left as it stands. */
export function troubleIn({ signal, progress }: Update, error: unknown): string {
  signal.throwIfAborted();
  const text = errorMessage(error);
  progress.line(text);
  return text;
}

export async function makePlan(update: Update): Promise<ApplyPhase> {
  const { input, manager, backend, progress, signal } = update;
  progress.step(0, "plan");
  const plan = await refusedAsInvalid(() => manager.simulate(input.request, signal));
  const before = input.isGuarded && plan.changes.length > 0 ? { before: await update.report.look(signal) } : {};
  const hasSnapshot = input.takesSnapshot && plan.changes.length > 0 && backend !== undefined;
  const snapshotId = hasSnapshot ? await freeSnapshotId(backend, update.clock, signal) : "";
  const offered = plan.changes.length > 0 ? { offered: await update.configFiles.offered(signal) } : {};
  return save(update, { is: "planned", plan, snapshotId, ...before, ...offered });
}

/** Without the snapshot that was asked for nothing is changed. */
function refuseWithout(update: Update, error: unknown): never {
  const text = troubleIn(update, error);
  if (error instanceof DomainError) throw error;
  if (error instanceof PackagesLocked) throw lockedBy(error);
  const shortage = unavailable("take the snapshot, so nothing was changed", error);
  if (shortage !== undefined) throw shortage;
  // Others may name paths and programs, which are for the log.
  const isForCallers = error instanceof PackageFileMissing || error instanceof SnapshotUnusable;
  const reason = isForCallers ? text : "the log of the operation tells why";
  const details = { missing: "snapshot", retryable: true };
  throw new DomainError("UNAVAILABLE", `cannot take the snapshot: ${reason}; nothing was changed`, details, error);
}

export async function takeSnapshot(update: Update, last: ApplyPhase): Promise<ApplyPhase> {
  const { backend, progress, signal } = update;
  const { snapshotId, plan } = last;
  if (snapshotId === "" || backend === undefined) return save(update, { ...last, is: "snapshot_taken" });
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
  if (!isTaken) await backend.create(options, signal).catch((error: unknown) => refuseWithout(update, error));
  return save(update, { ...last, is: "snapshot_taken" });
}

/** What is left to do of a plan that another process began. */
async function resume(
  { manager, id, signal }: Update,
  { plan }: ApplyPhase,
  during: Parameters<PackageManager["commit"]>[1],
): Promise<TransactionResult> {
  await manager.settle(id, signal);
  const repaired = await manager.repair(during, signal);
  const done = doneOf(plan, await manager.installed(signal));
  const rest = plan.changes.filter((change) => !done.includes(change));
  if (rest.length === 0 || !repaired.isDone) return repaired;
  return manager.commit({ ...plan, changes: rest }, during, signal);
}

export async function commit(update: Update, last: ApplyPhase): Promise<ApplyPhase> {
  const { manager, id, progress, signal } = update;
  const backend = last.snapshotId === "" ? undefined : update.backend;
  const changing = { id, progress: within(progress, 30, 70), ...(backend && { snapshot: backend.name }) };
  if (last.plan.changes.length === 0) return save(update, { ...last, is: "committed" });
  progress.step(30, `change ${counted(last.plan.changes.length, "package")}`);
  const isResumed = last.is === "committing";
  if (!isResumed) save(update, { ...last, is: "committing" });
  try {
    const result = isResumed ? await resume(update, last, changing) : await manager.commit(last.plan, changing, signal);
    // A host that stops may cut off the package manager as well: that is an interruption, not how the update ended.
    if (!result.isDone) signal.throwIfAborted();
    return save(update, { ...last, is: "committed", ...(result.isDone ? {} : { reason: result.reason }) });
  } catch (error) {
    const isLocked = error instanceof PackagesLocked;
    // Before anything is changed the caller may just try again; what an earlier process has changed is to be told.
    if (isLocked && !isResumed) throw lockedBy(error);
    if (!isLocked && !(error instanceof UpdateRefused)) throw error;
    return save(update, { ...last, is: "committed", reason: error.message });
  }
}
