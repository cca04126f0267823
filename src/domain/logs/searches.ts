import type { Grep } from "./ports.ts";

/** Positions of the messages that match; none when nobody wants them any more. */
export type Search = (
  pattern: string,
  messages: readonly string[],
  isWanted: () => boolean,
) => Promise<ReadonlySet<number>>;

const none: ReadonlySet<number> = new Set();

/**
 * Searches one after the other. What nobody waits for any more when its turn comes is left out: clients that have gone
 * must not hold up the others with what they asked for.
 */
export function createSearches(grep: Grep): Search {
  let turn: Promise<unknown> = Promise.resolve();
  return (pattern, messages, isWanted) => {
    const search = turn.then(() => (isWanted() ? grep.matching(pattern, messages) : none));
    turn = search.catch(() => undefined);
    return search;
  };
}
