import { toTimestamp } from "#kernel/clock.ts";
import { ask, type Surrounding } from "./reads.ts";

const most = { series: 6 } as const;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** Times before now, and how much earlier a figure may be from. */
const looks = [
  { ago: "10 min", ms: 10 * minuteMs, withinMs: 5 * minuteMs },
  { ago: "1 h", ms: hourMs, withinMs: 10 * minuteMs },
  { ago: "6 h", ms: 6 * hourMs, withinMs: 20 * minuteMs },
  { ago: "1 d", ms: 24 * hourMs, withinMs: hourMs },
  { ago: "7 d", ms: 7 * 24 * hourMs, withinMs: 2 * hourMs },
] as const;

/** Whether it came slowly or at once: the figures of the check, such as the use of the fullest file system, at some earlier times. */
export const figuresBefore: Surrounding = {
  title: "Figures of the check at earlier times",
  scope: "health:read",
  // What is asked about a unit alone is no check.
  concerns: ({ check_id: check }) => check !== "",
  async read(reads, { check_id: check, checked_at: now }, context) {
    const found = new Map<string, string[]>();
    for (const { ago, ms, withinMs } of looks) {
      const until = Date.parse(now) - ms;
      const query = { check, since: toTimestamp(until - withinMs), until: toTimestamp(until) };
      const { series } = await ask(reads, "getCheckMetrics", query, context);
      for (const each of series) {
        const value = each.points.at(-1)?.value;
        if (value === undefined) continue;
        const values = found.get(each.name) ?? [];
        values.push(`${Math.round(value * 100) / 100}${each.unit} ${ago} ago`);
        found.set(each.name, values);
      }
    }
    return { lines: [...found].slice(0, most.series).map(([name, values]) => `${name}: ${values.join(", ")}`) };
  },
};
