import type { FixStepReport } from "#contract/checks.ts";
import type { Clock } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import type { Fix, FixPlan, OnOperation } from "./fix.ts";

interface During {
  readonly signal: AbortSignal;
  readonly onOperation?: OnOperation;
}

/** Runs the steps of a plan one by one. Never throws. */
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
