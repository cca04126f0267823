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

interface Bounds {
  /** Microseconds since the epoch. */
  readonly since: number;
  readonly until: number;
}

/**
 * How long two windows are: up to the first and last entry where they have no bounds, and where the journal does not reach them. Where
 * one begins when the other ends, they meet there.
 */
export function spansOf(
  { since, until, before }: Bounds & { readonly before: Bounds },
  changes: readonly Change[],
): readonly [before: number, after: number] {
  const firstOf = (all: readonly (Occurrences | undefined)[], otherwise: number): number =>
    all.reduce((least, each) => Math.min(least, each?.first ?? Infinity), otherwise);
  const lastOf = (all: readonly (Occurrences | undefined)[], otherwise: number): number =>
    all.reduce((most, each) => Math.max(most, each?.last ?? 0), otherwise);
  const [earlier, later] = [changes.map((each) => each.before), changes.map((each) => each.after)];
  const end = Number.isFinite(before.until) ? before.until + 1 : lastOf(earlier, 0);
  const begin = since > 0 ? since : firstOf(later, Math.min(until, lastOf(later, 0)));
  return [
    Math.max(1, end - Math.max(before.since, firstOf(earlier, end))),
    Math.max(1, Math.min(until, lastOf(later, begin)) - begin),
  ];
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
