import type { Probe } from "#domain/ports/probe.ts";

/** Healthy when both probes are. Expected where systemd runs: without it nothing here could act on the host. */
export const opsProbe =
  (bus: Probe, packages: Probe): Probe =>
  async (signal) => {
    const results = await Promise.all([bus(signal), packages(signal)]);
    const [busResult, packageResult] = results;
    const missing = results.filter((result) => !result.healthy && result.expected);
    return {
      healthy: busResult.healthy && missing.length === 0,
      expected: busResult.expected,
      ...(missing.length > 0 || !busResult.healthy
        ? { reason: [busResult, packageResult].flatMap((result) => result.reason ?? []).join("; ") }
        : {}),
    };
  };
