import { closeCodes } from "#contract/streams.ts";
import { type Journal, type LiveEntry, LogQueryRefused } from "#domain/ports/journal.ts";
import type { Clock } from "#kernel/clock.ts";
import { lowerFirst } from "#kernel/text.ts";
import { createBackoff, journalLost } from "./live-feed.ts";
import type { Client, EncodeFrame, Search } from "./live-groups.ts";
import { createLogMatcher } from "./stream-filter.ts";

/** Frames sent to a session at once while it catches up: far less than its queue holds. */
const framesAtOnce = 64;
const bytesAtOnce = 64 * 1024;

export interface CatchUpPorts {
  readonly journal: Pick<Journal, "follow">;
  readonly clock: Pick<Clock, "sleep">;
  readonly encode: EncodeFrame;
  readonly find: Search;
  /** Takes over a client that has all entries up to this cursor. @returns whether it did. */
  readonly tryTakeOver: (client: Client, cursor: string | undefined) => boolean;
  readonly onTrouble: (error: unknown) => void;
}

/** Clears a search that failed, and reports it. */
export function clearGrep(client: Client, error: unknown, onTrouble: (error: unknown) => void): void {
  client.filter = { ...client.filter, grep: undefined };
  const isRefused = error instanceof LogQueryRefused;
  if (!isRefused) onTrouble(error);
  const issue = isRefused ? error.message : "internal error";
  client.session.report({
    code: isRefused ? "VALIDATION_ERROR" : "INTERNAL_ERROR",
    message: `cannot go on with grep: ${lowerFirst(issue)} (it is cleared)`,
    details: { field: "grep", issue },
  });
}

async function wanted(
  { find, onTrouble }: CatchUpPorts,
  client: Client,
  entries: readonly LiveEntry[],
  signal: AbortSignal,
): Promise<readonly LiveEntry[]> {
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
    if (!signal.aborted && client.filter.grep === filter.grep) clearGrep(client, error, onTrouble);
    return passed;
  }
}

/** Sends entries as fast as the client takes them. */
async function deliver(ports: CatchUpPorts, client: Client, entries: readonly LiveEntry[], signal: AbortSignal) {
  const { session } = client;
  let frames: Uint8Array[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    if (session.isCongested()) await session.drained();
    if (!signal.aborted) session.send(frames);
    frames = [];
    bytes = 0;
  };
  for (const { entry } of await wanted(ports, client, entries, signal)) {
    const frame = ports.encode(JSON.stringify(entry));
    frames.push(frame);
    bytes += frame.byteLength;
    if (frames.length >= framesAtOnce || bytes >= bytesAtOnce) await flush();
    if (signal.aborted) return;
  }
  if (frames.length > 0) await flush();
}

/** Reads on until the feed can take over. */
async function readOn(ports: CatchUpPorts, client: Client, from: string | undefined, signal: AbortSignal) {
  const isTakenOver = (cursor: string | undefined): boolean => {
    client.restsAt = cursor;
    return ports.tryTakeOver(client, cursor);
  };
  if (isTakenOver(from)) return;
  for await (const batch of ports.journal.follow({ cursor: from }, signal)) {
    const last = batch.at(-1);
    if (signal.aborted) return;
    if (last === undefined) continue;
    client.restsAt = undefined;
    await deliver(ports, client, batch, signal);
    if (signal.aborted || isTakenOver(last.entry.cursor)) return;
  }
}

function refuseCursor({ session }: Client, { field, message: issue }: LogQueryRefused): void {
  const message = `cannot go on from this cursor: ${lowerFirst(issue)}`;
  session.report({ code: "VALIDATION_ERROR", message, details: { field, issue } });
  session.close(closeCodes.policyViolation, "cursor refused");
}

/**
 * Serves one client at its own pace, with its own follower of the journal, until the feed takes over.
 * @param backlog is sent first.
 * @param from cursor of the last entry that the client has, or of the backlog.
 */
export async function catchUp(
  ports: CatchUpPorts,
  client: Client,
  backlog: readonly LiveEntry[],
  from: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const backoff = createBackoff(ports.clock);
  let isDown = false;
  let at = from;
  await deliver(ports, client, backlog, signal);
  while (!signal.aborted) {
    try {
      await readOn(ports, client, at, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof LogQueryRefused) return refuseCursor(client, error);
      if (!isDown) ports.onTrouble(error);
      if (!isDown) client.session.report(journalLost);
      isDown = true;
    }
    if (signal.aborted) return;
    at = client.restsAt ?? at;
    await backoff.wait(signal);
  }
}
