import type { EtcScope, RollbackReport } from "#contract/updates.ts";
import { requireAsPlanned } from "#domain/common/plan.ts";
import { type PackageChange, type Progress, TransactionUnseen, within } from "#domain/ports/packages.ts";
import type { SnapshotBackend, SnapshotDiff } from "#domain/ports/snapshots.ts";
import type { Clock } from "#kernel/clock.ts";
import { counted } from "#kernel/text.ts";
import { type DowngradeRules, refuseDowngrades } from "./downgrades.ts";
import { freeSnapshotId } from "./snapshot.ts";

/** The progress of a rollback, for a process that resumes it. */
export interface RollbackPhase {
  /** Chosen before the safety snapshot is taken, so that there is only one. */
  readonly safetySnapshotId: string;
  /** Set at the end: only cleaning up is left. */
  readonly result?: RollbackReport;
}

/** The context of an operation of the updates part. */
export interface Work<Phase> {
  /** Id of the operation, also of its transactions. */
  readonly id: string;
  readonly progress: Progress;
  /** What the caller has agreed to; absent where there was no plan. */
  readonly planned?: readonly string[] | undefined;
  /** Where an earlier process got to. */
  readonly phase: Phase | undefined;
  readonly savePhase: (phase: Phase) => void;
  /** From here on it cannot be cancelled. Absent in a part of another operation, which is beyond that. @throws DomainError */
  readonly pointOfNoReturn?: () => void;
  readonly signal: AbortSignal;
}

/** What a return to a snapshot changes, in the words of its plan. */
export const returnTexts = ({ packages, files }: SnapshotDiff): readonly string[] => [
  ...packages.map(({ name, from, to }) => {
    if (from === null) return `remove ${name} ${to ?? ""}`;
    return to === null ? `install ${name} ${from}` : `return ${name} from ${to} to ${from}`;
  }),
  ...files.map(({ path, change }) => `${undone[change]} ${path}`),
];
const undone = { added: "remove", removed: "put back", modified: "restore" } as const;

/** The reverse of the coming changes: what a safety snapshot must be able to undo. */
const changesBetween = (
  packages: readonly Pick<PackageChange, "name" | "architecture" | "from" | "to">[],
): readonly PackageChange[] =>
  packages.map(({ name, architecture, from, to }) => ({ name, architecture, from: to, to: from, isSecurity: false }));

export interface RollbackInput {
  readonly snapshotId: string;
  readonly etc?: EtcScope;
  /** Packages that may be downgraded although their data may not survive it. */
  readonly allowDowngrade?: readonly string[];
  /** Packages of which no old file can be had stay as they are. */
  readonly partial?: boolean;
}

interface RollbackPorts {
  readonly backend: SnapshotBackend;
  readonly clock: Pick<Clock, "now">;
  readonly rules: DowngradeRules;
}

/**
 * Returns to a snapshot: verifies it before anything is touched, takes a safety snapshot, goes back. Can be resumed.
 * @throws SnapshotUnusable when the snapshot is damaged; DomainError `CONFLICT` for a harmful downgrade: nothing was touched.
 */
export async function rollBack(
  { snapshotId, etc = "touched", allowDowngrade: allowed, partial: isPartial = false }: RollbackInput,
  { backend, clock, rules }: RollbackPorts,
  { id, progress, phase, planned, savePhase, pointOfNoReturn, signal }: Work<RollbackPhase>,
): Promise<RollbackReport> {
  progress.step(0, "verify the snapshot");
  await backend.verify(snapshotId, signal);
  if (phase === undefined) {
    const diff = await backend.diff(snapshotId, signal);
    refuseDowngrades(diff.packages, { rules, allowed });
    requireAsPlanned(planned, returnTexts(diff), "roll back");
  }
  const safetySnapshotId = phase?.safetySnapshotId ?? (await freeSnapshotId(backend, clock, signal));
  if (phase === undefined) savePhase({ safetySnapshotId });
  if (!(await backend.list(signal)).some(({ id: taken }) => taken === safetySnapshotId)) {
    progress.step(15, "take a safety snapshot");
    const { packages } = await backend.diff(snapshotId, signal);
    const description = `Before the rollback to ${snapshotId}`;
    const changes = changesBetween(packages);
    const what = { id: safetySnapshotId, description, kind: "before_rollback", changes } as const;
    await backend.create({ ...what, progress: within(progress, 15, 40) }, signal);
  }
  pointOfNoReturn?.();
  progress.step(40, "return to the snapshot");
  const goBack = () =>
    backend.rollback(snapshotId, { id, progress: within(progress, 40, 100), etc, isPartial }, signal);
  const outcome = await goBack().catch((error: unknown) => {
    if (!(error instanceof TransactionUnseen)) throw error;
    progress.line(`${error.message}; waiting for its end`);
    return goBack();
  });
  const { isDone, reason, packages, filesRestored, filesLeft, requiresReboot } = outcome;
  // So that the safety snapshot undoes what the rollback has changed, and no more.
  await backend.recordChanges(safetySnapshotId, signal);
  const left =
    filesLeft.length === 0 ? "" : `${counted(filesLeft.length, "file")} left alone that something else changed`;
  return {
    success: isDone,
    message: isDone
      ? [`returned to ${snapshotId}`, ...(requiresReboot ? ["it is complete after a reboot"] : []), reason, left]
          .filter((part) => part !== "")
          .join("; ")
      : `cannot return to ${snapshotId} completely: ${reason} (how it was is in ${safetySnapshotId})`,
    snapshot_id: snapshotId,
    safety_snapshot_id: safetySnapshotId,
    requires_reboot: requiresReboot,
    packages_changed: packages.length,
    packages: packages.map(({ name, from, to }) => ({ name, from, to })),
    files_restored: filesRestored,
    files_left: [...filesLeft],
    operation_id: id,
  };
}
