import { idleConnectionMs } from "#contract/limits.ts";
import type { LogList } from "#contract/logs.ts";
import type { SerializedJson } from "#contract/operation.ts";
import { DomainError, invalid } from "#domain/common/error.ts";
import type { Journal, LogQuery } from "#domain/ports/journal.ts";
import { JournalUnavailable, LogQueryRefused } from "#domain/ports/journal.ts";
import { createTimeLimit, untilAborted } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import { createFairQueue, type FairQueueLimits, QueueFull } from "#kernel/fair-queue.ts";

/** Concurrent searches: one more than one key may have. */
export const searchesAtOnce = 3;
/** A search reads every message of its window. */
const searchLimits: FairQueueLimits = { atOnce: searchesAtOnce, atOncePerOwner: 2, waitingPerOwner: 8 };
/** Other queries use indexes, and mostly take milliseconds. */
export const queriesAtOnce = 3;
const queryLimits: FairQueueLimits = { atOnce: queriesAtOnce, atOncePerOwner: 2, waitingPerOwner: 64 };
/** From request to answer, including the wait for a turn. */
const answerWithinMs = idleConnectionMs - 15_000;
const longestRetrySeconds = 30;

export interface Reading {
  /** Id of the key, whose credentials share its turns. */
  readonly owner: string;
  readonly signal: AbortSignal;
}

/** Reads the journal for callers, who take turns. */
export interface LogReader {
  /** @throws DomainError VALIDATION_ERROR, UNAVAILABLE, or RATE_LIMITED when the owner has too many waiting. */
  readonly read: (query: LogQuery, reading: Reading) => Promise<SerializedJson<LogList>>;
  /** The same of whatever else is read of the journal. */
  readonly ask: <T>(question: (signal: AbortSignal) => Promise<T>, reading: Reading) => Promise<T>;
  /** The same of what searches messages. */
  readonly search: <T>(question: (signal: AbortSignal) => Promise<T>, reading: Reading) => Promise<T>;
}

const tookTooLong = (limitMs: number): DomainError =>
  new DomainError(
    "UNAVAILABLE",
    `cannot answer within ${limitMs / 1000} s: the journal is large, or others are searching it too (narrow the window, or try again later)`,
    { missing: "journal", retryable: true },
  );

const nobodyWaits = (cause: unknown): DomainError =>
  new DomainError(
    "UNAVAILABLE",
    "cannot continue reading the journal: the client has gone, or the service is stopping",
    { missing: "journal", retryable: true },
    cause,
  );

const asDomainError = (error: unknown): unknown => {
  if (error instanceof JournalUnavailable) {
    const details = { missing: "journal", retryable: true };
    return new DomainError("UNAVAILABLE", `cannot read the journal: ${error.message}`, details, error);
  }
  if (error instanceof LogQueryRefused) return invalid(error.field, error.message);
  return error;
};

/** Turns for one kind of query. */
function createQueueOrder(limits: FairQueueLimits, what: string, clock: Pick<Clock, "monotonicMs">) {
  const queue = createFairQueue(limits);
  /** Smoothed duration: the delay that a refused caller gets. */
  let typicalMs = 1_000;
  return async <T>({ owner, signal }: Reading, work: () => Promise<T>): Promise<T> => {
    try {
      return await queue(
        owner,
        async () => {
          const startedMs = clock.monotonicMs();
          try {
            return await work();
          } finally {
            typicalMs += (clock.monotonicMs() - startedMs - typicalMs) / 4;
          }
        },
        signal,
      );
    } catch (error) {
      if (!(error instanceof QueueFull)) throw error;
      const { atOncePerOwner, waitingPerOwner } = limits;
      const retryAfter = Math.min(longestRetrySeconds, Math.max(1, Math.ceil(typicalMs / 1000)));
      const message = `too many ${what} of this key at once: ${atOncePerOwner} run while ${waitingPerOwner} wait (try again in ${retryAfter} s)`;
      throw new DomainError("RATE_LIMITED", message, {
        running: atOncePerOwner,
        waiting: waitingPerOwner,
        retry_after_seconds: retryAfter,
      });
    }
  };
}

/** Reads the journal by turns and in bounded time, and translates its errors. */
export function createLogReader(ports: {
  readonly journal: Pick<Journal, "query">;
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
}): LogReader {
  const { journal, clock } = ports;
  const searching = createQueueOrder(searchLimits, "searches", clock);
  const querying = createQueueOrder(queryLimits, "log queries", clock);
  const inTime = async <T>(
    turns: typeof querying,
    work: (signal: AbortSignal) => Promise<T>,
    { owner, signal: outer }: Reading,
  ): Promise<T> => {
    const limit = createTimeLimit(clock, answerWithinMs, outer, tookTooLong);
    const { signal } = limit;
    try {
      return await turns({ owner, signal }, () => untilAborted(work(signal), signal));
    } catch (error) {
      throw outer.aborted ? nobodyWaits(error) : asDomainError(error);
    } finally {
      limit.end();
    }
  };
  return {
    read: (query, reading) =>
      inTime(query.grep === undefined ? querying : searching, (signal) => journal.query(query, signal), reading),
    ask: (question, reading) => inTime(querying, question, reading),
    search: (question, reading) => inTime(searching, question, reading),
  };
}
