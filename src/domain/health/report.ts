import type { CheckStatus } from "#contract/checks.ts";
import { checkTimeoutMs, maxConcurrentChecks } from "#contract/limits.ts";
import { createSlots } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Check, Outcome } from "./check.ts";
import { createContainedRun } from "./check-run.ts";
import { type CheckPlan, isSwitchedOn, settingsOf } from "./runner.ts";

interface ReportPorts {
  readonly checks: readonly Check[];
  readonly settings: CheckPlan;
  readonly clock: Pick<Clock, "sleep">;
}

function createRun({ settings, clock }: Omit<ReportPorts, "checks">, signal: AbortSignal) {
  const contained = createContainedRun(clock, signal);
  return (check: Check): Promise<Outcome> => {
    const { timeoutMs = check.timeoutMs ?? checkTimeoutMs } = settings.checks[check.id] ?? {};
    return contained(check, settingsOf(check, settings), timeoutMs);
  };
}

const enabledOf = ({ checks, settings }: ReportPorts): readonly Check[] =>
  checks.filter((check) => isSwitchedOn(check, settings));

export async function runCheckOnce(ports: ReportPorts, id: string, signal: AbortSignal): Promise<Outcome | undefined> {
  const check = enabledOf(ports).find((each) => each.id === id);
  return check && createRun(ports, signal)(check);
}

/** Runs all enabled checks once, without history, and returns their statuses by id. */
export function createCheckReport(
  ports: ReportPorts,
): (signal: AbortSignal) => Promise<Readonly<Record<string, CheckStatus>>> {
  const inSlot = createSlots(maxConcurrentChecks);
  return async (signal) => {
    const run = createRun(ports, signal);
    const statusOf = async (check: Check): Promise<readonly [string, CheckStatus]> => {
      const { status } = await inSlot(() => run(check));
      return [check.id, status];
    };
    return Object.fromEntries(await Promise.all(enabledOf(ports).map(statusOf)));
  };
}
