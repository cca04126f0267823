import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { countersGlobal, instrument } from "./instrument.ts";

/** Counters that there are at most, of all files together. */
const maxCounters = 2 ** 16;

/** What a run of the target has been seen to reach, all runs together. */
export interface Coverage {
  /** Starts a run: counters at zero. */
  readonly begin: () => void;
  /**
   * Ends a run.
   * @returns what it reached that none before it had: edges, or known ones so many times as never before.
   */
  readonly end: () => readonly number[];
  /** Edges that the last run went over, each as often as it did: a measure of work that no load on the machine changes. */
  readonly steps: () => number;
  /** Edges reached so far, and edges there are in the files that were loaded. */
  readonly edges: () => { readonly reached: number; readonly known: number };
  /** Strings and numbers of the instrumented files. */
  readonly literals: () => readonly (string | number)[];
}

/** How often an edge was taken, as one of eight bits: 1, 2, 3, 4–7, 8–15, 16–31, 32–127, more. */
function bucketOf(count: number): number {
  if (count < 4) return 1 << (count - 1);
  if (count < 32) return count < 8 ? 8 : count < 16 ? 16 : 32;
  return count < 128 ? 64 : 128;
}

/**
 * Instruments the modules that are loaded from now on, in this thread.
 * @param isWanted says which, by path.
 */
export function startCoverage(isWanted: (path: string) => boolean): Coverage {
  const counters = new Uint32Array(maxCounters);
  const seen = new Uint8Array(maxCounters);
  const literals = new Set<string | number>();
  let used = 0;
  let reached = 0;
  let steps = 0;
  Object.defineProperty(globalThis, countersGlobal, { value: counters });

  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.startsWith("file:")) return loaded;
      const path = fileURLToPath(url);
      if (!isWanted(path) || loaded.format === "json") return loaded;
      // CommonJS is handed on without its source.
      const source = loaded.source === null || loaded.source === undefined ? readFileSync(path) : loaded.source;
      const text = typeof source === "string" ? source : Buffer.from(source as Uint8Array).toString("utf8");
      const instrumented = instrument(path, text, used);
      if (used + instrumented.counters > maxCounters) throw new RangeError(`more than ${maxCounters} edges: ${path}`);
      used += instrumented.counters;
      for (const literal of instrumented.literals) literals.add(literal);
      return { ...loaded, source: instrumented.code };
    },
  });

  return {
    begin() {
      counters.fill(0, 0, used);
    },
    end() {
      const event: number[] = [];
      steps = 0;
      for (let at = 0; at < used; at += 1) {
        const count = counters[at] ?? 0;
        if (count === 0) continue;
        steps += count;
        const bucket = bucketOf(count);
        const before = seen[at] ?? 0;
        if ((before & bucket) !== 0) continue;
        if (before === 0) reached += 1;
        seen[at] = before | bucket;
        event.push(at * 256 + bucket);
      }
      return event;
    },
    steps: () => steps,
    edges: () => ({ reached, known: used }),
    literals: () => [...literals],
  };
}
