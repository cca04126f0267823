import type { StoredNotification } from "#domain/ports/notifications.ts";

/** What is sent next, or how long it is until there is something. */
export type Turn = { readonly next: StoredNotification } | { readonly waitMs: number };

/**
 * Whose turn it is in a channel. A notification that is not taken pauses by itself, so that no other waits for it: what is new is
 * tried at once, the newest first. Those of one subject keep their order all the same, since the last word is the one that
 * counts: with each that is tried, those before it are tried once more.
 */
export interface Turns {
  /** @param queued those of the channel in their order of coming. Undefined when there is none. */
  readonly turn: (queued: readonly StoredNotification[]) => Turn | undefined;
  /** Lets one that has failed pause, and those of its subject before it no longer. */
  readonly pause: (failed: StoredNotification, queued: readonly StoredNotification[], pauseMs: number) => void;
  /** Those of its subject are tried with it. */
  readonly added: (added: StoredNotification, queued: readonly StoredNotification[]) => void;
  /** Nothing has to be remembered of it any more. */
  readonly ended: (id: string) => void;
}

export function createTurns(monotonicMs: () => number): Turns {
  /** When those that have failed are due. All others are, as all are after a restart. */
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
