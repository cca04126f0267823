import { createFairQueue } from "#kernel/fair-queue.ts";
import type { Grep } from "./ports.ts";

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
