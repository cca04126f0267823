import type { Grep } from "#domain/ports/journal.ts";
import { LogQueryRefused } from "#domain/ports/journal.ts";

export interface FakeGrep extends Grep {
  matching: Grep["matching"];
  /** Expressions that count as taking too long. */
  readonly slow: Set<string>;
}

/** Matches at once, in this thread. */
export function createFakeGrep(): FakeGrep {
  const slow = new Set<string>();
  return {
    slow,
    async matching(searches) {
      await Promise.resolve();
      return searches.map(({ pattern, messages }) => {
        if (slow.has(pattern)) return new LogQueryRefused("grep", "Takes too long");
        const expression = compile(pattern);
        if (expression instanceof Error) return expression;
        return new Set(messages.flatMap((message, index) => (expression.test(message) ? [index] : [])));
      });
    },
  };
}

function compile(pattern: string): RegExp | LogQueryRefused {
  try {
    return new RegExp(pattern, /[A-Z]/.test(pattern) ? "" : "i");
  } catch (error) {
    return new LogQueryRefused("grep", error instanceof Error ? error.message : "malformed");
  }
}
