import type { LogTemplateStatus } from "#contract/log-exploration.ts";

/** How often a template occurs in a window. Times are microseconds since the epoch. */
export interface Occurrences {
  readonly count: number;
  readonly first: number;
  readonly last: number;
}

/** Those of a template in two windows, of which one follows the other. */
export interface Change<O extends Occurrences = Occurrences> {
  readonly before: O | undefined;
  readonly after: O | undefined;
}

/** A template has shifted when it became so much more frequent, or less, and has so many entries. */
const [shiftedBy, leastShifted] = [4, 10];

/** How long two windows are that meet at a moment: up to the first and last entry where they have no bounds. */
export function spansOf(
  { since, until, splitAt }: { readonly since: number; readonly until: number; readonly splitAt: number },
  changes: readonly Change[],
): readonly [before: number, after: number] {
  let [begin, end] = [splitAt, splitAt];
  for (const { before, after } of changes) {
    begin = Math.min(begin, before?.first ?? splitAt);
    end = Math.max(end, after?.last ?? splitAt);
  }
  return [Math.max(1, splitAt - Math.max(since, begin)), Math.max(1, Math.min(until, end) - splitAt)];
}

export function statusOf(
  { before, after }: Change,
  [spanBefore, spanAfter]: readonly [before: number, after: number],
): LogTemplateStatus {
  if (before === undefined) return "new";
  if (after === undefined) return "gone";
  const ratio = after.count / spanAfter / (before.count / spanBefore);
  const isShifted = before.count + after.count >= leastShifted && (ratio >= shiftedBy || ratio <= 1 / shiftedBy);
  return isShifted ? "shifted" : "same";
}

const rank: Readonly<Record<LogTemplateStatus, number>> = { new: 0, gone: 1, shifted: 2, same: 3 };

const countOf = ({ before, after }: Change): number => after?.count ?? before?.count ?? 0;

/** Orders templates as they are shown: by what has become of them, then the most frequent ones first. */
export function byInterest(
  left: Change & { readonly status: LogTemplateStatus | undefined },
  right: Change & { readonly status: LogTemplateStatus | undefined },
): number {
  const [one, other] = [left.status, right.status];
  const byStatus = one === undefined || other === undefined ? 0 : rank[one] - rank[other];
  return byStatus || countOf(right) - countOf(left);
}
