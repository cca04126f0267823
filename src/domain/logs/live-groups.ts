import type { UnreadFiles } from "#contract/log-entry.ts";
import type { StreamSession } from "#contract/streams.ts";
import type { LiveEntry } from "#domain/ports/journal.ts";
import type { LiveFeed } from "./live-feed.ts";
import { type Searches, SearchFailed, search } from "./live-search.ts";
import { createLogMatcher, type LogFilter, type Sight, takesSearch } from "./stream-filter.ts";

export type EncodeFrame = (json: string) => Uint8Array;

/** Entries of one batch; each is encoded at most once for all clients. */
export interface Batch {
  readonly entries: readonly LiveEntry[];
  /** Of all entries; one array for all searches. */
  readonly messages: readonly string[];
  readonly frame: (at: number) => Uint8Array;
}

export function createBatch(entries: readonly LiveEntry[], encode: EncodeFrame): Batch {
  const frames: (Uint8Array | undefined)[] = [];
  return {
    entries,
    messages: entries.map(({ entry }) => entry.message),
    frame(at) {
      const made = frames[at] ?? encode(JSON.stringify(entries[at]?.entry));
      frames[at] = made;
      return made;
    },
  };
}

/** A client: a member of a group that gets live entries, or one that catches up with its own follower. */
export interface Client {
  readonly session: StreamSession;
  readonly owner: string;
  readonly sight: Sight;
  filter: LogFilter;
  /** Whose feed it holds. */
  lane: Lane | undefined;
  group: LiveGroup | undefined;
  catchingUp: AbortController | undefined;
  /** Its position while it catches up and nothing is being sent to it. */
  restsAt: string | undefined;
  /** The files that were reported to it as unread. */
  unread: UnreadFiles;
}

/** Clients with the same filter and rights: their frames are selected and joined once. */
export interface LiveGroup {
  readonly members: Set<Client>;
  /** Ends when the batch was sent to the members. */
  readonly deliver: (batch: Batch) => Promise<void>;
  /** Entries that have not been sent to the members yet. */
  readonly backlog: () => readonly LiveEntry[];
}

/** A feed, and whom it serves. */
export interface Lane {
  readonly feed: LiveFeed;
  /** By filter and rights. */
  readonly groups: Map<string, LiveGroup>;
  /** Clients that are to be served elsewhere from its next entry on: there was none yet after which they could continue. */
  readonly departing: Set<Client>;
}

const never = new AbortController().signal;

const sendAll = (members: Iterable<{ readonly session: StreamSession }>, frames: readonly Uint8Array[]): void => {
  if (frames.length === 0) return;
  for (const { session } of members) session.send(frames);
};

/** @param onRefused called when the search failed: the members have to leave, each with the backlog. */
export function createLiveGroup(
  filter: LogFilter,
  visible: Sight["units"],
  searches: Searches,
  onRefused: (group: LiveGroup, error: SearchFailed) => void,
): LiveGroup {
  const matches = createLogMatcher(filter, visible);
  const members = new Set<Client>();
  let backlog: readonly LiveEntry[] = [];

  const group: LiveGroup = {
    members,
    async deliver({ entries, messages, frame }) {
      const positions = [...entries.keys()].filter((at) => matches(entries[at] as LiveEntry));
      if (!takesSearch(filter)) return sendAll(members, positions.map(frame));
      if (positions.length === 0) return;
      const isAll = positions.length === entries.length;
      backlog = isAll ? entries : positions.map((at) => entries[at] as LiveEntry);
      const [first] = members;
      const by = { owner: first?.owner ?? "", visible, isWanted: () => members.size > 0, signal: never };
      try {
        const found = new Set(await search(searches, filter, by, { entries: backlog, ...(isAll && { messages }) }));
        sendAll(members, positions.filter((at) => found.has(entries[at] as LiveEntry)).map(frame));
      } catch (error) {
        if (!(error instanceof SearchFailed)) throw error;
        onRefused(group, error);
      }
      backlog = [];
    },
    backlog: () => backlog,
  };
  return group;
}
