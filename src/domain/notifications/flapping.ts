/** Changes within this time count together. A component that has not changed for as long has settled. */
export const flapWindowMs = 10 * 60_000;
/** As many changes within the window are flapping. */
export const flapChanges = 4;

/** What is known of a component whose changes are told. */
export interface Watched {
  readonly isDown: boolean;
  /** How long ago it changed, each time within the window, oldest first. */
  readonly changeAgesMs: readonly number[];
  /** Changes since it began to flap; 0 while it does not. */
  readonly flaps: number;
  /** Changes that nobody was told of. */
  readonly untold: number;
}

export type Telling = "down" | "up" | "flaps" | "settled";

export interface Step {
  readonly watched: Watched;
  readonly tell?: { readonly what: Telling; readonly changes: number };
}

/** A component that nothing is known of is taken for well: one that is not is told at once. */
export const unknownComponent: Watched = { isDown: false, changeAgesMs: [], flaps: 0, untold: 0 };

/** Lets time pass. A component that flapped and then stayed as it is has settled, which is told if anything changed since. */
export function passed(watched: Watched, elapsedMs: number): Step {
  const changeAgesMs = watched.changeAgesMs.map((age) => age + elapsedMs).filter((age) => age < flapWindowMs);
  if (watched.flaps === 0 || changeAgesMs.length > 0) return { watched: { ...watched, changeAgesMs } };
  const settled = { isDown: watched.isDown, changeAgesMs, flaps: 0, untold: 0 };
  return watched.untold === 0
    ? { watched: settled }
    : { watched: settled, tell: { what: "settled", changes: watched.flaps } };
}

/** Takes up what a probe found. A component that flaps is told once, and then not until it has settled. */
export function found(watched: Watched, isDown: boolean): Step {
  if (watched.isDown === isDown) return { watched };
  const changeAgesMs = [...watched.changeAgesMs, 0].slice(-flapChanges);
  if (watched.flaps > 0) {
    return { watched: { isDown, changeAgesMs, flaps: watched.flaps + 1, untold: watched.untold + 1 } };
  }
  const changes = changeAgesMs.length;
  const next = { isDown, changeAgesMs, untold: 0 };
  if (changes >= flapChanges) return { watched: { ...next, flaps: changes }, tell: { what: "flaps", changes } };
  return { watched: { ...next, flaps: 0 }, tell: { what: isDown ? "down" : "up", changes } };
}
