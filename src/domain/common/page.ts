import type { UnreadFiles } from "#contract/log-entry.ts";
import type { NotShown } from "#contract/schema.ts";
import { listNames } from "#kernel/text.ts";
import { invalid } from "./error.ts";

/** What every list says of itself beside its members. */
export interface ListShape {
  readonly total: number;
  readonly limit: number | null;
  readonly next_cursor: string | null;
}

const cursorShape = /^(\d{1,9})\.(.+)$/s;

/** Place and key of the last member of the page before. */
function parseCursor(cursor: string): { readonly at: number; readonly key: string } {
  const [, at, key] = cursorShape.exec(cursor) ?? [];
  if (at === undefined || key === undefined) throw invalid("cursor", "Must be the `next_cursor` of a page");
  return { at: Number(at), key };
}

/** How many members of a list a page and those before it take. @throws DomainError for a text that is not a cursor. */
export const membersUpTo = ({
  limit,
  cursor,
}: {
  readonly limit: number;
  readonly cursor?: string | undefined;
}): number => (cursor === undefined ? 0 : parseCursor(cursor).at + 1) + limit;

/** Where a page begins: behind the last member of the one before, also where the list has changed since. */
export function pageStart<T>(all: readonly T[], cursor: string | undefined, keyOf: (item: T) => string): number {
  if (cursor === undefined) return 0;
  const { at, key } = parseCursor(cursor);
  const there = all[at];
  const found = there !== undefined && keyOf(there) === key ? at : all.findIndex((item) => keyOf(item) === key);
  return found < 0 ? at : found + 1;
}

/** Leads behind the member at this place. */
export const cursorBehind = (at: number, key: string): string => `${at}.${key}`;

/**
 * A page of a list. The next one begins behind the same member also where the list has changed, and where that member is gone at its
 * place. @param total of the list, where `all` is only its start.
 * @throws DomainError for a text that is not a cursor.
 */
export function pageOf<T>(
  all: readonly T[],
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
  keyOf: (item: T) => string,
  total = all.length,
): { readonly items: readonly T[]; readonly shape: ListShape } {
  const start = pageStart(all, cursor, keyOf);
  const items = all.slice(start, start + limit);
  const last = items.at(-1);
  const end = start + items.length;
  const next = last === undefined || end >= total ? null : cursorBehind(end - 1, keyOf(last));
  return { items, shape: { total, limit, next_cursor: next } };
}

/** The shape of a list that is always answered as a whole. */
export const wholeList = (total: number): ListShape => ({ total, limit: null, next_cursor: null });

/** The member of an answer that lacks something; none where nothing is lacking. */
export const notShown = (what: string, reason: string | undefined): { not_shown?: NotShown } =>
  reason === undefined ? {} : { not_shown: [{ what, reason }] };

/** Names journal files that could not be read, with the reasons. */
export const unreadNames = (unread: UnreadFiles, most?: number): string =>
  listNames(
    unread.map(({ file, reason }) => `${file} (${reason})`),
    most,
  );

/** What is said of something that was read from the journal without the entries of such files; nothing where there are none. */
export const notRead = (what: string, unread: UnreadFiles = []): NotShown =>
  unread.length === 0 ? [] : [{ what, reason: `entries may be missing: cannot read ${unreadNames(unread)}` }];
