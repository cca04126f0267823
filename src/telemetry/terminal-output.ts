import { stripVTControlCharacters } from "node:util";
import { isRecord } from "#kernel/values.ts";
import type { LineWriter } from "./line-writer.ts";

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
