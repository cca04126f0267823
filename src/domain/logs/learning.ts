import { type JournalMemory, JournalUnavailable } from "#domain/ports/journal.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";

/** After the start, which has work enough of its own. */
const firstMs = 60_000;
/** How often what was written meanwhile is looked through. */
const intervalMs = 5 * 60_000;
/** After each turn, which takes a tenth of that: a first time goes through the whole journal. */
const pauseMs = 1_000;

/** Has the journal remember templates, in the background. @returns its end. */
export function keepLearning({
  journal,
  clock,
  onTrouble,
}: {
  readonly journal: Pick<JournalMemory, "learnTemplates">;
  readonly clock: Pick<Clock, "every" | "sleep">;
  readonly onTrouble: (error: unknown) => void;
}): Dispose {
  const ended = new AbortController();
  const { signal } = ended;
  let isAtWork = false;
  const learn = async (): Promise<void> => {
    if (isAtWork || signal.aborted) return;
    isAtWork = true;
    try {
      while (!signal.aborted && !(await journal.learnTemplates(signal))) await clock.sleep(pauseMs, signal);
    } catch (error) {
      // Callers who ask for entries report that the journal cannot be read.
      if (!signal.aborted && !(error instanceof JournalUnavailable)) onTrouble(error);
    }
    isAtWork = false;
  };
  void clock.sleep(firstMs, signal).then(learn);
  const stop = clock.every(intervalMs, () => void learn());
  return () => {
    ended.abort();
    stop();
  };
}
