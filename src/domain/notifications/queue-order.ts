import type { StoredNotification } from "#domain/ports/notifications.ts";
import { subjectsOf } from "./grouping.ts";

export type Turn = { readonly next: StoredNotification } | { readonly waitMs: number };

/**
 * The order of notifications in a channel. One that fails pauses alone: a new one is tried at once, the newest first. Those of one
 * subject keep their order, since the last one counts: with each that is tried, those before it are tried again, and it waits for
 * them. One that has failed for some ten minutes holds nothing up any more: it may be the only one that is not taken.
 */
export type QueueOrder = ReturnType<typeof createQueueOrder>;

/** With the pauses between them eleven minutes. */
const holdingAttempts = 6;

/** One and those before it that have to go first: of its subjects, and of those that they share with others. In order of arrival. */
function upTo(last: StoredNotification, queued: readonly StoredNotification[]): readonly StoredNotification[] {
  const subjects = new Set(subjectsOf(last));
  const found: StoredNotification[] = [];
  const end = queued.findIndex(({ id }) => id === last.id);
  for (const each of queued.slice(0, end === -1 ? queued.length : end).reverse()) {
    const own = subjectsOf(each);
    if (!own.some((subject) => subjects.has(subject))) continue;
    for (const subject of own) subjects.add(subject);
    found.push(each);
  }
  return [...found.reverse(), last];
}

export function createQueueOrder(monotonicMs: () => number) {
  /** When failed ones are due; all others are, and after a restart all. */
  const due = new Map<string, number>();
  const dueAt = ({ id }: StoredNotification): number => due.get(id) ?? Number.NEGATIVE_INFINITY;

  const noLaterThan = (last: StoredNotification, queued: readonly StoredNotification[], atMs: number): void => {
    for (const each of upTo(last, queued)) if (dueAt(each) > atMs) due.set(each.id, atMs);
  };

  /** When each may go: not before those of its subjects that came before it. */
  const timesOf = (queued: readonly StoredNotification[]): ReadonlyMap<string, number> => {
    const bySubject = new Map<string, number>();
    const times = new Map<string, number>();
    for (const each of queued) {
      const subjects = subjectsOf(each);
      const time = Math.max(
        dueAt(each),
        ...subjects.map((subject) => bySubject.get(subject) ?? Number.NEGATIVE_INFINITY),
      );
      if (each.attempts <= holdingAttempts) for (const subject of subjects) bySubject.set(subject, time);
      times.set(each.id, time);
    }
    return times;
  };

  return {
    /** @param queued in order of arrival. @returns undefined when it is empty. */
    turn: (queued: readonly StoredNotification[]): Turn | undefined => {
      const nowMs = monotonicMs();
      const times = timesOf(queued);
      const ready = queued.filter(({ id }) => (times.get(id) ?? 0) <= nowMs);
      const chosen = ready.findLast(({ attempts }) => attempts === 0) ?? ready[0];
      const [next] = chosen === undefined ? [] : upTo(chosen, queued).filter((each) => ready.includes(each));
      if (next !== undefined) return { next };
      return queued.length === 0 ? undefined : { waitMs: Math.min(...times.values()) - nowMs };
    },
    /** Pauses a failed one, and those of its subject before it no longer. */
    pause: (failed: StoredNotification, queued: readonly StoredNotification[], pauseMs: number): void => {
      const atMs = monotonicMs() + pauseMs;
      due.set(failed.id, atMs);
      noLaterThan(failed, queued, atMs);
    },
    /** Has it wait, until the first one of its group is due that waits. */
    hold: (added: StoredNotification, first: StoredNotification, holdMs: number): void =>
      void due.set(added.id, due.get(first.id) ?? monotonicMs() + holdMs),
    /** Makes those of its subject due with it. */
    added: (added: StoredNotification, queued: readonly StoredNotification[]): void =>
      noLaterThan(added, queued, due.get(added.id) ?? monotonicMs()),
    ended: (id: string): void => void due.delete(id),
  };
}
