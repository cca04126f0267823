import { type LogEntry, priorityNames } from "#contract/logs.ts";
import { jsonText, oneLine, severalLines } from "./output.ts";
import { paint, type Screen, type Style } from "./screen.ts";

export const logOutputs = ["short", "short-iso", "cat", "json"] as const;
export type LogOutput = (typeof logOutputs)[number];

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const two = (value: number): string => String(value).padStart(2, "0");

const timeOf = (date: Date): string => `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;

/** `Jan 31 14:00:00`, local time. */
const shortTime = (date: Date): string => `${months[date.getMonth()]} ${two(date.getDate())} ${timeOf(date)}`;

/** `2026-01-31T14:00:00+0100`, local time. */
function isoTime(date: Date): string {
  const offset = -date.getTimezoneOffset();
  const zone = `${offset < 0 ? "-" : "+"}${two(Math.floor(Math.abs(offset) / 60))}${two(Math.abs(offset) % 60)}`;
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${timeOf(date)}${zone}`;
}

const err = priorityNames.indexOf("err");
const warning = priorityNames.indexOf("warning");
const notice = priorityNames.indexOf("notice");
const debug = priorityNames.indexOf("debug");

/** The style of an entry by its priority. */
export function logStyle({ priority }: Pick<LogEntry, "priority">): Style | undefined {
  if (priority <= err) return "red";
  if (priority === warning) return "yellow";
  if (priority === notice) return "bold";
  return priority === debug ? "dim" : undefined;
}

export function formatEntry(entry: LogEntry, output: LogOutput, screen: Screen): string {
  if (output === "json") return jsonText(entry);
  const style = logStyle(entry);
  const lines = severalLines(entry.message).replace(/\n+$/, "").split("\n");
  if (entry.truncated) lines.push(`… (cut; the whole: steward logs --entry '${entry.cursor}')`);
  if (output === "cat") return lines.map((line) => `${paint(screen, style, line)}\n`).join("");
  const date = new Date(entry.timestamp);
  const who = oneLine(entry.identifier || entry.unit || "unknown") + (entry.pid === null ? "" : `[${entry.pid}]`);
  const head = `${output === "short" ? shortTime(date) : isoTime(date)} ${oneLine(entry.hostname)} ${who}: `;
  // Further lines are indented, as journalctl does.
  const indent = " ".repeat(head.length);
  return lines.map((line, at) => `${at === 0 ? head : indent}${paint(screen, style, line)}\n`).join("");
}
