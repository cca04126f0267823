import type { StoredNotification } from "#domain/ports/notifications.ts";

export type Turn = { readonly next: StoredNotification } | { readonly waitMs: number };

/**
 * The order of notifications in a channel. One that fails pauses alone: a new one is tried at once, the newest first. Those of one
 * subject keep their order, since the last one counts: with each that is tried, those before it are tried again.
 */
export interface Turns {
  /** @param queued in order of arrival. @returns undefined when it is empty. */
  readonly turn: (queued: readonly StoredNotification[]) => Turn | undefined;
  /** Pauses a failed one, and those of its subject before it no longer. */
  readonly pause: (failed: StoredNotification, queued: readonly StoredNotification[], pauseMs: number) => void;
  /** Makes those of its subject due with it. */
  readonly added: (added: StoredNotification, queued: readonly StoredNotification[]) => void;
  readonly ended: (id: string) => void;
}

export function createTurns(monotonicMs: () => number): Turns {
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
    turn(queued) {
      const nowMs = monotonicMs();
      const ready = queued.filter((each) => dueAt(each) <= nowMs);
      const chosen = ready.findLast(({ attempts }) => attempts === 0) ?? ready[0];
      const next = ready.find(({ subject }) => subject === chosen?.subject);
      if (next !== undefined) return { next };
      return queued.length === 0 ? undefined : { waitMs: Math.min(...queued.map(dueAt)) - nowMs };
    },
    pause(failed, queued, pauseMs) {
      const atMs = monotonicMs() + pauseMs;
      due.set(failed.id, atMs);
      noLaterThan(failed, queued, atMs);
    },
    added: (added, queued) => noLaterThan(added, queued, monotonicMs()),
    ended: (id) => void due.delete(id),
  };
}
