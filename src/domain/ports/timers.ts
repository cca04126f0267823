/** An active systemd timer and the unit that it starts. Times are epoch milliseconds. */
export interface Timer {
  readonly name: string;
  readonly unit: string;
  /** Null before the first time. */
  readonly lastStartAt: number | null;
  /** Null while its unit runs, and where it does not start it again. */
  readonly nextStartAt: number | null;
  readonly unitActiveState: string;
  /** systemd's Result of the unit: `success`, `exit-code`, …; empty for kinds without one. */
  readonly unitResult: string;
  /** Of the last change of the unit's state. */
  readonly unitSince: number | null;
}

export interface Timers {
  /** In the order of their names; undefined where systemd does not run. @throws UnitsUnavailable without its answer. */
  readonly list: () => Promise<readonly Timer[] | undefined>;
}
