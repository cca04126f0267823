export interface ProbeResult {
  readonly healthy: boolean;
  /** Whether this host should have the component; otherwise it is not unhealthy. */
  readonly expected: boolean;
  /** For the log, when unhealthy. */
  readonly reason?: string;
}

export const healthy: ProbeResult = { healthy: true, expected: true };

export const unhealthy = (reason: string): ProbeResult => ({ healthy: false, expected: true, reason });

/** Checks a component once. Throwing means expected and unhealthy. */
export type Probe = (signal: AbortSignal) => Promise<ProbeResult>;
