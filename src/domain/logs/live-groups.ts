import type { StreamSession } from "#contract/streams.ts";
import type { Grep, LiveEntry } from "#domain/ports/journal.ts";
import { createFairQueue } from "#kernel/fair-queue.ts";
import type { LogFilter, Sight } from "./stream-filter.ts";
import { createLogMatcher } from "./stream-filter.ts";

/** Makes the bytes of a frame from its JSON text. */
export type EncodeFrame = (json: string) => Uint8Array;

/** Entries of one batch, each made a frame at most once however many clients get it. */
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

/** Positions of the messages that match; none when nobody wants them any more. */
export type Search = (
  /** Id of the key that it is for. */
  owner: string,
  pattern: string,
  messages: readonly string[],
  isWanted: () => boolean,
) => Promise<ReadonlySet<number>>;

const none: ReadonlySet<number> = new Set();

/** Each client has one search at a time, and clients are few. */
const limits = { atOnce: 1, atOncePerOwner: 1, waitingPerOwner: Infinity };

/**
 * Searches one after the other, the keys by turns. What nobody waits for any more when its turn comes is left out: clients
 * that have gone must not hold up the others with what they asked for.
 */
export function createSearches(grep: Grep): Search {
  const queue = createFairQueue(limits);
  const never = new AbortController().signal;
  return (owner, pattern, messages, isWanted) =>
    queue(owner, () => (isWanted() ? grep.matching(pattern, messages) : Promise.resolve(none)), never);
}

/** An entry that waits for its message to be searched. */
interface Waiting {
  readonly live: LiveEntry;
  readonly frame: () => Uint8Array;
}

/** A client. It is a member of a group and gets what is being written, or it catches up by a follower of its own. */
export interface Client {
  readonly session: StreamSession;
  /** Id of its key. */
  readonly owner: string;
  readonly sight: Sight;
  filter: LogFilter;
  group: LiveGroup | undefined;
  catchingUp: AbortController | undefined;
  /** Where it stands while it catches up and nothing is under way to it. */
  restsAt: string | undefined;
}

/** Clients that want to see the same: what they get is chosen and put together once for all of them. */
export interface LiveGroup {
  readonly members: Set<Client>;
  readonly deliver: (batch: Batch) => void;
  /** Entries that were taken and have not gone to the members yet. */
  readonly backlog: () => readonly LiveEntry[];
}

/** Messages that are searched in one go, and entries that may wait for it before the group gives up the shared pace. */
const searchedAtOnce = 256;
const maxWaiting = 4096;
const maxWaitingChars = 4 * 1024 * 1024;

const sendAll = (members: Iterable<{ readonly session: StreamSession }>, frames: readonly Uint8Array[]): void => {
  if (frames.length === 0) return;
  for (const { session } of members) session.send(frames);
};

/**
 * @param on.behind the search is too slow for the shared pace: the members must be taken away, each with the backlog.
 * @param on.refused the search failed: likewise.
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
    // Nobody is left who would miss it.
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
