import { toTimestamp } from "#kernel/clock.ts";
import type { PastRun } from "./sources.ts";

/** A time in which a check failed or warned. Times are epoch milliseconds. */
export interface Episode {
  readonly from: number;
  readonly until: number;
  /** Its worst run, the first of them. */
  readonly worst: PastRun;
}

const isTrouble = ({ status }: PastRun): boolean => status === "fail" || status === "warn";

/** Episodes that have ended, oldest first. @param runs changes of the status, oldest first. */
export function episodesOf(runs: readonly PastRun[]): readonly Episode[] {
  const ended: Episode[] = [];
  let open: Pick<Episode, "from" | "worst"> | undefined;
  for (const run of runs) {
    if (!isTrouble(run)) {
      if (open !== undefined) ended.push({ ...open, until: run.checkedAt });
      open = undefined;
    } else if (open === undefined) open = { from: run.checkedAt, worst: run };
    else if (run.status === "fail" && open.worst.status === "warn") open = { ...open, worst: run };
  }
  return ended;
}

export function episodeLine({ from, until, worst }: Episode): string {
  const minutes = Math.max(1, Math.round((until - from) / 60_000));
  return `${toTimestamp(from)} to ${toTimestamp(until)} (${minutes} min), ${worst.status}: ${worst.message}`;
}
