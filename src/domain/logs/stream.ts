import type { Caller } from "#contract/operation.ts";
import type { StreamClient, StreamHandlers, StreamSession, streams } from "#contract/streams.ts";
import { closeCodes } from "#contract/streams.ts";
import { invalid } from "#domain/common/error.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { isCursor } from "./cursor.ts";
import { createBackoff, createLiveFeed, journalLost } from "./live-feed.ts";
import { createBatch, createLiveGroup, type EncodeFrame, type LiveGroup } from "./live-groups.ts";
import type { Grep, Journal, LiveEntry } from "./ports.ts";
import { LogQueryRefused } from "./ports.ts";
import { createSearches } from "./searches.ts";
import {
  changeFilter,
  createLogMatcher,
  type LogFilter,
  noFilter,
  readFilterMessage,
  type Sight,
} from "./stream-filter.ts";

export interface LogStreamPorts {
  readonly journal: Pick<Journal, "follow">;
  readonly grep: Grep;
  readonly clock: Pick<Clock, "sleep" | "every">;
  readonly encode: EncodeFrame;
  /** Names and patterns of the units whose entries a caller may see. */
  readonly unitsOf: (caller: Caller) => "all" | readonly string[];
  /** Told when the journal becomes unreadable, for the log. */
  readonly onTrouble: (error: unknown) => void;
}

/** Frames that are handed to a session in one go while it catches up: far less than its queue holds. */
const framesAtOnce = 64;
const bytesAtOnce = 64 * 1024;

/** A client. It is a member of a group and gets what is written now, or it catches up by a follower of its own. */
interface Client {
  readonly session: StreamSession;
  /** Id of its key. */
  readonly owner: string;
  readonly sight: Sight;
  filter: LogFilter;
  group: LiveGroup<Client> | undefined;
  catchingUp: AbortController | undefined;
  /** Where it stands while it catches up and nothing is under way to it. */
  restsAt: string | undefined;
}

/**
 * `/ws/logs`. Clients share one follower of the journal, and those with the same filter the work of filtering. One that
 * came with a cursor, or whose search is slow, reads the journal at its own pace until it has reached the others.
 */
export function createLogStream(ports: LogStreamPorts): {
  readonly open: StreamHandlers<typeof streams>["logs"];
  readonly dispose: Dispose;
} {
  const { journal, grep, clock, encode, unitsOf, onTrouble } = ports;
  const find = createSearches(grep);
  const groups = new Map<string, LiveGroup<Client>>();
  const stragglers = new Set<Client>();

  const feed = createLiveFeed(ports, {
    batch(entries) {
      const batch = createBatch(entries, encode);
      for (const group of groups.values()) group.deliver(batch);
    },
    moved() {
      for (const client of stragglers) if (client.restsAt === feed.cursor()) tryJoin(client);
    },
    lost(error) {
      onTrouble(error);
      for (const { members } of groups.values()) for (const { session } of members) session.report(journalLost);
    },
  });

  const groupKey = ({ filter, sight }: Client): string => JSON.stringify([filter, sight.units]);

  const groupOf = (client: Client): LiveGroup<Client> => {
    const key = groupKey(client);
    const known = groups.get(key);
    if (known !== undefined) return known;
    const made = createLiveGroup<Client>(client.filter, client.sight.units, find, {
      behind(group) {
        const backlog = group.backlog();
        for (const member of group.members) {
          leave(member);
          catchUp(member, backlog, backlog.at(-1)?.entry.cursor);
        }
      },
      refused(group, error) {
        const backlog = group.backlog();
        for (const member of group.members) {
          leave(member);
          clearGrep(member, error);
          catchUp(member, backlog, feed.cursor());
        }
      },
    });
    groups.set(key, made);
    return made;
  };

  /** Takes a client out of what it is in. */
  const leave = (client: Client): void => {
    client.catchingUp?.abort();
    client.catchingUp = undefined;
    client.restsAt = undefined;
    stragglers.delete(client);
    const { group } = client;
    if (group === undefined) return;
    client.group = undefined;
    group.members.delete(client);
    if (group.members.size === 0) groups.delete(groupKey(client));
  };

  /** The client has all that the feed has handed on, so from here on the feed serves it. */
  const tryJoin = (client: Client): boolean => {
    const group = groupOf(client);
    // What waits in a group would reach the client a second time.
    if (group.backlog().length > 0) return false;
    leave(client);
    client.group = group;
    group.members.add(client);
    groups.set(groupKey(client), group);
    if (feed.isDown()) client.session.report(journalLost);
    return true;
  };

  const clearGrep = (client: Client, error: unknown): void => {
    client.filter = { ...client.filter, grep: undefined };
    const isRefused = error instanceof LogQueryRefused;
    if (!isRefused) onTrouble(error);
    const issue = isRefused ? error.message : "internal error";
    client.session.report({
      code: isRefused ? "VALIDATION_ERROR" : "INTERNAL_ERROR",
      message: `cannot go on with grep: ${issue} (it is cleared)`,
      details: { field: "grep", issue },
    });
  };

  /** The entries that pass the client's filter of this moment. */
  const wanted = async (
    client: Client,
    entries: readonly LiveEntry[],
    signal: AbortSignal,
  ): Promise<readonly LiveEntry[]> => {
    const { filter, sight } = client;
    const passed = entries.filter(createLogMatcher(filter, sight.units));
    if (filter.grep === undefined || passed.length === 0) return passed;
    try {
      const hits = await find(
        client.owner,
        filter.grep,
        passed.map(({ entry }) => entry.message),
        () => !signal.aborted,
      );
      return passed.filter((_, at) => hits.has(at));
    } catch (error) {
      if (!signal.aborted && client.filter.grep === filter.grep) clearGrep(client, error);
      return passed;
    }
  };

  /** Hands entries over as fast as the client takes them. */
  const deliver = async (client: Client, entries: readonly LiveEntry[], signal: AbortSignal): Promise<void> => {
    const { session } = client;
    let frames: Uint8Array[] = [];
    let bytes = 0;
    const flush = async (): Promise<void> => {
      if (session.isCongested()) await session.drained();
      if (!signal.aborted) session.send(frames);
      frames = [];
      bytes = 0;
    };
    for (const { entry } of await wanted(client, entries, signal)) {
      const frame = encode(JSON.stringify(entry));
      frames.push(frame);
      bytes += frame.byteLength;
      if (frames.length >= framesAtOnce || bytes >= bytesAtOnce) await flush();
      if (signal.aborted) return;
    }
    if (frames.length > 0) await flush();
  };

  /** Reads on from an entry until the feed can take over. */
  const readOn = async (client: Client, from: string | undefined, signal: AbortSignal): Promise<void> => {
    const hasReached = (cursor: string | undefined): boolean => {
      client.restsAt = cursor;
      return cursor === feed.cursor() && tryJoin(client);
    };
    if (hasReached(from)) return;
    for await (const batch of journal.follow({ cursor: from }, signal)) {
      const last = batch.at(-1);
      if (signal.aborted) return;
      if (last === undefined) continue;
      client.restsAt = undefined;
      await deliver(client, batch, signal);
      if (signal.aborted || hasReached(last.entry.cursor)) return;
    }
  };

  const catchUp = (client: Client, backlog: readonly LiveEntry[], from: string | undefined): void => {
    const started = new AbortController();
    const { signal } = started;
    client.catchingUp = started;
    stragglers.add(client);
    const run = async (): Promise<void> => {
      const backoff = createBackoff(clock);
      let isDown = false;
      let at = from;
      await deliver(client, backlog, signal);
      while (!signal.aborted) {
        try {
          await readOn(client, at, signal);
        } catch (error) {
          if (signal.aborted) return;
          if (error instanceof LogQueryRefused) return refuseCursor(client, error);
          if (!isDown) onTrouble(error);
          if (!isDown) client.session.report(journalLost);
          isDown = true;
        }
        if (signal.aborted) return;
        at = client.restsAt ?? at;
        await backoff.wait(signal);
      }
    };
    run().catch((error: unknown) => {
      onTrouble(error);
      client.session.close(closeCodes.internalError, "internal error");
    });
  };

  const refuseCursor = ({ session }: Client, { field, message: issue }: LogQueryRefused): void => {
    const message = `cannot go on from this cursor: ${issue}`;
    session.report({ code: "VALIDATION_ERROR", message, details: { field, issue } });
    session.close(closeCodes.policyViolation, "cursor refused");
  };

  /** Gives a client its new filter, from the entries on that have not gone to it yet. */
  const refilter = (client: Client, filter: LogFilter): void => {
    const { group } = client;
    if (group === undefined) {
      client.filter = filter;
      return;
    }
    const backlog = group.backlog();
    leave(client);
    client.filter = filter;
    if (backlog.length > 0 || !tryJoin(client)) catchUp(client, backlog, feed.cursor());
  };

  const attach = (
    { session, owner, sight, filter }: Pick<Client, "session" | "owner" | "sight" | "filter">,
    cursor: string | undefined,
  ): StreamClient => {
    const rest = { group: undefined, catchingUp: undefined, restsAt: undefined };
    const client: Client = { session, owner, sight, filter, ...rest };
    feed.hold();
    if ((cursor !== undefined && cursor !== feed.cursor()) || !tryJoin(client)) {
      catchUp(client, [], cursor ?? feed.cursor());
    }
    return {
      receive(message) {
        refilter(client, changeFilter(client.filter, readFilterMessage(message), sight));
      },
      dispose() {
        leave(client);
        feed.release();
      },
    };
  };

  return {
    open({ cursor, ...query }, caller) {
      if (cursor !== undefined && !isCursor(cursor)) throw invalid("cursor", "Not the cursor of an entry");
      const sight = { units: unitsOf(caller), scopes: caller.scopes };
      const filter = changeFilter(noFilter, query, sight);
      if (cursor === undefined) feed.wake();
      return (session) => attach({ session, owner: caller.keyId, sight, filter }, cursor);
    },
    dispose: feed.dispose,
  };
}
