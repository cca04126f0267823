import { basename } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { LogList } from "#contract/logs.ts";

const brief = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 600 ? `${text.slice(0, 300)}…${text.slice(-300)}` : text;
};

/** Files of corpora that are no journals: journalctl leaves them out. */
export const oddName = /^(short|nothing|text|directory)\.journal$/;

/** The first difference between two answers in words, the messages of a journal being too long for a diff; undefined where there is none. */
export function firstDifference(answer: LogList, expected: LogList): string | undefined {
  // journalctl does not say that there is no journal.
  const { not_shown: missing, unread = [], ...actual } = answer;
  const lost = unread.filter(({ file }) => !oddName.test(basename(file)));
  if (lost.length > 0) return `not read: ${JSON.stringify(lost)}`;
  if (missing !== undefined && expected.total > 0)
    return `not shown: ${missing.map(({ reason }) => reason).join("; ")}`;
  if (isDeepStrictEqual(actual, expected)) return undefined;
  const at = expected.logs.findIndex((entry, position) => !isDeepStrictEqual(entry, actual.logs[position]));
  return [
    `total ${actual.total}, expected ${expected.total}`,
    `next_cursor ${actual.next_cursor}, expected ${expected.next_cursor}`,
    `${actual.logs.length} entries, expected ${expected.logs.length}`,
    ...(at === -1 ? [] : [`entry ${at} is ${brief(actual.logs[at])}, expected ${brief(expected.logs[at])}`]),
  ].join("\n");
}
