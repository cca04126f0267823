/** How much a service could do to the host if it were taken over, in systemd's judgement. */
export interface Exposure {
  /** 0 (nothing) to 10 (everything). */
  readonly score: number;
  /** systemd's word for it: `OK`, `MEDIUM`, `EXPOSED`, `UNSAFE`, … */
  readonly level: string;
}

export interface BoundSocket {
  readonly protocol: "tcp" | "udp";
  readonly address: string;
  readonly port: number;
}

/** What a program of the host has to be started for. Both throw where it cannot be found out. */
export interface UnitExamination {
  readonly exposure: (name: string, signal: AbortSignal) => Promise<Exposure>;
  /** What processes of a control group and of those below it listen on. */
  readonly listening: (controlGroup: string, signal: AbortSignal) => Promise<readonly BoundSocket[]>;
}
