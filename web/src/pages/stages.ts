import type { OperationEntry } from "#contract/operation-entry.ts";
import type { PackagesChanged } from "#contract/package-changes.ts";
import type { RollbackReport, UpdateApply } from "#contract/updates.ts";
import { texts } from "../texts/operations.ts";
import type { Tone } from "../ui/parts.tsx";

export interface Stage {
  readonly id: keyof typeof texts.stages;
  readonly state: keyof typeof texts.stageState;
  /** What is being done, or what came of it. */
  readonly detail?: string | undefined;
  readonly tone?: Tone;
}

export type Applied = UpdateApply | PackagesChanged;

export const isChange = (kind: string): boolean => kind === "updates.apply" || kind === "packages.change";
export const isRollback = (kind: string): boolean => kind === "updates.rollback";

/** Whether it ended before it changed anything, as somebody wanted. */
export const wasCancelled = ({ error }: Pick<OperationEntry, "error">): boolean =>
  error?.details?.["reason"] === "cancelled";

/** The percentage at which each stage of an operation begins. */
type Begins = readonly (readonly [Stage["id"], number])[];
const ofChange: Begins = [
  ["plan", 0],
  ["snapshot", 5],
  ["packages", 30],
  ["watch", 70],
  ["rollback", 80],
];
const ofRollback: Begins = [
  ["verify", 0],
  ["safety", 15],
  ["back", 40],
];

/** While it runs, or after it has failed at one of them. */
function startedStages(begins: Begins, { status, progress, error }: OperationEntry): readonly Stage[] {
  const at = begins.findLastIndex(
    // Where packages end the watch begins, which alone says when it is over.
    ([id, percent]) => progress.percent >= percent && (id !== "watch" || progress.until !== undefined),
  );
  const isCancelled = wasCancelled({ error });
  const isFailed = status === "failed" && !isCancelled;
  const stages = begins.map(([id], index): Stage => {
    if (index < at) return { id, state: "done" };
    if (index > at || isCancelled) return { id, state: status === "failed" ? "skipped" : "later" };
    return { id, state: isFailed ? "failed" : status === "queued" ? "later" : "now", detail: progress.step };
  });
  // Nobody expects a rollback until there is one.
  const expected = stages.filter(({ id, state }) => id !== "rollback" || state === "now" || state === "failed");
  const verdict = isCancelled
    ? ({ state: "done", detail: texts.verdicts.cancelled, tone: "idle" } as const)
    : isFailed
      ? ({ state: "failed", detail: texts.verdicts.failed } as const)
      : ({ state: "later" } as const);
  return [...expected, { id: "verdict", ...verdict }];
}

const outcomes = {
  kept: ["ok", texts.verdicts.done],
  rolled_back: ["warn", texts.verdicts.rolledBack],
  rolled_back_still_worse: ["bad", texts.verdicts.stillWorse],
  rollback_failed: ["bad", texts.verdicts.rollbackFailed],
} as const;

function stagesOfChange({ success, snapshot_id: snapshot, packages, guard }: Applied): readonly Stage[] {
  const isKept = guard === undefined || guard.outcome === "kept";
  const [tone, detail] = isKept
    ? ([success ? "ok" : "bad", success ? texts.verdicts.done : texts.verdicts.problems] as const)
    : outcomes[guard.outcome];
  return [
    { id: "plan", state: "done" },
    snapshot === ""
      ? { id: "snapshot", state: "skipped", detail: texts.noSnapshot }
      : { id: "snapshot", state: "done", detail: snapshot },
    {
      id: "packages",
      state: success || !isKept ? "done" : "failed",
      ...(isKept && { detail: texts.changed(packages.length) }),
    },
    guard === undefined
      ? { id: "watch", state: "skipped", detail: texts.noGuard }
      : isKept
        ? { id: "watch", state: "done", detail: texts.kept }
        : { id: "watch", state: "failed", detail: texts.worse(guard.worse.length) },
    ...(isKept ? [] : [{ id: "rollback", state: tone === "warn" ? "done" : "failed" } as const]),
    { id: "verdict", state: tone === "bad" ? "failed" : "done", detail, tone },
  ];
}

function stagesOfRollback(result: RollbackReport): readonly Stage[] {
  const { success, safety_snapshot_id: safety } = result;
  return [
    { id: "verify", state: "done" },
    {
      id: "safety",
      state: safety === "" ? "skipped" : "done",
      detail: safety === "" ? texts.noSnapshot : safety,
    },
    { id: "back", state: success ? "done" : "failed", detail: texts.changed(result.packages_changed) },
    {
      id: "verdict",
      state: success ? "done" : "failed",
      detail: success ? texts.verdicts.done : texts.verdicts.problems,
    },
  ];
}

/** The stages that an operation goes through; none where it has but one. */
export function stagesOf(entry: OperationEntry): readonly Stage[] {
  const { kind, status, result } = entry;
  if (isChange(kind)) return status === "done" ? stagesOfChange(result as Applied) : startedStages(ofChange, entry);
  if (isRollback(kind))
    return status === "done" ? stagesOfRollback(result as RollbackReport) : startedStages(ofRollback, entry);
  return [];
}
