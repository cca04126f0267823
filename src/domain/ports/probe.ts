/** What a probe found of a component. */
export interface ProbeResult {
  readonly healthy: boolean;
  /** Whether this host should have the component: one that it cannot have does not make it unhealthy. */
  readonly expected: boolean;
  /** Why it is not healthy, for the log. */
  readonly reason?: string;
}

export const healthy: ProbeResult = { healthy: true, expected: true };

export const unhealthy = (reason: string): ProbeResult => ({ healthy: false, expected: true, reason });

/** Looks at one component once. A probe that throws counts as an expected component that is not healthy. */
export type Probe = (signal: AbortSignal) => Promise<ProbeResult>;
