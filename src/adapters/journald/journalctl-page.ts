import type { LogEntry } from "#contract/logs.ts";
import { type LogQuery, LogQueryRefused } from "#domain/ports/journal.ts";
import { maxAnswerBytes } from "./query.ts";

export interface Page {
  readonly add: (entry: LogEntry) => void;
  /**
   * @param total entries that match, those that the cursor left out included.
   * @returns the JSON of a LogList.
   * @throws LogQueryRefused when it would be too big.
   */
  readonly write: (total: number) => Buffer;
}

interface Kept {
  readonly text: string;
  readonly cursor: string;
}

const tooBig = (): LogQueryRefused =>
  new LogQueryRefused("limit", `The answer would be over ${maxAnswerBytes / 2 ** 20} MiB: ask for fewer entries`);

export function createPage({ limit, order, cursor }: Pick<LogQuery, "limit" | "order" | "cursor">): Page {
  const keepsFirst = order === "asc" && cursor !== undefined;
  let kept: Kept[] = [];
  let from = 0;
  let size = 0;
  let seen = 0;
  /** Position of the last entry that was let go because the page grew too big, not because it had come to be too old. */
  let lost = 0;

  const dropOldest = (): void => {
    size -= kept[from]?.text.length ?? 0;
    from += 1;
    if (from < limit) return;
    kept = kept.slice(from);
    from = 0;
  };

  return {
    add(entry) {
      seen += 1;
      if (keepsFirst && kept.length === limit) return;
      const text = JSON.stringify(entry);
      kept.push({ text, cursor: entry.cursor });
      size += text.length;
      if (keepsFirst) {
        if (size > maxAnswerBytes) throw tooBig();
        return;
      }
      if (kept.length - from > limit) dropOldest();
      while (size > maxAnswerBytes) {
        dropOldest();
        lost = seen - (kept.length - from);
      }
    },
    write(total) {
      // Later entries may have pushed out of the page what did not fit into it; if not, it is missing.
      if (lost > Math.max(0, seen - limit)) throw tooBig();
      const shown = kept.slice(from);
      if (order === "desc") shown.reverse();
      const last = shown.at(-1)?.cursor;
      const hasOlder = seen > shown.length;
      const next = order === "asc" ? (last ?? cursor ?? null) : hasOlder ? (last ?? null) : null;
      const logs = shown.map(({ text }) => text).join(",");
      return Buffer.from(`{"logs":[${logs}],"total":${total},"next_cursor":${JSON.stringify(next)}}`);
    },
  };
}
