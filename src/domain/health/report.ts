import type { CheckStatus } from "#contract/checks.ts";
import { checkTimeoutMs, maxConcurrentChecks } from "#contract/limits.ts";
import type { Clock } from "#domain/kernel/clock.ts";
import type { Check } from "./check.ts";
import { createContainedRun, createSlots } from "./contained-run.ts";
import type { CheckPlan } from "./runner.ts";

/**
 * Runs all checks that are switched on once, each contained, and gives their statuses by id: for who wants to know how the
 * host is now, and needs no history of it.
 */
export function createCheckReport(ports: {
  readonly checks: readonly Check[];
  readonly settings: CheckPlan;
  readonly clock: Pick<Clock, "sleep">;
}): (signal: AbortSignal) => Promise<Readonly<Record<string, CheckStatus>>> {
  const { checks, settings, clock } = ports;
  const inSlot = createSlots(maxConcurrentChecks);
  return async (signal) => {
    const contained = createContainedRun(clock, signal);
    const run = async (check: Check): Promise<readonly [string, CheckStatus]> => {
      const {
        ignore = [],
        warn,
        fail,
        timeoutMs = check.timeoutMs ?? checkTimeoutMs,
      } = settings.checks[check.id] ?? {};
      const given = { ignore, ...(warn !== undefined && { warn }), ...(fail !== undefined && { fail }) };
      const { status } = await inSlot(() => contained(check, given, timeoutMs));
      return [check.id, status];
    };
    const enabled = checks.filter(({ id }) => settings.checks[id]?.isEnabled !== false);
    return Object.fromEntries(await Promise.all(enabled.map(run)));
  };
}
