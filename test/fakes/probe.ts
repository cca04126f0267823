import type { Probe, ProbeResult } from "#domain/ports/probe.ts";

export interface FakeProbe {
  readonly probe: Probe;
  /** What the probe finds from now on; a function is run each time. */
  result: ProbeResult | (() => Promise<ProbeResult>);
  readonly runs: () => number;
}

/** A probe that finds what it is asked to. */
export function createFakeProbe(result: FakeProbe["result"] = { healthy: true, expected: true }): FakeProbe {
  let runs = 0;
  const fake: FakeProbe = {
    result,
    runs: () => runs,
    probe: async () => {
      runs += 1;
      return typeof fake.result === "function" ? fake.result() : fake.result;
    },
  };
  return fake;
}
