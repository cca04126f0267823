import type { Caller } from "#contract/operation.ts";
import type { StreamClient, StreamHandlers, streams } from "#contract/streams.ts";
import { closeCodes } from "#contract/streams.ts";
import { invalid } from "#domain/common/error.ts";
import type { Grep, Journal, LiveEntry } from "#domain/ports/journal.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { type CatchUpPorts, catchUp, clearGrep } from "./catch-up.ts";
import { createLiveFeed, journalLost, type LiveFeed } from "./live-feed.ts";
import {
  type Client,
  createBatch,
  createLiveGroup,
  createSearches,
  type EncodeFrame,
  type LiveGroup,
} from "./live-groups.ts";
import { changeFilter, type LogFilter, noFilter, readFilterMessage } from "./stream-filter.ts";
import { isCursor } from "./window.ts";

export interface LogStreamPorts {
  readonly journal: Pick<Journal, "follow">;
  readonly grep: Grep;
  readonly clock: Pick<Clock, "sleep" | "every">;
  readonly encode: EncodeFrame;
  /** Names and patterns of the units whose entries a caller may read. */
  readonly unitsOf: (caller: Caller) => "all" | readonly string[];
  readonly onTrouble: (error: unknown) => void;
}

interface Shared extends LogStreamPorts, CatchUpPorts {
  readonly clock: LogStreamPorts["clock"];
  readonly feed: LiveFeed;
  /** By filter and rights. */
  readonly groups: Map<string, LiveGroup>;
  /** Clients that catch up. */
  readonly stragglers: Set<Client>;
}

const groupKey = ({ filter, sight }: Client): string => JSON.stringify([filter, sight.units]);

function groupOf(shared: Shared, client: Client): LiveGroup {
  const { groups, feed, find, onTrouble } = shared;
  const key = groupKey(client);
  const known = groups.get(key);
  if (known !== undefined) return known;
  const made = createLiveGroup(client.filter, client.sight.units, find, {
    behind(group) {
      const backlog = group.backlog();
      for (const member of group.members) {
        leave(shared, member);
        serveAlone(shared, member, backlog, backlog.at(-1)?.entry.cursor);
      }
    },
    refused(group, error) {
      const backlog = group.backlog();
      for (const member of group.members) {
        leave(shared, member);
        clearGrep(member, error, onTrouble);
        serveAlone(shared, member, backlog, feed.cursor());
      }
    },
  });
  groups.set(key, made);
  return made;
}

/** Removes a client from its group, or ends its catching up. */
function leave({ groups, stragglers }: Shared, client: Client): void {
  client.catchingUp?.abort();
  client.catchingUp = undefined;
  client.restsAt = undefined;
  stragglers.delete(client);
  const { group } = client;
  if (group === undefined) return;
  client.group = undefined;
  group.members.delete(client);
  if (group.members.size === 0) groups.delete(groupKey(client));
}

/** Lets the feed serve a client that has all that was delivered. */
function tryJoin(shared: Shared, client: Client): boolean {
  const group = groupOf(shared, client);
  // The client would get the group's backlog a second time.
  if (group.backlog().length > 0) return false;
  leave(shared, client);
  client.group = group;
  group.members.add(client);
  shared.groups.set(groupKey(client), group);
  if (shared.feed.isDown()) client.session.report(journalLost);
  return true;
}

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
  const { group } = client;
  const backlog = group?.backlog() ?? [];
  if (group !== undefined) leave(shared, client);
  client.filter = filter;
  if (group === undefined) return;
  if (backlog.length > 0 || !tryJoin(shared, client)) serveAlone(shared, client, backlog, shared.feed.cursor());
}

function attach(shared: Shared, client: Client, cursor: string | undefined): StreamClient {
  const { feed } = shared;
  feed.hold();
  if ((cursor !== undefined && cursor !== feed.cursor()) || !tryJoin(shared, client))
    serveAlone(shared, client, [], cursor ?? feed.cursor());
  return {
    receive: (message) =>
      refilter(shared, client, changeFilter(client.filter, readFilterMessage(message), client.sight)),
    dispose() {
      leave(shared, client);
      feed.release();
    },
  };
}

/**
 * `/ws/logs`. Clients share one follower of the journal, and those with the same filter share the filtering. A client with a cursor,
 * or with a slow search, reads the journal at its own pace until it has caught up.
 */
export function createLogStream(ports: LogStreamPorts): {
  readonly open: StreamHandlers<typeof streams>["logs"];
  readonly dispose: Dispose;
} {
  const { grep, encode, unitsOf, onTrouble } = ports;
  const groups = new Map<string, LiveGroup>();
  const stragglers = new Set<Client>();
  const feed = createLiveFeed(ports, {
    batch(entries) {
      const batch = createBatch(entries, encode);
      for (const group of groups.values()) group.deliver(batch);
    },
    moved() {
      for (const client of stragglers) if (client.restsAt === feed.cursor()) tryJoin(shared, client);
    },
    lost(error) {
      onTrouble(error);
      for (const { members } of groups.values()) for (const { session } of members) session.report(journalLost);
    },
  });
  const shared: Shared = {
    ...ports,
    find: createSearches(grep),
    feed,
    groups,
    stragglers,
    tryTakeOver: (client, cursor) => cursor === feed.cursor() && tryJoin(shared, client),
  };

  return {
    open({ cursor, ...query }, caller) {
      if (cursor !== undefined && !isCursor(cursor)) throw invalid("cursor", "Not the cursor of an entry");
      const sight = { units: unitsOf(caller), scopes: caller.scopes };
      const filter = changeFilter(noFilter, query, sight);
      if (cursor === undefined) feed.wake();
      const apart = { group: undefined, catchingUp: undefined, restsAt: undefined };
      return (session) => attach(shared, { session, owner: caller.keyId, sight, filter, ...apart }, cursor);
    },
    dispose: feed.dispose,
  };
}
