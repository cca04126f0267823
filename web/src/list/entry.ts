import type { Answer } from "../api/call.ts";

/** An entry of the journal. */
export type Entry = Answer<"listLogs">["logs"][number];

/** The colours of severities: those that are counted together. */
export const tones = ["error", "warn", "info", "debug"] as const;
export type EntryTone = (typeof tones)[number];

/** Of each severity, from 0 on. */
const toneOf: readonly EntryTone[] = ["error", "error", "error", "error", "warn", "info", "info", "debug"];
export const entryTone = (priority: number): EntryTone => toneOf[priority] ?? "info";

const two = (value: number): string => String(value).padStart(2, "0");

/** Day and time of a time in this browser's zone: `11-28` and `12:06:40.236`. */
export function dayAndTime(timestamp: string): readonly [string, string] {
  const at = new Date(timestamp);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return [`${two(at.getMonth() + 1)}-${two(at.getDate())}`, `${time}.${String(at.getMilliseconds()).padStart(3, "0")}`];
}

/** No list shows more of a message: the whole one is asked for where somebody looks at its entry. */
const longestMessage = 2048;

/** An entry as a list keeps it. */
export function kept(entry: Entry): Entry {
  if (entry.message.length <= longestMessage) return entry;
  // A slice would hold on to the whole message.
  const message: string = JSON.parse(JSON.stringify(entry.message.slice(0, longestMessage)));
  return { ...entry, message, truncated: true };
}
