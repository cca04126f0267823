import { checkTimeoutMs, maxConcurrentChecks } from "#contract/limits.ts";
import type { GuardedBy } from "#domain/common/guarded-by.ts";
import { createSlots } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import { defined } from "#kernel/values.ts";
import type { Check, Outcome, PreviousGrades } from "./check.ts";
import { createContainedRun } from "./check-run.ts";
import { type CheckPlan, isSwitchedOn, settingsOf } from "./runner.ts";

interface ReportPorts {
  readonly checks: readonly Check[];
  readonly settings: CheckPlan;
  readonly clock: Pick<Clock, "sleep">;
}

function createRun({ settings, clock }: Omit<ReportPorts, "checks">, signal: AbortSignal) {
  const contained = createContainedRun(clock, signal);
  return (check: Check, previous?: PreviousGrades): Promise<Outcome> => {
    const { timeoutMs = check.timeoutMs ?? checkTimeoutMs } = settings.checks[check.id] ?? {};
    return contained(check, { ...settingsOf(check, settings), ...defined({ previous }) }, timeoutMs);
  };
}

const enabledOf = ({ checks, settings }: ReportPorts): readonly Check[] =>
  checks.filter((check) => isSwitchedOn(check, settings));

/** @param previous what it said before, which decides near a threshold. */
export async function runCheckOnce(
  ports: ReportPorts,
  id: string,
  signal: AbortSignal,
  previous?: PreviousGrades,
): Promise<Outcome | undefined> {
  const check = enabledOf(ports).find((each) => each.id === id);
  return check && createRun(ports, signal)(check, previous);
}

export interface GuardedOutcome extends Pick<Outcome, "status" | "message"> {
  readonly guardedBy: GuardedBy;
}

/** Runs the enabled checks that guarded updates look at once, without history, and returns their outcomes by id. */
export function createGuardReport(
  ports: ReportPorts,
): (signal: AbortSignal) => Promise<Readonly<Record<string, GuardedOutcome>>> {
  const inSlot = createSlots(maxConcurrentChecks);
  return async (signal) => {
    const run = createRun(ports, signal);
    const outcomes = enabledOf(ports).map(async (check): Promise<readonly (readonly [string, GuardedOutcome])[]> => {
      const { id, guardedBy } = check;
      if (guardedBy === undefined) return [];
      const { status, message } = await inSlot(() => run(check));
      return [[id, { status, message, guardedBy }]];
    });
    return Object.fromEntries((await Promise.all(outcomes)).flat());
  };
}
