import type { ClockOffsets } from "#domain/ports/clock-offsets.ts";
import { type Check, skip, thresholdsFor } from "../check.ts";
import { createGrader } from "../hysteresis.ts";

const milliseconds = (value: number): number => Number(value.toFixed(3));

const none = skip("No program sets this clock by NTP, or it has no source yet");

/**
 * How far the clock is from the time of its source, in milliseconds, as chrony, systemd-timesyncd or ntpd says: by default 100 warns,
 * 1000 fails. Whether there is a source at all is in `time_sync`.
 */
export const clockOffsetCheck = (ports: { clockOffsets: ClockOffsets }): Check => ({
  id: "clock_offset",
  name: "Offset of the clock",
  category: "system",
  severity: "medium",
  intervalMs: 15 * 60_000,
  absent: async () => ((await ports.clockOffsets.canRead()) ? undefined : none),
  async run(settings, signal) {
    const found = await ports.clockOffsets.read(signal);
    if (found === undefined) return none;
    const { program, server, stratum } = found;
    const offsetMs = milliseconds(found.offsetMs);
    const grader = createGrader(settings);
    const status = grader.grade(Math.abs(offsetMs), thresholdsFor({ warn: 100, fail: 1000 }, settings));
    const side = offsetMs > 0 ? "behind" : "ahead of";
    const remedy = status === "pass" ? "" : ` (look at ${program} and its source)`;
    return grader.finish({
      status,
      message: `The clock is ${Math.abs(offsetMs)} ms ${side} ${server === "" ? "its source" : server}${remedy}`,
      details: { offset_ms: offsetMs, program, server, stratum },
    });
  },
});
