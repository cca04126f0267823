import type { StoredComponent } from "#domain/ports/notifications.ts";

/** Changes within this time count together; a component without any in it has settled. */
export const flapWindowMs = 10 * 60_000;
/** This many changes within the window are flapping. */
export const flapChanges = 4;

export type Watched = Omit<StoredComponent, "name" | "savedAt">;

export type Telling = "down" | "up" | "flaps" | "settled";

export interface Step {
  readonly watched: Watched;
  readonly tell?: { readonly what: Telling; readonly changes: number };
}

/** Taken for healthy, so that an unhealthy one is notified at once. */
export const unknownComponent: Watched = { isDown: false, changeAgesMs: [], flaps: 0, pending: 0 };

/** Ages the changes. A flapping component without recent ones has settled, which is notified after further changes. */
export function passed(watched: Watched, elapsedMs: number): Step {
  const changeAgesMs = watched.changeAgesMs.map((age) => age + elapsedMs).filter((age) => age < flapWindowMs);
  if (watched.flaps === 0 || changeAgesMs.length > 0) return { watched: { ...watched, changeAgesMs } };
  const settled = { isDown: watched.isDown, changeAgesMs, flaps: 0, pending: 0 };
  return watched.pending === 0
    ? { watched: settled }
    : { watched: settled, tell: { what: "settled", changes: watched.flaps } };
}

/** Takes the result of a probe. Flapping is notified once, until it has settled. */
export function found(watched: Watched, isDown: boolean): Step {
  if (watched.isDown === isDown) return { watched };
  const changeAgesMs = [...watched.changeAgesMs, 0].slice(-flapChanges);
  if (watched.flaps > 0) {
    return { watched: { isDown, changeAgesMs, flaps: watched.flaps + 1, pending: watched.pending + 1 } };
  }
  const changes = changeAgesMs.length;
  const next = { isDown, changeAgesMs, pending: 0 };
  if (changes >= flapChanges) return { watched: { ...next, flaps: changes }, tell: { what: "flaps", changes } };
  return { watched: { ...next, flaps: 0 }, tell: { what: isDown ? "down" : "up", changes } };
}
