import { fstatSync } from "node:fs";
import type { LineWriter } from "./line-writer.ts";

/**
 * Whether what is written to a file descriptor goes to the systemd journal: it says which stream it has connected, by device and
 * inode (systemd.exec(5), `JOURNAL_STREAM`). Inherited by a process whose output goes elsewhere, the variable alone says nothing.
 */
export function isJournal(fd: number, environment: Readonly<Record<string, string | undefined>>): boolean {
  const stream = environment["JOURNAL_STREAM"];
  if (stream === undefined) return false;
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return stream === `${dev}:${ino}`;
}

/** Levels of log lines as numbers, and what marks them for the journal (sd-daemon(3)). It takes what bears no mark for 6, info. */
const marks: ReadonlyMap<number, string> = new Map([
  [10, "<7>"],
  [20, "<7>"],
  [40, "<4>"],
  [50, "<3>"],
  [60, "<2>"],
]);

/** Of a line that passes where only what is of importance is wanted, and that is no warning. */
export const noticeMark = "<5>";

/** Has a logger leave the level of each line at `lastLevel` before it writes the line. */
const wantsLevel = Symbol.for("pino.metadata");

/** Marks each line with its priority, which the journal takes off again. */
export function withPriorities(writer: Pick<LineWriter, "write">): Pick<LineWriter, "write"> {
  const marked = {
    [wantsLevel]: true,
    lastLevel: 0,
    write(line: string) {
      writer.write(`${marks.get(marked.lastLevel) ?? ""}${line}`);
    },
  };
  return marked;
}
