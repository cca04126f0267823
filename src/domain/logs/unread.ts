import { maxUnreadFiles } from "#contract/limits.ts";
import type { UnreadFiles } from "#contract/log-entry.ts";
import { unreadNames } from "#domain/common/page.ts";
import type { Lacking, ListedEntries, UnreadFile } from "#domain/ports/journal.ts";
import { isInNamespace } from "./namespace.ts";

/** Names the files of which an answer about these entries may lack some. */
export function unreadOf(files: readonly UnreadFile[], { units, namespace: wanted }: ListedEntries): UnreadFiles {
  const named = files
    .filter(({ namespace }) => namespace === undefined || isInNamespace(wanted, namespace))
    .map(({ path, name, reason }) => ({ file: units === undefined ? path : name, reason }));
  if (named.length <= maxUnreadFiles) return named;
  const shown = named.slice(0, maxUnreadFiles - 1);
  const rest = { file: `${named.length - shown.length} more`, reason: "the log of the service names each of them" };
  return [...shown, rest];
}

/** The member of an answer that names such files; none where there are none. */
export const namesUnread = ({ unread }: Lacking): Partial<Lacking> => (unread.length === 0 ? {} : { unread });

/** The end of a sentence about what was not found; empty where all could be read. */
export const orUnread = ({ unread }: Lacking, subject = "it is"): string =>
  unread.length === 0 ? "" : `, or ${subject} in a file that cannot be read: ${unreadNames(unread)}`;
