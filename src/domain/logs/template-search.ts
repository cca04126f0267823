import { logQueryLimit } from "#contract/limits.ts";
import type { LogList } from "#contract/logs.ts";
import { anyEntries, type Journal, type ListedEntries, type LiveEntry } from "#domain/ports/journal.ts";
import { readMoment } from "./window.ts";

/**
 * Leaves the entries of a template, as a query for it finds them.
 * @param among where it is one: among other files its id may be another.
 * @throws LogQueryRefused where there is no such template, also without entries.
 */
export type OfTemplate = (
  template: string,
  among: ListedEntries,
  entries: readonly LiveEntry[],
  signal: AbortSignal,
) => Promise<readonly LiveEntry[]>;

/** What names an entry in whichever file it is: one that was copied has another number there. */
const identityOf = (cursor: string): string => cursor.slice(cursor.indexOf(";b="));

/** Asks the journal, which knows the templates of its entries: new ones may make another of them. */
export function createTemplateSearch(journal: Pick<Journal, "query">): OfTemplate {
  return async (template, among, entries, signal) => {
    const times = entries.map(({ entry }) => readMoment(entry.timestamp) ?? 0);
    const [since, until] = [Math.min(...times), Math.max(...times)];
    const window = times.length === 0 ? { since: 1, until: 0 } : { since, until };
    const page = { ...anyEntries, ...window, ...among, template, isFromOldest: true, limit: logQueryLimit.maximum };
    const found = new Set<string>();
    for (let cursor: string | undefined; ; ) {
      const { bytes } = await journal.query({ ...page, cursor }, signal);
      const { logs, total, next_cursor: next } = JSON.parse(new TextDecoder().decode(bytes)) as LogList;
      for (const entry of logs) found.add(identityOf(entry.cursor));
      if (logs.length === 0 || found.size >= total || next === null) break;
      cursor = next;
    }
    return entries.filter(({ entry }) => found.has(identityOf(entry.cursor)));
  };
}
