import type { Clock } from "#kernel/clock.ts";
import type { Programs } from "./programs.ts";

/** How long a size counts: it grows as the host moves on, and when a neighbour that had the same goes. */
const freshMs = 60_000;
/** How much time of one list goes into measuring, which reads the whole tree of a snapshot. */
const budgetMs = 2_000;

interface Measured {
  readonly bytes: number;
  readonly atMs: number;
}

export interface Sizeable {
  readonly key: string;
  readonly path: string;
  readonly usedSpace: number | null;
}

export type Sizes = (snapshots: readonly Sizeable[], signal: AbortSignal) => Promise<ReadonlyMap<string, number>>;

/** Measures what the removal of a snapshot frees: one that is due per call, more while there is time. */
export function createSizes({
  programs,
  clock,
}: {
  readonly programs: Pick<Programs, "exclusiveBytes">;
  readonly clock: Pick<Clock, "monotonicMs">;
}): Sizes {
  let known: ReadonlyMap<string, Measured> = new Map();

  const measure = async ({ key, path }: Sizeable, signal: AbortSignal): Promise<Measured> => {
    try {
      return { bytes: await programs.exclusiveBytes(path, signal), atMs: clock.monotonicMs() };
    } catch (error) {
      signal.throwIfAborted();
      // It went while it was measured, or takes too long: a list of snapshots does not depend on that.
      if (!(error instanceof Error)) throw error;
      return { bytes: known.get(key)?.bytes ?? 0, atMs: clock.monotonicMs() };
    }
  };

  return async (snapshots, signal) => {
    const startMs = clock.monotonicMs();
    const atOf = ({ key }: Sizeable): number => known.get(key)?.atMs ?? Number.NEGATIVE_INFINITY;
    const due = snapshots
      .filter((each) => each.usedSpace === null && startMs - atOf(each) >= freshMs)
      .toSorted((one, other) => Math.sign(atOf(one) - atOf(other)) || 0);
    const now = new Map(known);
    for (const each of due) {
      now.set(each.key, await measure(each, signal));
      if (clock.monotonicMs() - startMs >= budgetMs) break;
    }
    const keys = new Set(snapshots.map(({ key }) => key));
    known = new Map([...now].filter(([key]) => keys.has(key)));
    return new Map(snapshots.map(({ key, usedSpace }) => [key, usedSpace ?? known.get(key)?.bytes ?? 0]));
  };
}
