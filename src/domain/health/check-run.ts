import { type HealthCheckResult, isUnhealthy } from "#contract/checks.ts";
import { checkTimeoutMs, maxConcurrentChecks } from "#contract/limits.ts";
import type { Hooks, Veto } from "#domain/common/hooks.ts";
import type { GuardedBy } from "#domain/ports/updates.ts";
import { createSlots, isOver, withinTime } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { clipText } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import type { Check, CheckSettings, Outcome, PreviousGrades } from "./check.ts";
import { type Fix, fixIdOf, type OpenFix } from "./fix.ts";

export interface CheckPlan {
  readonly intervalMs?: number;
  /** Runs in a row until a problem is hard. */
  readonly attempts?: number;
  /** Whether the host is meant to have no way out; a check can be configured otherwise. */
  readonly isIsolated?: boolean;
  readonly checks: Readonly<
    Record<
      string,
      Partial<CheckSettings> & {
        readonly isEnabled?: boolean;
        readonly intervalMs?: number;
        readonly timeoutMs?: number;
        readonly attempts?: number;
      }
    >
  >;
}

export const isSwitchedOn = ({ id }: Check, plan: CheckPlan): boolean => plan.checks[id]?.isEnabled !== false;

export function settingsOf({ id }: Check, plan: CheckPlan): CheckSettings {
  // The first four are the runner's own.
  const { isEnabled: _on, intervalMs: _every, timeoutMs: _limit, attempts: _times, ...own } = plan.checks[id] ?? {};
  return { ignore: [], ...defined({ isIsolated: plan.isIsolated }), ...own };
}

const planTimeoutMs = 30_000;

/** Whether a fix can do anything about what a check found. Never throws. */
export type Fixability = (
  ids: { readonly checkId: string; readonly fixId: string },
  found: Outcome,
  signal: AbortSignal,
) => Promise<boolean>;

/** Makes the plan of fixes that may find nothing to do. A plan that fails or takes too long rules nothing out. */
export function createFixability(ports: {
  readonly fixes: readonly Pick<Fix, "id" | "plan" | "mayFindNothing">[];
  /** Has another process plan them, where this one may not. */
  readonly openElsewhere?: ((checkId: string, signal: AbortSignal) => Promise<OpenFix>) | undefined;
  readonly clock: Pick<Clock, "sleep">;
}): Fixability {
  const { clock, openElsewhere } = ports;
  const fixes = new Map(ports.fixes.map((fix) => [fix.id, fix]));

  return async ({ checkId, fixId }, found, signal) => {
    const fix = fixes.get(fixId);
    if (fix?.mayFindNothing !== true) return true;
    const finds = async (during: AbortSignal): Promise<boolean> => {
      if (openElsewhere === undefined) return (await fix.plan(found, during)).steps.length > 0;
      const { plan, close } = await openElsewhere(checkId, during);
      await close();
      return plan !== undefined && plan.steps.length > 0;
    };
    return withinTime(clock, planTimeoutMs, signal, finds, () => true).catch(() => true);
  };
}

/** Limits on messages and details: a check that floods must not fill the memory or the history. */
const maxMessageChars = 1000;
const maxDetailsChars = 64 * 1024;
/** A check is not started again while so many of its runs hang, ignoring their signal. */
const maxLeftBehind = 3;

const failed = (message: string, error: string): Outcome => ({
  status: "fail",
  message: clipText(message, maxMessageChars),
  details: { error: clipText(error, maxMessageChars) },
  fixId: null,
});

/** Without those that no figure reaches. */
const reachable = (thresholds: NonNullable<Outcome["thresholds"]>): NonNullable<Outcome["thresholds"]> =>
  Object.fromEntries(
    Object.entries(thresholds).map(([name, limits]) => [
      name,
      Object.fromEntries(Object.entries(limits).filter(([, limit]) => Number.isFinite(limit))),
    ]),
  );

function boundOutcome({ status, message, details, thresholds, ...rest }: Outcome): Outcome {
  const size = JSON.stringify(details).length;
  return {
    ...rest,
    ...(thresholds !== undefined && { thresholds: reachable(thresholds) }),
    status,
    message: clipText(message, maxMessageChars),
    details: size > maxDetailsChars ? { omitted_chars: size } : details,
  };
}

/** Runs checks so that a throw, a timeout or a flood becomes an outcome. Never throws. */
function createContainedRun(clock: Pick<Clock, "sleep">, shutdown: AbortSignal) {
  const leftBehind = new Map<string, number>();

  return async (check: Check, settings: CheckSettings, timeoutMs: number, askedAtMs?: number): Promise<Outcome> => {
    const behind = leftBehind.get(check.id) ?? 0;
    if (behind >= maxLeftBehind) {
      return failed(`${behind} earlier runs of this check still hang, so it was not started`, "earlier runs hang");
    }
    const over = new AbortController();
    const ended = new AbortController();
    const run = async (): Promise<Outcome> =>
      boundOutcome((await check.absent?.()) ?? (await check.run(settings, over.signal, askedAtMs)));
    let isSettled = false;
    const settled = run()
      .catch((error: unknown) => failed(`The check itself failed: ${errorMessage(error)}`, errorMessage(error)))
      .finally(() => {
        isSettled = true;
      });
    const late = clock.sleep(timeoutMs, AbortSignal.any([ended.signal, shutdown])).then(() => undefined);
    const outcome = await Promise.race([settled, late]);
    ended.abort(isOver);
    over.abort(isOver);
    if (outcome !== undefined) return outcome;
    if (!isSettled) {
      leftBehind.set(check.id, behind + 1);
      void settled.then(() => leftBehind.set(check.id, (leftBehind.get(check.id) ?? 1) - 1));
    }
    const seconds = timeoutMs / 1000;
    return failed(`The check did not end within ${seconds} s`, `no answer after ${seconds} s`);
  };
}

export interface CheckFinding extends Outcome {
  readonly checkedAt: number;
  readonly durationMs: number;
  readonly fix: Pick<HealthCheckResult, "fixable" | "fix_id">;
}

const vetoed = ({ hook, reason }: Veto): Outcome => ({
  status: "skip",
  message: `held back by ${hook}: ${reason}`,
  details: { held_back_by: hook, reason },
});

/**
 * One run of a check: hooks, check, and whether its fix can do anything. Never throws.
 * @param ports.fixability without it every fix can.
 */
export function createCheckRun(
  ports: {
    readonly clock: Clock;
    readonly hooks?: Pick<Hooks, "names" | "ask">;
    readonly fixability?: Fixability;
  },
  shutdown: AbortSignal,
) {
  const { clock, hooks, fixability } = ports;
  const contained = createContainedRun(clock, shutdown);

  /** Undefined without hooks, which must not cost even a turn of the event loop. */
  const askHooks = ({ id, name, category, severity }: Check): Promise<Veto | undefined> | undefined =>
    hooks === undefined || hooks.names("pre_check").length === 0
      ? undefined
      : hooks.ask("pre_check", { check_id: id, name, category, severity });

  const fixFor = async (check: Check, found: Outcome): Promise<CheckFinding["fix"]> => {
    const fixId = fixIdOf(check, found);
    if (fixId === undefined) return { fixable: false };
    const fixable =
      isUnhealthy(found) &&
      (found.canFix ?? (await fixability?.({ checkId: check.id, fixId }, found, shutdown)) ?? true);
    return { fixable, fix_id: fixId };
  };

  return async (check: Check, settings: CheckSettings, timeoutMs: number, askedAtMs: number): Promise<CheckFinding> => {
    const asked = askHooks(check);
    const veto = asked && (await asked);
    const startedAtMs = clock.monotonicMs();
    const found = veto ? vetoed(veto) : await contained(check, settings, timeoutMs, askedAtMs);
    const checkedAt = clock.now();
    const durationMs = Math.round(clock.monotonicMs() - startedAtMs);
    return { ...found, checkedAt, durationMs, fix: await fixFor(check, found) };
  };
}

interface OncePorts {
  readonly checks: readonly Check[];
  readonly settings: CheckPlan;
  readonly clock: Pick<Clock, "sleep">;
}

function createRunOnce({ settings, clock }: Omit<OncePorts, "checks">, signal: AbortSignal) {
  const contained = createContainedRun(clock, signal);
  return (check: Check, previous?: PreviousGrades): Promise<Outcome> => {
    const { timeoutMs = check.timeoutMs ?? checkTimeoutMs } = settings.checks[check.id] ?? {};
    return contained(check, { ...settingsOf(check, settings), ...defined({ previous }) }, timeoutMs);
  };
}

const enabledOf = ({ checks, settings }: OncePorts): readonly Check[] =>
  checks.filter((check) => isSwitchedOn(check, settings));

/** @param previous what it said before, which decides near a threshold. */
export async function runCheckOnce(
  ports: OncePorts,
  id: string,
  signal: AbortSignal,
  previous?: PreviousGrades,
): Promise<Outcome | undefined> {
  const check = enabledOf(ports).find((each) => each.id === id);
  return check && createRunOnce(ports, signal)(check, previous);
}

export interface GuardedOutcome extends Pick<Outcome, "status" | "message"> {
  readonly guardedBy: GuardedBy;
}

/** Runs the enabled checks that guarded updates look at once, without history, and returns their outcomes by id. */
export function createGuardReport(
  ports: OncePorts,
): (signal: AbortSignal) => Promise<Readonly<Record<string, GuardedOutcome>>> {
  const inSlot = createSlots(maxConcurrentChecks);
  return async (signal) => {
    const run = createRunOnce(ports, signal);
    const outcomes = enabledOf(ports).map(async (check): Promise<readonly (readonly [string, GuardedOutcome])[]> => {
      const { id, guardedBy } = check;
      if (guardedBy === undefined) return [];
      const { status, message } = await inSlot(() => run(check));
      return [[id, { status, message, guardedBy }]];
    });
    return Object.fromEntries((await Promise.all(outcomes)).flat());
  };
}
