import type { GuardVerdict, KeptConfig, UpdateApply } from "#contract/updates.ts";
import {
  type ApplyInput,
  type ApplyPhase,
  type ApplyPorts,
  commit,
  makePlan,
  save,
  takeSnapshot,
  troubleIn,
  type Update,
  within,
} from "./apply-steps.ts";
import { watchAfter } from "./guard.ts";
import { type RollbackPhase, rollBack, type Work } from "./rollback.ts";
import { changedOf, doneOf } from "./transaction.ts";

interface Guarded {
  readonly verdict: GuardVerdict;
  /** Whether the rollback takes effect only after a reboot. */
  readonly needsReboot: boolean;
}

const kept = (message: string): Guarded => ({ verdict: { outcome: "kept", message, worse: [] }, needsReboot: false });

async function rollBackTo(update: Update, last: ApplyPhase, worse: readonly string[]): Promise<Guarded> {
  const { backend, id, clock, progress } = update;
  if (backend === undefined || last.snapshotId === "") {
    const message = "there is no snapshot to return to";
    return { verdict: { outcome: "rollback_failed", message, worse: [...worse] }, needsReboot: false };
  }
  const rolling = save(update, { ...last, is: "rolling_back", worse });
  progress.step(80, "roll back, since the host is worse than before");
  const { safetySnapshotId } = rolling;
  const back: Work<RollbackPhase> = {
    id: `${id}-back`,
    progress: within(progress, 80, 99),
    phase: safetySnapshotId === undefined ? undefined : { safetySnapshotId },
    savePhase: (next) => void save(update, { ...rolling, ...next }),
    signal: update.signal,
  };
  const result = await rollBack(last.snapshotId, { backend, clock }, back).catch((error: unknown) => ({
    success: false,
    message: `cannot return to ${last.snapshotId}: ${troubleIn(update, error)}`,
    requires_reboot: false,
  }));
  const outcome = result.success ? "rolled_back" : "rollback_failed";
  const message = `${worse.join("; ")}: ${result.message}`;
  return { verdict: { outcome, message, worse: [...worse] }, needsReboot: result.requires_reboot };
}

async function isUntouched({ manager, signal }: Update, { plan }: ApplyPhase): Promise<boolean> {
  return changedOf(plan, await manager.installed(signal)).length === 0 && (await manager.audit(signal)).length === 0;
}

async function guard(update: Update, last: ApplyPhase): Promise<Guarded | undefined> {
  const { before, reason, plan } = last;
  if (before === undefined) return undefined;
  if (last.is === "rolling_back") return rollBackTo(update, last, last.worse ?? []);
  if (reason !== undefined && (await isUntouched(update, last))) return kept("nothing was changed");
  if (reason !== undefined) return rollBackTo(update, last, [`the update failed: ${reason}`]);
  update.progress.step(70, "watch checks and units");
  const removesPackages = plan.changes.some(({ to }) => to === null);
  const worse = await watchAfter({ before, removesPackages, ...update.guard }, update, update.signal);
  return worse.length > 0 ? rollBackTo(update, last, worse) : kept("nothing is worse than before");
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
  const { plan, snapshotId, reason } = last;
  const unknown: string[] = [];
  const orUnknown = async <T, U>(what: string, ask: () => Promise<T>, otherwise: U): Promise<T | U> => {
    try {
      return await ask();
    } catch (error) {
      unknown.push(`cannot tell ${what}: ${troubleIn(update, error)}`);
      return otherwise;
    }
  };
  const installed = await orUnknown("which packages are installed", () => manager.installed(signal), undefined);
  const leftOver = await orUnknown("what is left half-done", () => manager.audit(signal), []);
  const noNeeds = { requiresReboot: false, units: [] };
  const needs = await orUnknown("what has to be restarted", () => manager.restartNeeds(signal), noNeeds);
  const keptFiles = await orUnknown("which configuration files were kept", () => findKeptFiles(update, last), []);
  const verdict = guarded?.verdict;
  const isRolledBack = verdict !== undefined && verdict.outcome !== "kept";
  const done = installed === undefined ? [] : doneOf(plan, installed);
  const missing = installed === undefined ? 0 : plan.changes.length - done.length;
  const reasons = [
    ...(reason === undefined ? [] : [reason]),
    ...leftOver,
    ...(isRolledBack ? [`${verdict.outcome}: ${verdict.message}`] : []),
    ...(missing > 0 && reason === undefined && !isRolledBack
      ? [`${missing} packages are not at their new version`]
      : []),
    ...unknown,
  ];
  return {
    success: reasons.length === 0,
    snapshot_id: snapshotId,
    packages_updated: done.length,
    requires_reboot: needs.requiresReboot || (guarded?.needsReboot ?? false),
    operation_id: id,
    packages: installed === undefined ? [] : [...changedOf(plan, installed)],
    requires_restart: [...needs.units],
    error: reasons.length === 0 ? null : reasons.join("; "),
    ...(verdict !== undefined && { guard: verdict }),
    ...(keptFiles.length > 0 && !isRolledBack && { kept_configs: [...keptFiles] }),
  };
}

/** Runs an update. A process that resumes it continues from the saved phase and the packages installed by then. */
export async function applyUpdates(input: ApplyInput, ports: ApplyPorts, work: Work<ApplyPhase>): Promise<UpdateApply> {
  const update: Update = { ...ports, ...work, input };
  let last = work.phase ?? (await makePlan(update));
  if (last.is === "planned") last = await takeSnapshot(update, last);
  if (last.is === "snapshot_taken" || last.is === "committing") last = await commit(update, last);
  return report(update, last, await guard(update, last));
}
