import { maxUnreadFiles } from "#contract/limits.ts";
import type { UnreadFiles } from "#contract/log-entry.ts";
import type { StreamError } from "#contract/streams.ts";
import { unreadNames } from "#domain/common/page.ts";
import type { Journal, LiveEntry, UnreadFile } from "#domain/ports/journal.ts";
import { LogQueryRefused } from "#domain/ports/journal.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";

/** How long the feed continues without clients, for those that reconnect at once. */
const graceMs = 5_000;
const firstRetryMs = 1_000;
const maxRetryMs = 30_000;

export const journalLost: StreamError = {
  code: "UNAVAILABLE",
  message: "cannot read the journal now: the stream continues behind its last entry once it can be read again",
  details: { missing: "journal", retryable: true },
};

/** The answer where nothing can have entries. */
export const journalMissing = (reason: string): StreamError => ({
  code: "UNAVAILABLE",
  message: `cannot read the journal: ${reason}`,
  details: { missing: "journal", reason, retryable: false },
});

/** What is reported files that a stream cannot read. */
export const filesUnread = (unread: UnreadFiles): StreamError => ({
  code: "UNAVAILABLE",
  message: `cannot read all of the journal: the stream lacks entries of ${unreadNames(unread, maxUnreadFiles)}`,
  details: { missing: "journal", unread, retryable: false },
});

export function createBackoff(clock: Pick<Clock, "sleep">) {
  let waitMs = firstRetryMs;
  return {
    reset(): void {
      waitMs = firstRetryMs;
    },
    async wait(signal: AbortSignal): Promise<void> {
      await clock.sleep(waitMs, signal);
      waitMs = Math.min(waitMs * 2, maxRetryMs);
    },
  };
}

export interface LiveFeed {
  /** The last entry that was delivered. */
  readonly cursor: () => string | undefined;
  readonly isDown: () => boolean;
  /** The files that it cannot read. */
  readonly unread: () => readonly UnreadFile[];
  /** Starts the feed for a client that is about to join: it may write its first line before it holds the feed. */
  readonly wake: () => void;
  /** Runs the feed until `release`. */
  readonly hold: () => void;
  readonly release: () => void;
  readonly dispose: Dispose;
}

/**
 * The one follower of the journal for all clients. After an interruption it continues after the last entry.
 * @param on.batch gets each batch before the feed's cursor moves, `on.moved` is called after that. The next batch is read
 * when the promise that it returns has settled.
 * @param on.lost called once each time the journal becomes unreadable.
 * @param on.unread called when the files that cannot be read have changed.
 */
export function createLiveFeed(
  { journal, clock }: { journal: Pick<Journal, "follow">; clock: Pick<Clock, "sleep" | "every"> },
  on: {
    readonly batch: (batch: readonly LiveEntry[]) => Promise<unknown>;
    readonly moved: () => void;
    readonly lost: (error: unknown) => void;
    readonly unread: (files: readonly UnreadFile[]) => void;
  },
): LiveFeed {
  let cursor: string | undefined;
  let isDown = false;
  let unread: readonly UnreadFile[] = [];
  let holders = 0;
  let running: AbortController | undefined;
  let stopGrace: Dispose | undefined;

  const follow = async (signal: AbortSignal): Promise<void> => {
    const onUnread = (files: readonly UnreadFile[]): void => {
      // A new follower reports them again.
      if (signal.aborted || JSON.stringify(files) === JSON.stringify(unread)) return;
      unread = files;
      on.unread(files);
    };
    const backoff = createBackoff(clock);
    while (!signal.aborted) {
      try {
        for await (const batch of journal.follow({ cursor, onUnread }, signal)) {
          if (signal.aborted) return;
          isDown = false;
          backoff.reset();
          const last = batch.at(-1);
          if (last === undefined) continue;
          const delivered = on.batch(batch);
          cursor = last.entry.cursor;
          on.moved();
          await delivered;
        }
      } catch (error) {
        if (signal.aborted) return;
        if (!isDown) on.lost(error);
        isDown = true;
        // The entry was deleted with its file: continue with what is written from now on.
        if (error instanceof LogQueryRefused) cursor = undefined;
      }
      await backoff.wait(signal);
    }
  };

  const start = (): void => {
    const started = new AbortController();
    running = started;
    cursor = undefined;
    isDown = false;
    unread = [];
    void follow(started.signal);
  };

  const stop = (): void => {
    stopGrace?.();
    stopGrace = undefined;
    running?.abort();
    running = undefined;
  };

  return {
    cursor: () => cursor,
    isDown: () => isDown,
    unread: () => unread,
    wake() {
      if (running === undefined) start();
      if (holders > 0) return;
      stopGrace?.();
      stopGrace = clock.every(graceMs, stop);
    },
    hold() {
      holders += 1;
      stopGrace?.();
      stopGrace = undefined;
      if (running === undefined) start();
    },
    release() {
      holders -= 1;
      if (holders === 0) stopGrace = clock.every(graceMs, stop);
    },
    dispose: stop,
  };
}
