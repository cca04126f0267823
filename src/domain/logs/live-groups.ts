import type { StreamSession } from "#contract/streams.ts";
import type { Grep, LiveEntry } from "#domain/ports/journal.ts";
import { createFairQueue } from "#kernel/fair-queue.ts";
import type { LogFilter, Sight } from "./stream-filter.ts";
import { createLogMatcher } from "./stream-filter.ts";

export type EncodeFrame = (json: string) => Uint8Array;

/** Entries of one batch; each is encoded at most once for all clients. */
export interface Batch {
  readonly entries: readonly LiveEntry[];
  readonly frame: (at: number) => Uint8Array;
}

export function createBatch(entries: readonly LiveEntry[], encode: EncodeFrame): Batch {
  const frames: (Uint8Array | undefined)[] = [];
  return {
    entries,
    frame(at) {
      const made = frames[at] ?? encode(JSON.stringify(entries[at]?.entry));
      frames[at] = made;
      return made;
    },
  };
}

/** Indexes of the messages that match; empty when the result is no longer wanted. */
export type Search = (
  owner: string,
  pattern: string,
  messages: readonly string[],
  isWanted: () => boolean,
) => Promise<ReadonlySet<number>>;

const none: ReadonlySet<number> = new Set();

/** Each client has one search at a time, and clients are few. */
const limits = { atOnce: 1, atOncePerOwner: 1, waitingPerOwner: Infinity };

/** Runs one search at a time, taking turns by key. A search that nobody waits for any more is skipped. */
export function createSearches(grep: Grep): Search {
  const queue = createFairQueue(limits);
  const never = new AbortController().signal;
  return (owner, pattern, messages, isWanted) =>
    queue(owner, () => (isWanted() ? grep.matching(pattern, messages) : Promise.resolve(none)), never);
}

/** An entry whose message waits for a search. */
interface Waiting {
  readonly live: LiveEntry;
  readonly frame: () => Uint8Array;
}

/** A client: a member of a group that gets live entries, or one that catches up with its own follower. */
export interface Client {
  readonly session: StreamSession;
  readonly owner: string;
  readonly sight: Sight;
  filter: LogFilter;
  group: LiveGroup | undefined;
  catchingUp: AbortController | undefined;
  /** Its position while it catches up and nothing is being sent to it. */
  restsAt: string | undefined;
}

/** Clients with the same filter and rights: their frames are selected and joined once. */
export interface LiveGroup {
  readonly members: Set<Client>;
  readonly deliver: (batch: Batch) => void;
  /** Entries that have not been sent to the members yet. */
  readonly backlog: () => readonly LiveEntry[];
}

/** Messages per search, and entries that may wait before the group is split up. */
const searchedAtOnce = 256;
const maxWaiting = 4096;
const maxWaitingChars = 4 * 1024 * 1024;

const sendAll = (members: Iterable<{ readonly session: StreamSession }>, frames: readonly Uint8Array[]): void => {
  if (frames.length === 0) return;
  for (const { session } of members) session.send(frames);
};

/**
 * @param on.behind called when the search is too slow: the members have to leave, each with the backlog.
 * @param on.refused called when the search failed: likewise.
 */
export function createLiveGroup(
  { unit, priority, grep: pattern }: LogFilter,
  visible: Sight["units"],
  find: Search,
  on: {
    readonly behind: (group: LiveGroup) => void;
    readonly refused: (group: LiveGroup, error: unknown) => void;
  },
): LiveGroup {
  const matches = createLogMatcher({ unit, priority }, visible);
  const members = new Set<Client>();
  const waiting: Waiting[] = [];
  let waitingChars = 0;
  let isSearching = false;

  const deliverNow = ({ entries, frame }: Batch): void => {
    const frames: Uint8Array[] = [];
    for (const [at, live] of entries.entries()) if (matches(live)) frames.push(frame(at));
    sendAll(members, frames);
  };

  const forget = (count: number): void => {
    for (const { live } of waiting.splice(0, count)) waitingChars -= live.entry.message.length;
  };

  const search = async (expression: string): Promise<void> => {
    isSearching = true;
    while (waiting.length > 0 && members.size > 0) {
      const piece = waiting.slice(0, searchedAtOnce);
      try {
        const [first] = members;
        const hits = await find(
          first?.owner ?? "",
          expression,
          piece.map(({ live }) => live.entry.message),
          () => members.size > 0,
        );
        sendAll(
          members,
          piece.flatMap(({ frame }, at) => (hits.has(at) ? [frame()] : [])),
        );
        forget(piece.length);
      } catch (error) {
        on.refused(group, error);
      }
    }
    // No member is left.
    forget(waiting.length);
    isSearching = false;
  };

  const deliverSearched = (expression: string, { entries, frame }: Batch): void => {
    for (const [at, live] of entries.entries()) {
      if (!matches(live)) continue;
      waiting.push({ live, frame: () => frame(at) });
      waitingChars += live.entry.message.length;
    }
    if (waiting.length > maxWaiting || waitingChars > maxWaitingChars) on.behind(group);
    else if (!isSearching && waiting.length > 0) void search(expression);
  };

  const group: LiveGroup = {
    members,
    deliver: pattern === undefined ? deliverNow : (batch) => deliverSearched(pattern, batch),
    backlog: () => waiting.map(({ live }) => live),
  };
  return group;
}
