import { fstatSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { isRecord } from "#kernel/values.ts";
import type { LineWriter } from "./line-writer.ts";
import type { LogOutput } from "./logger.ts";

/**
 * Whether a file descriptor is connected to the systemd journal: `JOURNAL_STREAM` has its device and inode (systemd.exec(5)). A process
 * may inherit the variable although its output goes elsewhere.
 */
export function isJournal(fd: number, environment: Readonly<Record<string, string | undefined>>): boolean {
  const stream = environment["JOURNAL_STREAM"];
  if (stream === undefined) return false;
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return stream === `${dev}:${ino}`;
}

/** Priorities (sd-daemon(3)) by log level. Without a prefix the journal assumes 6, info. */
const prefixes: ReadonlyMap<number, string> = new Map([
  [10, "<7>"],
  [20, "<7>"],
  [40, "<4>"],
  [50, "<3>"],
  [60, "<2>"],
]);

export const noticeMark = "<5>";

/** Makes pino set `lastLevel` before it writes each line. */
const wantsLevel = Symbol.for("pino.metadata");

/** Marks each line with its priority, which the journal removes. */
export function withPriorities(writer: Pick<LineWriter, "write">): LogOutput {
  const marked = {
    [wantsLevel]: true,
    lastLevel: 0,
    write(line: string, level?: number) {
      writer.write(`${prefixes.get(level ?? marked.lastLevel) ?? ""}${line}`);
    },
  };
  return marked;
}

/** What a terminal could act upon, or that would hide text: a log line holds texts of callers. */
const unprintable = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
const printable = (text: string): string => stripVTControlCharacters(text).replaceAll(unprintable, " ");

function valueText(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return /^[^\s"=]+$/.test(text) || typeof value !== "string" ? text : JSON.stringify(text);
}

/** A JSON line of the log as people read it: local time, level, message, and the further members. */
function lineForPeople(line: string): string {
  const entry: unknown = JSON.parse(line);
  if (!isRecord(entry)) return line;
  const { time, level, msg, ...members } = entry;
  const clock = new Date(String(time)).toTimeString().slice(0, "00:00:00".length);
  const facts = Object.entries(members).map(([name, value]) => `${name}=${valueText(value)}`);
  return `${printable([clock, String(level).padEnd("error".length), typeof msg === "string" ? msg : "", ...facts].join(" "))}\n`;
}

/** Writes log lines for people, where standard output is a terminal. */
export const forPeople = (writer: Pick<LineWriter, "write">): Pick<LineWriter, "write"> => ({
  write: (line) => writer.write(lineForPeople(line)),
});
