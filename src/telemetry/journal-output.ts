import { fstatSync } from "node:fs";
import type { LineWriter } from "./line-writer.ts";

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
export function withPriorities(writer: Pick<LineWriter, "write">): Pick<LineWriter, "write"> {
  const marked = {
    [wantsLevel]: true,
    lastLevel: 0,
    write(line: string) {
      writer.write(`${prefixes.get(marked.lastLevel) ?? ""}${line}`);
    },
  };
  return marked;
}
