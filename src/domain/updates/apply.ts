import type { GuardVerdict, KeptConfig, UpdateApply } from "#contract/updates.ts";
import { isChange, within } from "#domain/ports/packages.ts";
import { errorMessage } from "#kernel/errors.ts";
import {
  type ApplyPhase,
  type ApplyPorts,
  commit,
  makePlan,
  restartReplaced,
  save,
  type TransactionInput,
  takeSnapshot,
  troubleIn,
  type Update,
} from "./apply-steps.ts";
import { activeUnitsOf, type Condition, type Removal, worseThan } from "./condition.ts";
import { timesAfterRollback, type Watch, watchAfter } from "./guard.ts";
import { isKernelPackage } from "./kernel-packages.ts";
import { newErrorsText } from "./new-errors.ts";
import { type RollbackPhase, rollBack, type Work } from "./rollback.ts";
import { changedOf, doneOf, packagesNow } from "./transaction.ts";

interface Guarded {
  readonly verdict: GuardVerdict;
  /** Whether old versions run again only after a reboot. */
  readonly needsReboot: boolean;
  /** When it was decided to roll back. */
  readonly decidedAt?: number;
}

const kept = (message: string): Guarded => ({ verdict: { outcome: "kept", message, worse: [] }, needsReboot: false });

/** Adds what the host has logged that it had not logged before. A journal that cannot be read is not a reason for anything. */
async function withNewErrors(
  update: Update,
  { baselineAt }: ApplyPhase,
  { verdict, decidedAt = update.clock.now() }: Guarded,
): Promise<GuardVerdict> {
  if (baselineAt === undefined) return verdict;
  try {
    const found = await update.newErrors.between(baselineAt, decidedAt, update.signal);
    const message = [verdict.message, ...newErrorsText(found)].join("; ");
    return { ...verdict, message, new_errors: [...found.errors] };
  } catch (error) {
    update.signal.throwIfAborted();
    update.progress.line(`cannot determine which errors are new: ${errorMessage(error)}`);
    return verdict;
  }
}

/** Starts units that ran before and do not after a rollback, and watches whether the host is as it was. */
async function restoreUnits(
  { condition, progress, guard, clock, signal }: Update,
  before: Condition,
): Promise<{ readonly restarted: readonly string[]; readonly remaining: readonly string[] }> {
  const restarted: string[] = [];
  progress.step(95, "start what ran before");
  try {
    const now = await condition.look(activeUnitsOf(before), signal);
    for (const { unit, mustLast } of worseThan(before, now, "none")) {
      if (unit === undefined || mustLast) continue;
      try {
        await condition.restart(unit, signal);
        restarted.push(unit);
      } catch (error) {
        signal.throwIfAborted();
        progress.line(`cannot start ${unit}: ${errorMessage(error)}`);
      }
    }
  } catch (error) {
    signal.throwIfAborted();
    progress.line(`cannot look at the host: ${errorMessage(error)}`);
  }
  progress.step(97, "look at the host again");
  const watch: Watch = { before, removal: "none", ...timesAfterRollback(guard) };
  const remaining = await watchAfter(watch, { condition, clock }, signal);
  return { restarted, remaining: remaining.map(({ text }) => text) };
}

/** Starts what ran before, and says what the host is then, whether or not the way back succeeded. */
async function lookAfterwards(update: Update, last: ApplyPhase, verdict: GuardVerdict): Promise<GuardVerdict> {
  if (last.baseline === undefined) {
    const unknown = "the host was not inspected before the update, so nothing can be compared";
    const message = verdict.outcome === "rolled_back" ? verdict.message : `${verdict.message}; ${unknown}`;
    return { ...verdict, message };
  }
  const { restarted, remaining } = await restoreUnits(update, last.baseline);
  const found = { restarted: [...restarted], remaining: [...remaining] };
  if (remaining.length === 0) return { ...verdict, ...found };
  const message = `${verdict.message}; still worse than before: ${remaining.join("; ")}`;
  const outcome = verdict.outcome === "rolled_back" ? "rolled_back_still_worse" : verdict.outcome;
  return { ...verdict, ...found, outcome, message };
}

async function rollBackTo(update: Update, last: ApplyPhase, worse: readonly string[]): Promise<Guarded> {
  const { backend, id, clock, rules, progress } = update;
  const verdictOf = (isBack: boolean, message: string): GuardVerdict => ({
    outcome: isBack ? "rolled_back" : "rollback_failed",
    message: `${worse.join("; ")}: ${message}`,
    worse: [...worse],
  });
  const decidedAt = last.decidedAt ?? clock.now();
  const rolling = save(update, { ...last, is: "rolling_back", worse, decidedAt });
  if (last.snapshotId === "") {
    const failed = verdictOf(false, "there is no snapshot to return to");
    return { verdict: await lookAfterwards(update, rolling, failed), needsReboot: false, decidedAt };
  }
  progress.step(80, "roll back, since the host is worse than before");
  const { safetySnapshotId, baseline } = rolling;
  const back: Work<RollbackPhase> = {
    id: `${id}-back`,
    progress: within(progress, 80, 95),
    phase: safetySnapshotId === undefined ? undefined : { safetySnapshotId },
    savePhase: (next) => void save(update, { ...rolling, ...next }),
    signal: update.signal,
  };
  const result = await rollBack({ snapshotId: last.snapshotId }, { backend, clock, rules }, back).catch(
    (error: unknown) => ({
      success: false,
      message: `cannot return to ${last.snapshotId}: ${troubleIn(update, error)}`,
      requires_reboot: false,
    }),
  );
  // What was restarted runs what was just replaced again.
  if (baseline !== undefined) await restartReplaced(update, { ...rolling, restarted: [] }, 95);
  const verdict = await lookAfterwards(update, rolling, verdictOf(result.success, result.message));
  return { verdict, needsReboot: result.requires_reboot, decidedAt };
}

async function isUntouched({ manager, signal }: Update, { plan }: ApplyPhase): Promise<boolean> {
  return (
    changedOf(plan, await packagesNow(plan, manager, signal)).length === 0 &&
    (await manager.transactions.audit(signal)).length === 0
  );
}

function removalOf({ input }: Update, { changes }: ApplyPhase["plan"]): Removal {
  if (!changes.some(({ name, to }) => to === null && !isKernelPackage(name))) return "none";
  return isChange(input.request) ? "asked" : "along";
}

async function guard(update: Update, last: ApplyPhase): Promise<Guarded | undefined> {
  const { baseline, reason, plan } = last;
  if (!update.input.isGuarded || plan.changes.length === 0) return undefined;
  if (last.is === "rolling_back") return rollBackTo(update, last, last.worse ?? []);
  if (reason !== undefined && (await isUntouched(update, last))) return kept("nothing was changed");
  if (reason !== undefined) return rollBackTo(update, last, [`the update failed: ${reason}`]);
  if (baseline === undefined) return kept("the host was not inspected before the update, so nothing can be compared");
  const watch: Watch = {
    before: baseline,
    removal: removalOf(update, plan),
    ...update.guard,
    onTimeLeft: (leftMs) =>
      update.progress.step(70, "watch units, ports and checks", Math.round(update.clock.now() + leftMs)),
  };
  const worse = await watchAfter(watch, update, update.signal);
  if (worse.length === 0) return kept("nothing is worse than before");
  return rollBackTo(
    update,
    last,
    worse.map(({ text }) => text),
  );
}

async function findKeptFiles({ configFiles, signal }: Update, last: ApplyPhase): Promise<readonly KeptConfig[]> {
  if (last.offered === undefined) return [];
  const before = new Map(last.offered.map(({ offered, changedAt }) => [offered, changedAt]));
  const now = await configFiles.offered(signal);
  const added = now.filter(({ offered, changedAt }) => before.get(offered) !== changedAt);
  return added.map(({ file, offered }) => ({ file, offered }));
}

/** The result of an update. Packages have changed, so a failing question is reported without losing the rest. */
async function report(update: Update, last: ApplyPhase, guarded: Guarded | undefined): Promise<UpdateApply> {
  const { manager, signal, id } = update;
  const { plan, snapshotId, reason, restarted = [], restartTrouble } = last;
  const unknown: string[] = [];
  const orUnknown = async <T, U>(what: string, ask: () => Promise<T>, otherwise: U): Promise<T | U> => {
    try {
      return await ask();
    } catch (error) {
      unknown.push(`cannot determine ${what}: ${troubleIn(update, error)}`);
      return otherwise;
    }
  };
  const now = await orUnknown("which packages are installed", () => packagesNow(plan, manager, signal), undefined);
  const leftOver = await orUnknown("what is left half-done", () => manager.transactions.audit(signal), []);
  const noNeeds = { requiresReboot: false, units: [] };
  const needs = await orUnknown("what must be restarted", () => manager.restartNeeds(signal), noNeeds);
  const keptFiles = await orUnknown("which configuration files were kept", () => findKeptFiles(update, last), []);
  const verdict = guarded?.verdict;
  const isRolledBack = verdict !== undefined && verdict.outcome !== "kept";
  const done = now === undefined ? [] : doneOf(plan, now);
  const missing = now === undefined ? 0 : plan.changes.length - done.length;
  const reasons = [
    ...(reason === undefined ? [] : [reason]),
    ...leftOver,
    ...(isRolledBack ? [`${verdict.outcome}: ${verdict.message}`] : []),
    ...(missing > 0 && reason === undefined && !isRolledBack
      ? [`${missing} packages are not at their new version`]
      : []),
    ...(restartTrouble === undefined ? [] : [restartTrouble]),
    ...(isRolledBack ? [] : restarted.filter(({ success }) => !success)).map(
      ({ unit, message }) => `cannot restart ${unit}: ${message}`,
    ),
    ...unknown,
  ];
  return {
    success: reasons.length === 0,
    snapshot_id: snapshotId,
    packages_updated: done.length,
    requires_reboot: needs.requiresReboot || (guarded?.needsReboot ?? false),
    operation_id: id,
    packages: now === undefined ? [] : [...changedOf(plan, now)],
    requires_restart: [...needs.units],
    error: reasons.length === 0 ? null : reasons.join("; "),
    ...(verdict !== undefined && { guard: verdict }),
    ...(update.input.restartsStale === true && { restarted: [...restarted] }),
    ...(keptFiles.length > 0 && !isRolledBack && { kept_configs: [...keptFiles] }),
  };
}

/** Runs an update. A process that resumes it continues from the saved phase and the packages installed by then. */
export async function applyUpdates(
  input: TransactionInput,
  ports: ApplyPorts,
  work: Work<ApplyPhase>,
): Promise<UpdateApply> {
  const update: Update = { ...ports, ...work, input };
  let last = work.phase ?? (await makePlan(update));
  if (last.is === "planned") last = await takeSnapshot(update, last);
  if (last.is === "snapshot_taken" || last.is === "committing") last = await commit(update, last);
  if (last.is === "committed" && last.reason === undefined) last = await restartReplaced(update, last, 70);
  const guarded = await guard(update, last);
  return report(update, last, guarded && { ...guarded, verdict: await withNewErrors(update, last, guarded) });
}
