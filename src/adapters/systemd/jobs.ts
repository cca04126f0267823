import type { Signal } from "./connection.ts";

const maxResults = 256;

/** What stands for the result of a job that nobody can hear of any more. */
export const lostResult = "lost";

export interface Jobs {
  readonly onSignal: (signal: Signal) => void;
  readonly result: (path: string) => Promise<string>;
  /** The connection is gone: results that have not arrived never will. */
  readonly clear: () => void;
}

/** A job may be over before the reply that names it has been handled, so results are kept for a while. */
export function createJobs(): Jobs {
  const results = new Map<string, string>();
  const waiting = new Map<string, ((result: string) => void)[]>();
  return {
    onSignal({ member, body }) {
      if (member !== "JobRemoved") return;
      const [, path, , result] = body;
      if (typeof path !== "string" || typeof result !== "string") return;
      for (const tell of waiting.get(path) ?? []) tell(result);
      waiting.delete(path);
      results.set(path, result);
      for (const oldest of results.keys()) {
        if (results.size <= maxResults) break;
        results.delete(oldest);
      }
    },
    result(path) {
      const known = results.get(path);
      if (known !== undefined) return Promise.resolve(known);
      return new Promise((resolve) => waiting.set(path, [...(waiting.get(path) ?? []), resolve]));
    },
    clear() {
      results.clear();
      for (const tell of [...waiting.values()].flat()) tell(lostResult);
      waiting.clear();
    },
  };
}
