import type { Probe } from "#domain/ports/probe.ts";
import type { Clock } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { counted } from "#kernel/text.ts";
import { type BuiltInCheck, type CheckSettings, createIgnore, skip } from "../check.ts";
import { combineFindings } from "../grading.ts";

/** An address of the settings, and how to ask it. */
export interface Endpoint {
  readonly name: string;
  readonly probe: Probe;
}

export function endpointsCheck(ports: {
  endpoints: readonly Endpoint[];
  clock: Pick<Clock, "monotonicMs">;
}): BuiltInCheck {
  const { endpoints, clock } = ports;

  const ask = async ({ name, probe }: Endpoint, { warn, fail }: CheckSettings, signal: AbortSignal) => {
    const startedAtMs = clock.monotonicMs();
    const reason = await probe(signal).then(
      (result) => (result.healthy ? undefined : (result.reason ?? "it is unhealthy")),
      errorMessage,
    );
    const latencyMs = Math.round(clock.monotonicMs() - startedAtMs);
    if (reason !== undefined) return { name, latencyMs, status: "fail", problem: `${name}: ${reason}` } as const;
    const status =
      latencyMs >= (fail ?? latencyMs + 1) ? "fail" : latencyMs >= (warn ?? latencyMs + 1) ? "warn" : "pass";
    return { name, latencyMs, status, problem: `${name} took ${latencyMs} ms to answer` } as const;
  };

  return {
    id: "endpoints",
    name: "Addresses that have to answer",
    category: "network",
    severity: "high",
    about:
      "The addresses of `probes` in the settings, over HTTP, TCP and DNS: fails for one that does not answer as it " +
      "should, or whose certificate ends too soon. With `warn` or `fail`, an answer that takes so many " +
      "milliseconds counts as well. `ignore` takes names of probes.",
    meaning: "An address in the settings does not answer as expected, or answers too slowly.",
    remedy: "Check the service behind it and the network path to it.",
    intervalMs: 2 * 60_000,
    async run(settings, signal) {
      const isIgnored = createIgnore(settings.ignore);
      const asked = endpoints.filter(({ name }) => !isIgnored(name));
      if (asked.length === 0) return skip("The settings name no address to check (probes)");
      const findings = await Promise.all(asked.map((endpoint) => ask(endpoint, settings, signal)));
      return combineFindings(findings, `${counted(findings.length, "address", "addresses")} answering as expected`, {
        endpoints: findings.map(({ name, status, latencyMs }) => ({ name, status, latency_ms: latencyMs })),
      });
    },
  };
}
