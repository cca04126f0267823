import type { UnitRestart } from "#contract/updates.ts";
import { DomainError, unavailable } from "#domain/common/error.ts";
import { requireAsPlanned } from "#domain/common/plan.ts";
import type {
  ChangeRequest,
  ConfigFiles,
  OfferedConfig,
  PackageManager,
  TransactionPlan,
  TransactionResult,
  Transactions,
  UpdateRequest,
} from "#domain/ports/packages.ts";
import {
  isChange,
  PackageFileMissing,
  PackagesLocked,
  TransactionUnseen,
  UpdateRefused,
  within,
} from "#domain/ports/packages.ts";
import { type SnapshotBackend, SnapshotUnusable } from "#domain/ports/snapshots.ts";
import type { FileSystems } from "#domain/ports/storage.ts";
import type { Clock } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { counted } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import { changeTexts, doingOf, planFor } from "./change-plan.ts";
import type { Condition, HostCondition } from "./condition.ts";
import { requireDiskSpace } from "./disk-space.ts";
import type { DowngradeRules } from "./downgrades.ts";
import type { GuardTimes } from "./guard.ts";
import type { NewErrors } from "./new-errors.ts";
import { lockedBy, refusedAsInvalid } from "./refusals.ts";
import type { Work } from "./rollback.ts";
import { freeSnapshotId } from "./snapshot.ts";
import { findStale, restartUnits, type StaleHost } from "./stale.ts";
import { doneOf, packagesNow } from "./transaction.ts";

export interface ApplyInput<Request = UpdateRequest> {
  readonly request: Request;
  readonly takesSnapshot: boolean;
  readonly isGuarded: boolean;
  /** Refused where not every package could be returned. */
  readonly requiresFull?: boolean;
  readonly restartsStale?: boolean;
}

/** Of updates, or of packages that come or go. */
export type TransactionInput = ApplyInput<UpdateRequest | ChangeRequest>;

/** The progress of an update, for a process that resumes it. */
export interface ApplyPhase {
  readonly is: "planned" | "snapshot_taken" | "committing" | "committed" | "rolling_back";
  readonly plan: TransactionPlan;
  /** Of the snapshot to take first; may be empty. */
  readonly snapshotId: string;
  /** Right before packages changed, of a guarded update. */
  readonly baseline?: Condition;
  /** When that was, in milliseconds since the epoch. */
  readonly baselineAt?: number;
  /** When it was decided to roll back. */
  readonly decidedAt?: number;
  readonly reason?: string;
  readonly worse?: readonly string[];
  /** New versions that lay beside configuration files before. */
  readonly offered?: readonly OfferedConfig[];
  readonly safetySnapshotId?: string;
  /** Services that ran replaced code after the change. */
  readonly restarted?: readonly UnitRestart[];
  readonly restartTrouble?: string;
}

export interface ApplyPorts {
  readonly manager: PackageManager;
  readonly backend: SnapshotBackend;
  readonly condition: HostCondition;
  readonly newErrors: NewErrors;
  readonly clock: Pick<Clock, "now" | "monotonicMs" | "sleep">;
  readonly guard: GuardTimes;
  readonly configFiles: ConfigFiles;
  readonly stale: StaleHost;
  readonly rules: DowngradeRules;
  readonly fileSystems: FileSystems;
}

export interface Update extends ApplyPorts, Work<ApplyPhase> {
  readonly input: TransactionInput;
}

export function save({ savePhase }: Update, phase: ApplyPhase): ApplyPhase {
  savePhase(phase);
  return phase;
}

/** Reports an error. When the task is asked to stop, that is not an error: its state stays. */
export function troubleIn({ signal, progress }: Update, error: unknown): string {
  signal.throwIfAborted();
  const text = errorMessage(error);
  progress.line(text);
  return text;
}

export async function makePlan(update: Update): Promise<ApplyPhase> {
  const { input, manager, backend, progress, signal } = update;
  progress.step(0, "plan");
  const plan = await refusedAsInvalid(() => planFor(manager, input.request, signal), doingOf(input.request));
  requireAsPlanned(update.planned, changeTexts(plan), doingOf(input.request));
  await requireDiskSpace(plan, { ...update, takesSnapshot: input.takesSnapshot }, signal);
  const hasSnapshot = input.takesSnapshot && plan.changes.length > 0;
  const snapshotId = hasSnapshot ? await freeSnapshotId(backend, update.clock, signal) : "";
  const offered = plan.changes.length > 0 ? { offered: await update.configFiles.offered(signal) } : {};
  return save(update, { is: "planned", plan, snapshotId, ...offered });
}

const changeNouns = { install: "installation", remove: "removal", purge: "purge" } as const;

/** Without the snapshot nothing is changed. */
function refuseWithout(update: Update, error: unknown): never {
  const text = troubleIn(update, error);
  if (error instanceof DomainError) throw error;
  if (error instanceof PackagesLocked) throw lockedBy(error);
  const shortage = unavailable("take the snapshot, so nothing was changed", error);
  if (shortage !== undefined) throw shortage;
  // Other messages may name paths and programs, which belong in the log.
  const isForCallers = error instanceof PackageFileMissing || error instanceof SnapshotUnusable;
  const reason = isForCallers ? text : "the log of the operation says why";
  const details = { missing: "snapshot", retryable: true };
  throw new DomainError("UNAVAILABLE", `cannot take the snapshot: ${reason}; nothing was changed`, details, error);
}

export async function takeSnapshot(update: Update, last: ApplyPhase): Promise<ApplyPhase> {
  const { backend, progress, signal, input } = update;
  const { snapshotId, plan } = last;
  if (snapshotId === "") return save(update, { ...last, is: "snapshot_taken" });
  progress.step(5, "take a snapshot");
  const { request } = input;
  const what = isChange(request) ? changeNouns[request.change] : "update";
  const description = `Before the ${what} of ${counted(plan.changes.length, "package")}`;
  const options = {
    id: snapshotId,
    description,
    kind: "before_update",
    changes: plan.changes,
    mustBeFull: input.isGuarded || input.requiresFull === true,
    progress: within(progress, 5, 30),
  } as const;
  const isTaken = (await backend.list(signal)).some(({ id: taken }) => taken === snapshotId);
  if (!isTaken) await backend.create(options, signal).catch((error: unknown) => refuseWithout(update, error));
  return save(update, { ...last, is: "snapshot_taken" });
}

async function resume(
  { manager, id, signal }: Update,
  { plan }: ApplyPhase,
  during: Parameters<Transactions["commit"]>[1],
): Promise<TransactionResult> {
  await manager.transactions.settle(id, signal);
  const repaired = await manager.transactions.repair(during, signal);
  const done = doneOf(plan, await packagesNow(plan, manager, signal));
  const rest = plan.changes.filter((change) => !done.includes(change));
  if (rest.length === 0 || !repaired.isDone) return repaired;
  return manager.transactions.commit({ ...plan, changes: rest }, during, signal);
}

/** Begins the transaction, or continues from what it left where its end was not seen. */
async function begin(
  update: Update,
  last: ApplyPhase,
  during: Parameters<Transactions["commit"]>[1],
): Promise<TransactionResult> {
  try {
    return await update.manager.transactions.commit(last.plan, during, update.signal);
  } catch (error) {
    if (!(error instanceof TransactionUnseen)) throw error;
    update.progress.line(`${error.message}; waiting for its end`);
    return resume(update, last, during);
  }
}

/** What packages have changed stays changed whether or not this can be recorded. */
async function recordChanges(update: Update, { snapshotId }: ApplyPhase): Promise<void> {
  if (snapshotId === "") return;
  await update.backend.recordChanges(snapshotId, update.signal).catch((error: unknown) => {
    update.progress.line(`cannot record what changed in /etc: ${troubleIn(update, error)}`);
  });
}

/** For the way back from the next update; this one does not depend on it. */
async function keepAhead({ backend, id, progress, signal }: Update, { snapshotId, plan }: ApplyPhase): Promise<void> {
  if (snapshotId === "") return;
  const versions = plan.changes.flatMap(({ name, architecture, to }) =>
    to === null ? [] : [{ name, architecture, version: to }],
  );
  const reported = { id, progress: { ...progress, step: () => undefined } };
  await backend.keep(versions, reported, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    progress.line(`cannot keep the new package files: ${errorMessage(error)}`);
  });
}

export async function commit(update: Update, last: ApplyPhase): Promise<ApplyPhase> {
  const { id, progress, signal } = update;
  let committing = last;
  const changing = {
    id,
    progress: within(progress, 30, 70),
    async ready() {
      await keepAhead(update, committing);
      if (!update.input.isGuarded) return;
      const baseline = await update.condition.look([], signal);
      committing = save(update, { ...committing, baseline, baselineAt: update.clock.now() });
    },
  };
  if (last.plan.changes.length === 0) return save(update, { ...last, is: "committed" });
  progress.step(30, `change ${counted(last.plan.changes.length, "package")}`);
  const isResumed = last.is === "committing";
  if (!isResumed) update.pointOfNoReturn?.();
  if (!isResumed) committing = save(update, { ...last, is: "committing" });
  try {
    const result = isResumed ? await resume(update, last, changing) : await begin(update, last, changing);
    // A host that shuts down may kill the package manager too: that is an interruption, not a failure.
    if (!result.isDone) signal.throwIfAborted();
    await recordChanges(update, committing);
    return save(update, { ...committing, is: "committed", ...(result.isDone ? {} : { reason: result.reason }) });
  } catch (error) {
    const isLocked = error instanceof PackagesLocked;
    // Nothing has changed yet, so the caller may try again; changes of an earlier process must be reported.
    if (isLocked && !isResumed) throw lockedBy(error);
    if (!isLocked && !(error instanceof UpdateRefused)) throw error;
    if (isResumed) await recordChanges(update, committing);
    return save(update, { ...committing, is: "committed", reason: error.message });
  }
}

/** Restarts services that run replaced code by now. What cannot be inspected is reported, and is not a reason to roll back. */
export async function restartReplaced(update: Update, last: ApplyPhase, percent: number): Promise<ApplyPhase> {
  const { input, stale, progress, signal } = update;
  if (input.restartsStale !== true || last.plan.changes.length === 0) return last;
  const during = { progress: within(progress, percent, percent + 2), signal };
  try {
    const { restartable } = await findStale(stale, signal);
    const keep = (restarted: ApplyPhase["restarted"]): void =>
      void save(update, { ...last, ...defined({ restarted }) });
    return { ...last, restarted: await restartUnits(stale, restartable, during, keep, last.restarted) };
  } catch (error) {
    return { ...last, restartTrouble: `cannot restart what runs replaced code: ${troubleIn(update, error)}` };
  }
}
