/** A check sees a change some time after it came, and the log tells at once. */
export const beforeChangeMs = 10 * 60_000;
export const afterChangeMs = 10_000;

/** Whether something happened around a change of a check. */
export const isAround = (atMs: number, changeMs: number): boolean =>
  atMs >= changeMs - beforeChangeMs && atMs <= changeMs + afterChangeMs;
