import type { ClockOffsets } from "#domain/ports/host.ts";
import { type Clock, toTimestamp } from "#kernel/clock.ts";
import { type Check, skip, thresholdsFor } from "../check.ts";
import { createGrader, inUnit } from "../grading.ts";

const minuteMs = 60_000;

/** With three decimals, and without -0. */
const milliseconds = (value: number): number => Number(value.toFixed(3)) + 0;

function distance(offsetMs: number, source: string): string {
  if (offsetMs === 0) return `The clock agrees with ${source}`;
  return `The clock is ${Math.abs(offsetMs)} ms ${offsetMs > 0 ? "behind" : "ahead of"} ${source}`;
}

const none = skip("No program sets this clock by NTP, or it has no source yet");

/**
 * How far the clock is from the time of its source, in milliseconds, as chrony, systemd-timesyncd or ntpd says: by default 100 warns,
 * 1000 fails. A last answer that is more than a minute in the future warns as well: the clock was set back since. Whether there is a
 * source at all is in `time_sync`.
 */
export const clockOffsetCheck = (ports: { clockOffsets: ClockOffsets; clock: Pick<Clock, "now"> }): Check => ({
  id: "clock_offset",
  name: "Offset of the clock",
  category: "system",
  severity: "medium",
  intervalMs: 15 * 60_000,
  absent: async () => ((await ports.clockOffsets.canRead()) ? undefined : none),
  async run(settings, signal) {
    const found = await ports.clockOffsets.read(signal);
    if (found === undefined) return none;
    const { program, server, stratum, answeredAt } = found;
    const offsetMs = milliseconds(found.offsetMs);
    const source = server === "" ? "its source" : server;
    const details = {
      offset_ms: offsetMs,
      program,
      server,
      stratum,
      last_answer_at: answeredAt === undefined ? null : toTimestamp(answeredAt),
    };
    const grader = createGrader(settings, inUnit("ms"));
    const limits = thresholdsFor({ warn: 100, fail: 1000 }, settings);
    const side = offsetMs < 0 ? -1 : 1;
    const figures = { details, thresholds: { offset_ms: { warn: side * limits.warn, fail: side * limits.fail } } };
    const status = grader.grade(Math.abs(offsetMs), limits);
    const setBackMs = answeredAt === undefined ? 0 : answeredAt - ports.clock.now();
    // What was behind is further behind since, and what was ahead may be right.
    const isCertain = status === "fail" && offsetMs > 0;
    if (setBackMs > minuteMs && !isCertain) {
      const message = `The clock was set back after the last answer of ${source}, which is now ${Math.round(setBackMs / minuteMs)} min in the future: the offset is unknown (look at ${program} and its source)`;
      return { status: "warn", message, ...figures, graded: {} };
    }
    const remedy = status === "pass" ? "" : ` (look at ${program} and its source)`;
    return grader.finish({ status, message: `${distance(offsetMs, source)}${remedy}`, ...figures });
  },
});
