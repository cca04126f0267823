import { checkRunsKeptMs } from "#contract/limits.ts";
import type { HistoryChanges, StoredRun } from "#domain/ports/check-history.ts";
import type { Clock } from "#kernel/clock.ts";
import { createTimeline } from "./timeline.ts";

/** Runs as version 0.2 stored them, each of them for 30 days. */
export interface OldRuns {
  /** @param after the place of the last one that was read; 0 at first. */
  readonly read: (
    after: number,
    limit: number,
  ) => readonly { readonly place: number; readonly checkId: string; readonly run: StoredRun }[];
  /** Writes what has become of them, and removes them for good. */
  readonly replaceBy: (changes: HistoryChanges) => void;
}

const sliceRuns = 500;
/** Between slices others have their turn. */
const pauseMs = 2;

/**
 * Makes transitions and hours out of runs that an earlier version has stored one by one, and removes them. Nothing is written before all
 * have been read: after a kill it begins again.
 */
export async function migrateRuns(ports: {
  readonly old: OldRuns;
  readonly clock: Pick<Clock, "sleep">;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { old, clock, signal } = ports;
  const timeline = createTimeline({ aliveUntil: undefined, statusOf: () => undefined });
  let recent: { readonly checkId: string; readonly run: StoredRun }[] = [];
  let place = 0;
  for (;;) {
    const slice = old.read(place, sliceRuns);
    const last = slice.at(-1);
    if (last === undefined) break;
    for (const { checkId, run } of slice) timeline.run(checkId, run);
    const since = (timeline.aliveUntil() ?? 0) - checkRunsKeptMs;
    recent = [...recent, ...slice].filter(({ run }) => run.checkedAt >= since);
    place = last.place;
    await clock.sleep(pauseMs, signal);
    if (signal.aborted) return;
  }
  timeline.settle(timeline.aliveUntil() ?? 0);
  const ids = new Set(recent.map(({ checkId }) => checkId));
  const runs = new Map(
    [...ids].map((id) => [id, recent.filter(({ checkId }) => checkId === id).map(({ run }) => run)] as const),
  );
  old.replaceBy({ runs, transitions: timeline.transitions(), hours: timeline.hours(), areEarlier: true });
}
