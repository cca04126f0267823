import type { LogEntry } from "#contract/log-entry.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import { beginsAtOldest, maxAnswerBytes } from "./query.ts";

export interface Page {
  readonly add: (entry: LogEntry) => void;
  /**
   * @param total entries that match, those that the cursor left out included.
   * @returns the JSON of a LogList, of fewer entries where all of them would be too large.
   */
  readonly write: (total: number) => Buffer;
}

interface Kept {
  readonly text: string;
  readonly cursor: string;
}

export function createPage(query: Pick<LogQuery, "limit" | "order" | "cursor" | "isFromOldest">): Page {
  const { limit, order, cursor } = query;
  const keepsFirst = beginsAtOldest(query);
  let kept: Kept[] = [];
  let from = 0;
  let size = 0;
  let seen = 0;
  let isFull = false;

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
      if (isFull) return;
      const text = JSON.stringify(entry);
      isFull = keepsFirst && (kept.length + 1 === limit || size + text.length > maxAnswerBytes);
      if (isFull && size + text.length > maxAnswerBytes) return;
      kept.push({ text, cursor: entry.cursor });
      size += text.length;
      while (kept.length - from > limit || size > maxAnswerBytes) dropOldest();
    },
    write(total) {
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
