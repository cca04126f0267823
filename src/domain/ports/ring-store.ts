/** Values by slots, each of so many milliseconds, counted from 1970. */
export interface Ring {
  readonly stepMs: number;
  /** So many slots, up to the newest. */
  readonly length: number;
  readonly newest: number;
  /** Row after row of `length` values, that of a slot at its number modulo the length; NaN for none. */
  readonly values: Float32Array;
}

/** Keeps rings for the next start of the service. */
export interface RingStore {
  /** None where they were not kept, or by another version. */
  readonly load: () => readonly Ring[] | undefined;
  readonly save: (rings: readonly Ring[]) => void;
}
