import { Cron } from "croner";
import type { Calendar } from "#kernel/clock.ts";

/**
 * The times of a cron expression of five fields. A time that the change to summer time skips comes right after the gap; one
 * that the change back has twice comes once.
 * @param timezone of the host unless given. @throws Error when either cannot be read.
 */
export function createCalendar({ cron, timezone }: { readonly cron: string; readonly timezone?: string }): Calendar {
  const pattern = new Cron(cron, { mode: "5-part", paused: true, ...(timezone !== undefined && { timezone }) });
  return {
    // Croner's times before a reference leave out the reference itself.
    latest: (at) => pattern.previousRuns(1, new Date(at + 1))[0]?.getTime(),
    next: (at) => pattern.nextRun(new Date(at))?.getTime(),
  };
}
