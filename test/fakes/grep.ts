import type { Grep } from "#domain/ports/journal.ts";
import { LogQueryRefused } from "#domain/ports/journal.ts";

export interface FakeGrep extends Grep {
  /** Expressions that count as taking too long. */
  readonly slow: Set<string>;
}

/** Matches at once, in this thread. */
export function createFakeGrep(): FakeGrep {
  const slow = new Set<string>();
  return {
    slow,
    async matching(pattern, messages) {
      await Promise.resolve();
      if (slow.has(pattern)) throw new LogQueryRefused("grep", "Takes too long");
      const expression = compile(pattern);
      return new Set(messages.flatMap((message, index) => (expression.test(message) ? [index] : [])));
    },
  };
}

function compile(pattern: string): RegExp {
  try {
    return new RegExp(pattern, /[A-Z]/.test(pattern) ? "" : "i");
  } catch (error) {
    throw new LogQueryRefused("grep", error instanceof Error ? error.message : "malformed");
  }
}
