import type { StreamSession } from "#contract/streams.ts";
import type { Grep, LiveEntry, MessageSearch } from "#domain/ports/journal.ts";
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

/** Entries of a batch that wait for a search. */
interface Waiting {
  readonly batch: Batch;
  /** Undefined: all. */
  readonly positions: readonly number[] | undefined;
  readonly characters: number;
}

const positionsIn = ({ batch, positions }: Waiting): readonly number[] => positions ?? [...batch.entries.keys()];

function messagesOf({ batch, positions }: Waiting): readonly string[] {
  return positions === undefined ? batch.messages : positions.map((at) => batch.messages[at] ?? "");
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

/** Entries that may wait before the group is split up. */
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
  const isUnfiltered = unit === undefined && priority === undefined && visible === "all";
  const matches = createLogMatcher({ unit, priority }, visible);
  const members = new Set<Client>();
  let waiting: Waiting[] = [];
  let waitingEntries = 0;
  let waitingChars = 0;
  let isSearching = false;

  const deliverNow = ({ entries, frame }: Batch): void => {
    const frames: Uint8Array[] = [];
    for (const [at, live] of entries.entries()) if (matches(live)) frames.push(frame(at));
    sendAll(members, frames);
  };

  const search = async (expression: string): Promise<void> => {
    isSearching = true;
    for (let [next] = waiting; next !== undefined && members.size > 0; [next] = waiting) {
      const { batch, characters } = next;
      const positions = positionsIn(next);
      try {
        const [first] = members;
        const hits = await find(first?.owner ?? "", expression, messagesOf(next), () => members.size > 0);
        sendAll(
          members,
          positions.flatMap((position, at) => (hits.has(at) ? [batch.frame(position)] : [])),
        );
        waiting.shift();
        waitingEntries -= positions.length;
        waitingChars -= characters;
      } catch (error) {
        on.refused(group, error);
      }
    }
    // No member is left.
    waiting = [];
    waitingEntries = 0;
    waitingChars = 0;
    isSearching = false;
  };

  const deliverSearched = (expression: string, batch: Batch): void => {
    const positions = isUnfiltered
      ? undefined
      : [...batch.entries.entries()].flatMap(([at, live]) => (matches(live) ? [at] : []));
    const next = { batch, positions, characters: 0 };
    const messages = messagesOf(next);
    if (messages.length === 0) return;
    const characters = charactersOf(messages);
    waiting.push({ ...next, characters });
    waitingEntries += messages.length;
    waitingChars += characters;
    if (waitingEntries > maxWaiting || waitingChars > maxWaitingChars) on.behind(group);
    else if (!isSearching) void search(expression);
  };

  const group: LiveGroup = {
    members,
    deliver: pattern === undefined ? deliverNow : (batch) => deliverSearched(pattern, batch),
    backlog: () => waiting.flatMap((each) => positionsIn(each).flatMap((at) => each.batch.entries[at] ?? [])),
  };
  return group;
}
