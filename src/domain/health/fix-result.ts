import { type FixResult, type FixStepReport, type HealthCheckResult, statusRank } from "#contract/checks.ts";
import type { Plan } from "#contract/operation.ts";
import { createPlan } from "#domain/common/plan.ts";
import type { Clock } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { defined } from "#kernel/values.ts";
import type { Fix, FixPlan, FixStep, OnOperation, ToldPlan } from "./fix.ts";

interface During {
  readonly signal: AbortSignal;
  readonly onOperation?: OnOperation;
}

export async function carryOutSteps(
  { endsOnFailure }: Pick<Fix, "endsOnFailure">,
  plan: Pick<FixPlan, "steps">,
  { signal, onOperation }: During,
  clock: Pick<Clock, "monotonicMs">,
): Promise<FixStepReport[]> {
  const stepOf = async (step: FixPlan["steps"][number]): Promise<FixStepReport> => {
    const startedAtMs = clock.monotonicMs();
    const report = (status: FixStepReport["status"], message: string): FixStepReport => ({
      action: step.action,
      status,
      message,
      duration_ms: Math.round(clock.monotonicMs() - startedAtMs),
    });
    try {
      signal.throwIfAborted();
      return report("done", await step.run(signal, onOperation));
    } catch (error) {
      return report("failed", errorMessage(error));
    }
  };

  const reports: FixStepReport[] = [];
  for (const step of plan.steps) {
    const isOver = endsOnFailure && reports.some(({ status }) => status === "failed");
    reports.push(
      isOver
        ? { action: step.action, status: "skipped", message: "a step before it failed", duration_ms: 0 }
        : await stepOf(step),
    );
  }
  return reports;
}

/** Reason of a plan without steps that gives none. */
export const nothingPossible = "there is nothing to do";

const listedSteps = 3;

function reportedOf(steps: readonly FixStepReport[]): string {
  const reported = steps.slice(0, listedSteps).map(({ message }) => message);
  return [...reported, ...(steps.length > listedSteps ? [`and ${steps.length - listedSteps} more steps`] : [])].join(
    "; ",
  );
}

/** The result of a fix that has run: a success when its steps succeeded, whatever is still wrong. */
export function verdict(
  fixId: string,
  steps: readonly FixStepReport[],
  before: HealthCheckResult,
  after: HealthCheckResult,
): { success: boolean; message: string } {
  const failed = steps.filter(({ status }) => status === "failed");
  const [first] = failed;
  if (first !== undefined) {
    const others = failed.length === 1 ? "" : ` (and ${failed.length - 1} more of its steps)`;
    return { success: false, message: `${fixId} could not ${first.action}: ${first.message}${others}` };
  }
  // The check itself failed, so the state of the host is not known.
  if ("error" in after.details)
    return {
      success: true,
      message: `${fixId} completed all its steps (${reportedOf(steps)}); it is unknown whether it helped: ${after.message}`,
    };
  const isBetter = statusRank[after.status] < statusRank[before.status];
  if (statusRank[after.status] === 0) return { success: true, message: `${fixId} is done: ${after.message}` };
  if (after.fix_id !== fixId)
    return { success: true, message: `${fixId} is done; another problem remains: ${after.message}` };
  const rest = isBetter ? "it is better, but not healthy" : "it is not enough";
  return { success: true, message: `${fixId} is done (${reportedOf(steps)}); ${rest}: ${after.message}` };
}

const actionOf = ({ action }: Pick<FixStep, "action">): string => action;

/** What must be as it was agreed to. */
export const agreedOf = ({ digested, steps }: ToldPlan): readonly string[] => digested ?? steps.map(actionOf);

/**
 * What a fix would do, for a dry run.
 * @param questions what is asked of others before its steps.
 */
export function planOf(fix: Fix, plan: ToldPlan, questions: readonly string[]): Plan {
  const reason = plan.reason ?? (plan.steps.length > 0 ? undefined : nothingPossible);
  return createPlan(
    [...questions, ...plan.steps.map(actionOf)],
    {
      units: [...(plan.units ?? [])],
      packages: [...(plan.packages ?? [])],
      bytes: plan.downloadBytes ?? 0,
      requires_reboot: plan.requiresReboot ?? false,
      ...defined({ frees_bytes: plan.freesBytes }),
      fix_id: fix.id,
      risk: fix.risk,
      ...defined({ reason }),
    },
    {
      ...defined({ digested: plan.digested && [...questions, ...plan.digested] }),
      transaction: agreedOf(plan),
    },
  );
}

export function nothingToDo(fix: Fix, check: HealthCheckResult, isDryRun: boolean): FixResult | Plan {
  const message = `nothing to fix: ${check.message}`;
  if (isDryRun) return createPlan([], { fix_id: fix.id, risk: fix.risk, reason: message });
  return { success: true, fix_id: fix.id, message, steps: [], check, risk: fix.risk };
}
