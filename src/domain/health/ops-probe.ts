import type { Probe } from "#domain/ports/probe.ts";

/**
 * `ops` is healthy when both of its halves are. It is expected where systemd runs: a container without it can have a package
 * manager that answers, and still nothing here could act on the host.
 */
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
