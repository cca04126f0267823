import type { Caller } from "#contract/operation.ts";
import type { StreamClient, StreamHandlers, streams } from "#contract/streams.ts";
import { closeCodes } from "#contract/streams.ts";
import { checked, type ScopeLack } from "#domain/common/error.ts";
import { type Grep, type Journal, JournalUnavailable, type LiveEntry, LogQueryRefused } from "#domain/ports/journal.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { type CatchUpPorts, catchUp, clearSearch, reportCleared, reportUnread } from "./catch-up.ts";
import { createLiveFeed, journalLost, journalMissing } from "./live-feed.ts";
import {
  type Client,
  createBatch,
  createLiveGroup,
  type EncodeFrame,
  type Lane,
  type LiveGroup,
} from "./live-groups.ts";
import { createSearches, SearchFailed } from "./live-search.ts";
import {
  changeFilter,
  type LogFilter,
  listedBy,
  noFilter,
  readFilterMessage,
  type Sight,
  takesSearch,
  templatesAmong,
} from "./stream-filter.ts";
import { requireCursor } from "./window.ts";

export interface LogStreamPorts {
  readonly journal: Pick<Journal, "follow" | "missing" | "query">;
  readonly grep: Grep;
  readonly clock: Pick<Clock, "sleep" | "every">;
  readonly encode: EncodeFrame;
  /** Names and patterns of the units whose entries a caller may read. */
  readonly unitsOf: (caller: Caller) => "all" | readonly string[];
  readonly scopeLack: ScopeLack;
  readonly onTrouble: (error: unknown) => void;
}

interface Shared extends LogStreamPorts, CatchUpPorts {
  readonly journal: LogStreamPorts["journal"];
  readonly clock: LogStreamPorts["clock"];
  readonly plain: Lane;
  /** Of clients with a search: its feed waits for their searches, so that none of them falls behind alone. */
  readonly searched: Lane;
  /** Clients that catch up. */
  readonly stragglers: Set<Client>;
}

const groupKey = ({ filter, sight }: Client): string => JSON.stringify([filter, sight.units]);

const laneOf = ({ plain, searched }: Pick<Shared, "plain" | "searched">, { filter }: Pick<Client, "filter">): Lane =>
  takesSearch(filter) ? searched : plain;

function enterLane(shared: Shared, client: Client): Lane {
  const lane = laneOf(shared, client);
  if (client.lane !== lane) {
    lane.feed.hold();
    client.lane?.feed.release();
    client.lane = lane;
  }
  return lane;
}

function groupOf(shared: Shared, client: Client): LiveGroup {
  const { groups, feed } = enterLane(shared, client);
  const key = groupKey(client);
  const known = groups.get(key);
  if (known !== undefined) return known;
  const made = createLiveGroup(client.filter, client.sight.units, shared.searches, (group, error) => {
    const backlog = group.backlog();
    for (const member of group.members) {
      leave(shared, member);
      clearSearch(member, error, shared.onTrouble);
      serveAlone(shared, member, backlog, feed.cursor());
    }
  });
  groups.set(key, made);
  return made;
}

/** Removes a client from its group, or ends its catching up. */
function leave({ stragglers }: Shared, client: Client): void {
  client.catchingUp?.abort();
  client.catchingUp = undefined;
  client.restsAt = undefined;
  stragglers.delete(client);
  client.lane?.departing.delete(client);
  const { group } = client;
  if (group === undefined) return;
  client.group = undefined;
  group.members.delete(client);
  if (group.members.size === 0) client.lane?.groups.delete(groupKey(client));
}

/** Lets the feed of its lane serve a client that has all that was delivered. */
function tryJoin(shared: Shared, client: Client): boolean {
  const { feed, groups } = enterLane(shared, client);
  const group = groupOf(shared, client);
  // The client would get the group's backlog a second time.
  if (group.backlog().length > 0) return false;
  leave(shared, client);
  client.group = group;
  group.members.add(client);
  groups.set(groupKey(client), group);
  if (feed.isDown()) client.session.report(journalLost);
  reportUnread(client, feed.unread());
  return true;
}

/** The same for one that continues after this entry. */
const tryJoinAt = (shared: Shared, client: Client, cursor: string | undefined): boolean =>
  cursor === enterLane(shared, client).feed.cursor() && tryJoin(shared, client);

function serveAlone(shared: Shared, client: Client, backlog: readonly LiveEntry[], from: string | undefined): void {
  const started = new AbortController();
  client.catchingUp = started;
  shared.stragglers.add(client);
  catchUp(shared, client, backlog, from, started.signal).catch((error: unknown) => {
    shared.onTrouble(error);
    client.session.close(closeCodes.internalError, "internal error");
  });
}

/** Changes the filter of a client, from the entries on that were not sent to it yet. */
function refilter(shared: Shared, client: Client, filter: LogFilter): void {
  const { group, lane } = client;
  const backlog = group?.backlog() ?? [];
  if (group !== undefined) leave(shared, client);
  client.filter = filter;
  if (group === undefined || lane === undefined) return;
  const from = lane.feed.cursor();
  if (from === undefined && lane !== laneOf(shared, client)) lane.departing.add(client);
  else if (backlog.length > 0 || !tryJoinAt(shared, client, from)) serveAlone(shared, client, backlog, from);
}

/** Where there is no journal nothing comes, as where nothing is written. */
async function reportMissing({ journal, onTrouble }: Shared, client: Client, signal: AbortSignal): Promise<void> {
  try {
    const reason = await journal.missing(listedBy(client.filter, client.sight.units), signal);
    if (reason !== undefined && !signal.aborted) client.session.report(journalMissing(reason));
  } catch (error) {
    // Its feed reports that it cannot be read.
    if (!signal.aborted && !(error instanceof JournalUnavailable)) onTrouble(error);
  }
}

/** Refuses an id that no template has, before an entry comes. */
async function checkTemplate(shared: Shared, client: Client, signal: AbortSignal): Promise<void> {
  const { template } = client.filter;
  if (template === undefined) return;
  try {
    await shared.searches.ofTemplate(template, templatesAmong(client.filter, client.sight.units), [], signal);
  } catch (error) {
    if (signal.aborted || client.filter.template !== template) return;
    // Its feed reports that the journal cannot be read.
    if (!(error instanceof LogQueryRefused))
      return error instanceof JournalUnavailable ? undefined : shared.onTrouble(error);
    refilter(shared, client, { ...client.filter, template: undefined });
    reportCleared(client, new SearchFailed("template", error), shared.onTrouble);
  }
}

function attach(shared: Shared, client: Client, cursor: string | undefined): StreamClient {
  const gone = new AbortController();
  void reportMissing(shared, client, gone.signal);
  const { feed } = enterLane(shared, client);
  const from = cursor ?? feed.cursor();
  if (!tryJoinAt(shared, client, from)) serveAlone(shared, client, [], from);
  void checkTemplate(shared, client, gone.signal);
  return {
    receive(message) {
      refilter(shared, client, changeFilter(client.filter, readFilterMessage(message), client.sight));
      void checkTemplate(shared, client, gone.signal);
    },
    dispose() {
      gone.abort();
      leave(shared, client);
      client.lane?.feed.release();
    },
  };
}

/**
 * `/ws/logs`. Clients share a follower of the journal, those with a search another one, and those with the same filter share the
 * filtering. A client with a cursor reads the journal at its own pace until it has caught up.
 */
export function createLogStream(ports: LogStreamPorts): {
  readonly open: StreamHandlers<typeof streams>["logs"];
  readonly dispose: Dispose;
} {
  const { grep, journal, encode, unitsOf, scopeLack, onTrouble } = ports;
  const makeLane = (): Lane => {
    const groups: Lane["groups"] = new Map();
    const departing: Lane["departing"] = new Set();
    const feed = createLiveFeed(ports, {
      async batch(entries) {
        const batch = createBatch(entries, encode);
        for (const client of departing) {
          departing.delete(client);
          serveAlone(shared, client, entries, entries.at(-1)?.entry.cursor);
        }
        await Promise.all(Array.from(groups.values(), (group) => group.deliver(batch)));
      },
      moved() {
        for (const client of shared.stragglers) {
          if (client.restsAt !== undefined && client.restsAt === feed.cursor())
            tryJoinAt(shared, client, client.restsAt);
        }
      },
      unread(files) {
        for (const { members } of groups.values()) for (const member of members) reportUnread(member, files);
      },
      lost(error) {
        onTrouble(error);
        for (const { members } of groups.values()) for (const { session } of members) session.report(journalLost);
      },
    });
    return { feed, groups, departing };
  };
  const shared: Shared = {
    ...ports,
    searches: createSearches({ grep, journal }),
    plain: makeLane(),
    searched: makeLane(),
    stragglers: new Set(),
    tryTakeOver: (client, cursor) => tryJoinAt(shared, client, cursor),
  };

  return {
    open({ cursor, ...query }, caller) {
      const sight: Sight = { units: unitsOf(caller), lackOf: (unit) => scopeLack(caller, "logs:read", unit) };
      const [, filter] = checked(
        () => requireCursor("cursor", cursor),
        () => changeFilter(noFilter, query, sight),
      );
      if (cursor === undefined) laneOf(shared, { filter }).feed.wake();
      const apart = { lane: undefined, group: undefined, catchingUp: undefined, restsAt: undefined, unread: [] };
      return (session) => attach(shared, { session, owner: caller.keyId, sight, filter, ...apart }, cursor);
    },
    dispose() {
      shared.plain.feed.dispose();
      shared.searched.feed.dispose();
    },
  };
}
