import type { Clock } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import type { Check, CheckSettings, Outcome } from "./check.ts";

/** What is kept of a message and of details: a check that floods must not fill the memory or the history. */
const maxMessageChars = 1000;
const maxDetailsChars = 64 * 1024;
/** Runs of one check that may be left behind, deaf to their signal, before it is not started again until one ends. */
const maxLeftBehind = 3;

const cut = (text: string): string => (text.length > maxMessageChars ? `${text.slice(0, maxMessageChars - 1)}…` : text);

/** Nothing was found, so there is nothing that a fix could mend. */
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
