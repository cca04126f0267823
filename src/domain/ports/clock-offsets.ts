/** How far the clock is from the time of its source, as the program says that sets it. */
export interface ClockOffset {
  /** `chrony`, `systemd-timesyncd`, `ntpd`. */
  readonly program: string;
  /** The server, as the program names it; empty where it does not. */
  readonly server: string;
  /** Positive where the clock is behind. */
  readonly offsetMs: number;
  readonly stratum: number;
  /** When its source answered last, by the clock of the host then, epoch milliseconds; undefined where the program does not say. */
  readonly answeredAt: number | undefined;
}

export interface ClockOffsets {
  /** Whether such a program runs; no rights are needed to tell. */
  readonly canRead: () => Promise<boolean>;
  /** Undefined where no such program runs, or it has no source yet. @throws when what it says is nonsense. */
  readonly read: (signal: AbortSignal) => Promise<ClockOffset | undefined>;
}
