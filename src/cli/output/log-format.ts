import { isoTime, shortTime } from "#adapters/journal-format/text.ts";
import { type LogEntry, priorityNames } from "#contract/log-entry.ts";
import type { NotShown } from "#contract/schema.ts";
import { oneLine, severalLines } from "./output.ts";
import { printNotShown } from "./print.ts";
import { paint, type Screen, type Style } from "./screen.ts";

/** The formats in which entries are shown at a terminal; the others are written as in a pipe. */
export type LogOutput = "short" | "short-iso" | "cat";

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

/** Says that no entry of the journal was found, and where there is no journal that could have any. */
export function printNoEntries(write: (text: string) => void, missing?: NotShown): void {
  write("-- No entries --\n");
  printNotShown(write, missing);
}
