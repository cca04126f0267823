/** Times that come again, by the local time of a zone. Epoch milliseconds. */
export interface Calendar {
  /** The last one that is not later than this; undefined without one. */
  readonly latest: (at: number) => number | undefined;
  /** The first one that is later than this; undefined without one. */
  readonly next: (at: number) => number | undefined;
}
