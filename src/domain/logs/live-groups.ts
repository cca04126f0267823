import type { StreamSession } from "#contract/streams.ts";
import type { Grep, LiveEntry, MessageSearch } from "#domain/ports/journal.ts";
import type { LiveFeed } from "./live-feed.ts";
import type { LogFilter, Sight } from "./stream-filter.ts";
import { createLogMatcher } from "./stream-filter.ts";

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

/** Indexes of the messages that match; empty when the result is no longer wanted. */
export type Search = (
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
export function createSearches(grep: Grep): Search {
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

const sendAll = (members: Iterable<{ readonly session: StreamSession }>, frames: readonly Uint8Array[]): void => {
  if (frames.length === 0) return;
  for (const { session } of members) session.send(frames);
};

/** @param onRefused called when the search failed: the members have to leave, each with the backlog. */
export function createLiveGroup(
  { grep: pattern, ...filter }: LogFilter,
  visible: Sight["units"],
  find: Search,
  onRefused: (group: LiveGroup, error: unknown) => void,
): LiveGroup {
  const matches = createLogMatcher(filter, visible);
  const members = new Set<Client>();
  let backlog: readonly LiveEntry[] = [];

  const group: LiveGroup = {
    members,
    async deliver({ entries, messages, frame }) {
      const positions = [...entries.keys()].filter((at) => matches(entries[at] as LiveEntry));
      if (pattern === undefined) return sendAll(members, positions.map(frame));
      if (positions.length === 0) return;
      backlog = positions.map((at) => entries[at] as LiveEntry);
      try {
        const [first] = members;
        const wanted = positions.length === entries.length ? messages : positions.map((at) => messages[at] ?? "");
        const hits = await find(first?.owner ?? "", pattern, wanted, () => members.size > 0);
        sendAll(
          members,
          positions.flatMap((position, at) => (hits.has(at) ? [frame(position)] : [])),
        );
      } catch (error) {
        onRefused(group, error);
      }
      backlog = [];
    },
    backlog: () => backlog,
  };
  return group;
}
