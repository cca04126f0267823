import { logQueryLimit } from "#contract/limits.ts";
import type { LogList } from "#contract/logs.ts";
import {
  anyEntries,
  type Grep,
  type Journal,
  type ListedEntries,
  type LiveEntry,
  type MessageSearch,
} from "#domain/ports/journal.ts";
import { type LogFilter, type SearchedField, type Sight, searchedFields, templatesAmong } from "./stream-filter.ts";
import { readTimestamp } from "./window.ts";

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
    const times = entries.map(({ entry }) => readTimestamp(entry.timestamp) ?? 0);
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

/** Indexes of the messages that match; empty when the result is no longer wanted. */
type Find = (
  owner: string,
  pattern: string,
  messages: readonly string[],
  isWanted: () => boolean,
) => Promise<ReadonlySet<number>>;

const none: ReadonlySet<number> = new Set();

/** Characters that are searched in one pass, by all searches together. */
const maxCharacters = 16 * 1024 * 1024;

interface Wanted extends MessageSearch {
  readonly isWanted: () => boolean;
  readonly resolve: (positions: ReadonlySet<number>) => void;
  readonly reject: (error: unknown) => void;
}

const charactersOf = (messages: readonly string[]): number => messages.reduce((sum, { length }) => sum + length, 0);

/**
 * Collects what is wanted at one time, of each key in turn, and searches for it in one pass. A search that nobody waits for
 * any more is skipped.
 */
function createFind(grep: Grep): Find {
  /** In the order of their turns. */
  const owners = new Map<string, Wanted[]>();
  let isRunning = false;

  const take = (): readonly Wanted[] => {
    const taken: Wanted[] = [];
    let characters = 0;
    for (const [owner, wanted] of owners) {
      owners.delete(owner);
      const search = wanted.shift();
      // To the end of the turns.
      if (wanted.length > 0) owners.set(owner, wanted);
      if (search?.isWanted() === false) search.resolve(none);
      else if (search !== undefined) {
        taken.push(search);
        characters += charactersOf(search.messages);
        if (characters >= maxCharacters) break;
      }
    }
    return taken;
  };

  const pass = async (taken: readonly Wanted[]): Promise<void> => {
    try {
      const found = await grep.matching(taken.map(({ pattern, messages }) => ({ pattern, messages })));
      for (const [at, { resolve, reject }] of taken.entries()) {
        const positions = found[at] ?? none;
        if (positions instanceof Error) reject(positions);
        else resolve(positions);
      }
    } catch (error) {
      for (const { reject } of taken) reject(error);
    }
  };

  const run = async (): Promise<void> => {
    isRunning = true;
    // What the other groups want of the same batch comes along.
    await Promise.resolve();
    for (let taken = take(); taken.length > 0; taken = take()) await pass(taken);
    isRunning = false;
  };

  return (owner, pattern, messages, isWanted) =>
    new Promise((resolve, reject) => {
      const wanted = owners.get(owner) ?? [];
      wanted.push({ pattern, messages, isWanted, resolve, reject });
      owners.set(owner, wanted);
      if (!isRunning) void run();
    });
}

/** The searches of streams. */
export interface Searches {
  readonly find: Find;
  readonly ofTemplate: OfTemplate;
}

export const createSearches = (ports: { readonly grep: Grep; readonly journal: Pick<Journal, "query"> }): Searches => ({
  find: createFind(ports.grep),
  ofTemplate: createTemplateSearch(ports.journal),
});

/** A search of a stream that cannot be done; `cause` says why. */
export class SearchFailed extends Error {
  override readonly name = "SearchFailed";
  readonly field: SearchedField;

  constructor(field: SearchedField, cause: unknown) {
    super(`cannot search for ${field}`, { cause });
    this.field = field;
  }
}

interface Searching {
  readonly owner: string;
  readonly visible: Sight["units"];
  readonly isWanted: () => boolean;
  readonly signal: AbortSignal;
}

/**
 * Leaves the entries that pass what of a filter takes a search.
 * @param messages those of the entries, where searches share them.
 * @throws SearchFailed
 */
export async function search(
  { find, ofTemplate }: Searches,
  filter: LogFilter,
  { owner, visible, isWanted, signal }: Searching,
  { entries, messages }: { readonly entries: readonly LiveEntry[]; readonly messages?: readonly string[] },
): Promise<readonly LiveEntry[]> {
  let left = entries;
  for (const field of searchedFields) {
    const wanted = filter[field];
    if (wanted === undefined || left.length === 0) continue;
    try {
      if (field === "template") left = await ofTemplate(wanted, templatesAmong(filter, visible), left, signal);
      else {
        const texts = left === entries && messages ? messages : left.map(({ entry }) => entry.message);
        const hits = await find(owner, wanted, texts, isWanted);
        left = left.filter((_, at) => hits.has(at));
      }
    } catch (error) {
      throw new SearchFailed(field, error);
    }
  }
  return left;
}
