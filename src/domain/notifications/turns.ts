import type { StoredNotification } from "#domain/ports/notifications.ts";

export type Turn = { readonly next: StoredNotification } | { readonly waitMs: number };

/**
 * The order of notifications in a channel. One that fails pauses alone: a new one is tried at once, the newest first. Those of one
 * subject keep their order, since the last one counts: with each that is tried, those before it are tried again.
 */
export type Turns = ReturnType<typeof createTurns>;

export function createTurns(monotonicMs: () => number) {
  /** When failed ones are due; all others are, and after a restart all. */
  const due = new Map<string, number>();
  const dueAt = ({ id }: StoredNotification): number => due.get(id) ?? Number.NEGATIVE_INFINITY;

  const noLaterThan = (last: StoredNotification, queued: readonly StoredNotification[], atMs: number): void => {
    for (const each of queued) {
      if (each.id === last.id) return;
      if (each.subject === last.subject && dueAt(each) > atMs) due.set(each.id, atMs);
    }
  };

  return {
    /** @param queued in order of arrival. @returns undefined when it is empty. */
    turn: (queued: readonly StoredNotification[]): Turn | undefined => {
      const nowMs = monotonicMs();
      const ready = queued.filter((each) => dueAt(each) <= nowMs);
      const chosen = ready.findLast(({ attempts }) => attempts === 0) ?? ready[0];
      const next = ready.find(({ subject }) => subject === chosen?.subject);
      if (next !== undefined) return { next };
      return queued.length === 0 ? undefined : { waitMs: Math.min(...queued.map(dueAt)) - nowMs };
    },
    /** Pauses a failed one, and those of its subject before it no longer. */
    pause: (failed: StoredNotification, queued: readonly StoredNotification[], pauseMs: number): void => {
      const atMs = monotonicMs() + pauseMs;
      due.set(failed.id, atMs);
      noLaterThan(failed, queued, atMs);
    },
    /** Makes those of its subject due with it. */
    added: (added: StoredNotification, queued: readonly StoredNotification[]): void =>
      noLaterThan(added, queued, monotonicMs()),
    ended: (id: string): void => void due.delete(id),
  };
}
