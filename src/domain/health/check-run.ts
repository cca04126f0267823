import type { HealthCheckResult } from "#contract/checks.ts";
import type { Hooks, Veto } from "#domain/common/hooks.ts";
import type { Clock } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import type { Check, CheckSettings, Outcome } from "./check.ts";
import type { Fixability } from "./fixability.ts";

/** What is kept of a message and of details: a check that floods must not fill the memory or the history. */
const maxMessageChars = 1000;
const maxDetailsChars = 64 * 1024;
/** Runs of one check that may be left behind, deaf to their signal, before it is not started again until one ends. */
const maxLeftBehind = 3;

const cut = (text: string): string => (text.length > maxMessageChars ? `${text.slice(0, maxMessageChars - 1)}…` : text);

/** Nothing was found, so there is nothing to fix. */
const failed = (message: string, error: string): Outcome => ({
  status: "fail",
  message: cut(message),
  details: { error: cut(error) },
  fixId: null,
});

/** @throws Error for details that cannot be written as JSON. */
function bounded({ status, message, details, ...rest }: Outcome): Outcome {
  const size = JSON.stringify(details).length;
  return {
    ...rest,
    status,
    message: cut(message),
    details: size > maxDetailsChars ? { omitted_chars: size } : details,
  };
}

/**
 * Runs checks so that whatever one does stays with it: a throw, silence past the time limit, and a flood are outcomes.
 * Never throws itself.
 */
export function createContainedRun(clock: Pick<Clock, "sleep">, shutdown: AbortSignal) {
  const leftBehind = new Map<string, number>();

  return async (check: Check, settings: CheckSettings, timeoutMs: number): Promise<Outcome> => {
    const behind = leftBehind.get(check.id) ?? 0;
    if (behind >= maxLeftBehind) {
      return failed(`${behind} earlier runs of this check still hang, so it was not started`, "earlier runs hang");
    }
    const over = new AbortController();
    const ended = new AbortController();
    const run = async (): Promise<Outcome> => bounded(await check.run(settings, over.signal));
    let isSettled = false;
    const running = run().catch((error: unknown) => {
      const reason = errorMessage(error);
      return failed(`The check itself failed: ${reason}`, reason);
    });
    const settled = running.then((outcome) => {
      isSettled = true;
      return outcome;
    });
    const late = clock.sleep(timeoutMs, AbortSignal.any([ended.signal, shutdown])).then(() => undefined);
    const outcome = await Promise.race([settled, late]);
    ended.abort();
    over.abort();
    if (outcome !== undefined) return outcome;
    if (!isSettled) {
      leftBehind.set(check.id, behind + 1);
      void settled.then(() => leftBehind.set(check.id, (leftBehind.get(check.id) ?? 1) - 1));
    }
    const seconds = timeoutMs / 1000;
    return failed(`The check did not end within ${seconds} s`, `no answer after ${seconds} s`);
  };
}

/** What one run of a check gave. */
export interface CheckFinding extends Outcome {
  /** Epoch milliseconds. */
  readonly checkedAt: number;
  readonly durationMs: number;
  /** The fix for what was found, and whether it can do anything about it. */
  readonly fix: Pick<HealthCheckResult, "fixable" | "fix_id">;
}

const vetoed = ({ hook, reason }: Veto): Outcome => ({
  status: "skip",
  message: `held back by ${hook}: ${reason}`,
  details: { held_back_by: hook, reason },
});

/**
 * One run of a check from the question to the hooks to the fix of what it found. Never throws.
 * @param ports.hooks may hold runs back.
 * @param ports.fixability says whether a fix can do anything about what was found; without it every fix can.
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

  /** Undefined without hooks: that must cost nothing, not even a turn of the event loop. */
  const askHooks = ({ id, name, category, severity }: Check): Promise<Veto | undefined> | undefined =>
    hooks === undefined || hooks.names("pre_check").length === 0
      ? undefined
      : hooks.ask("pre_check", { check_id: id, name, category, severity });

  const fixFor = async ({ fixes: [usual] = [] }: Check, found: Outcome): Promise<CheckFinding["fix"]> => {
    const fixId = (found.fixId === undefined ? usual : found.fixId) ?? undefined;
    if (fixId === undefined) return { fixable: false };
    const isUnhealthy = found.status === "warn" || found.status === "fail";
    const canFix = isUnhealthy && (fixability === undefined || (await fixability(fixId, found, shutdown)));
    return { fixable: canFix, fix_id: fixId };
  };

  return async (check: Check, settings: CheckSettings, timeoutMs: number): Promise<CheckFinding> => {
    const asked = askHooks(check);
    const veto = asked && (await asked);
    const startedAtMs = clock.monotonicMs();
    const found = veto ? vetoed(veto) : await contained(check, settings, timeoutMs);
    const checkedAt = clock.now();
    const durationMs = Math.round(clock.monotonicMs() - startedAtMs);
    return { ...found, checkedAt, durationMs, fix: await fixFor(check, found) };
  };
}
