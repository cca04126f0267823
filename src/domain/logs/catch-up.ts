import { closeCodes } from "#contract/streams.ts";
import { type Journal, type LiveEntry, LogQueryRefused, type UnreadFile } from "#domain/ports/journal.ts";
import type { Clock } from "#kernel/clock.ts";
import { lowerFirst } from "#kernel/text.ts";
import { createBackoff, filesUnread, journalLost } from "./live-feed.ts";
import type { Client, EncodeFrame } from "./live-groups.ts";
import { type Searches, SearchFailed, search } from "./live-search.ts";
import { createLogMatcher, listedBy } from "./stream-filter.ts";
import { unreadOf } from "./unread.ts";

/** Frames sent to a session at once while it catches up: far less than its queue holds. */
const framesAtOnce = 64;
const bytesAtOnce = 64 * 1024;

export interface CatchUpPorts {
  readonly journal: Pick<Journal, "follow">;
  readonly clock: Pick<Clock, "sleep">;
  readonly encode: EncodeFrame;
  readonly searches: Searches;
  /** Takes over a client that has all entries up to this cursor. @returns whether it did. */
  readonly tryTakeOver: (client: Client, cursor: string | undefined) => boolean;
  readonly onTrouble: (error: unknown) => void;
}

/** Reports a search that failed, and is cleared. */
export function reportCleared(
  { session }: Pick<Client, "session">,
  { field, cause }: SearchFailed,
  onTrouble: (error: unknown) => void,
): void {
  const isRefused = cause instanceof LogQueryRefused;
  if (!isRefused) onTrouble(cause);
  const issue = isRefused ? cause.message : "internal error";
  session.report({
    code: isRefused ? "VALIDATION_ERROR" : "INTERNAL_ERROR",
    message: `cannot continue with ${field}: ${lowerFirst(issue)} (it is cleared)`,
    details: { field, issue },
  });
}

/** Clears a search that failed, and reports it. */
export function clearSearch(client: Client, failure: SearchFailed, onTrouble: (error: unknown) => void): void {
  client.filter = { ...client.filter, [failure.field]: undefined };
  reportCleared(client, failure, onTrouble);
}

/** Reports files that cannot be read, as far as the client wants their entries and does not know it. */
export function reportUnread(client: Client, files: readonly UnreadFile[]): void {
  const unread = unreadOf(files, listedBy(client.filter, client.sight.units));
  if (unread.length === 0 || JSON.stringify(unread) === JSON.stringify(client.unread)) return;
  client.unread = unread;
  client.session.report(filesUnread(unread));
}

async function wanted(
  ports: CatchUpPorts,
  client: Client,
  entries: readonly LiveEntry[],
  signal: AbortSignal,
): Promise<readonly LiveEntry[]> {
  const { filter, sight } = client;
  const passed = entries.filter(createLogMatcher(filter, sight.units));
  try {
    const by = { ...client, visible: sight.units, isWanted: () => !signal.aborted, signal };
    return await search(ports.searches, filter, by, { entries: passed });
  } catch (error) {
    if (!(error instanceof SearchFailed)) throw error;
    if (signal.aborted || client.filter[error.field] !== filter[error.field]) return passed;
    clearSearch(client, error, ports.onTrouble);
    return wanted(ports, client, passed, signal);
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
  const onUnread = (files: readonly UnreadFile[]): void => {
    if (!signal.aborted) reportUnread(client, files);
  };
  for await (const batch of ports.journal.follow({ cursor: from, onUnread }, signal)) {
    const last = batch.at(-1);
    if (signal.aborted) return;
    if (last === undefined) continue;
    client.restsAt = undefined;
    await deliver(ports, client, batch, signal);
    if (signal.aborted || isTakenOver(last.entry.cursor)) return;
  }
}

function refuseCursor({ session }: Client, { field, message: issue }: LogQueryRefused): void {
  const message = `cannot continue from this cursor: ${lowerFirst(issue)}`;
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
