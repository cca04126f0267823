import type { HealthStatus, health } from "#contract/health.ts";
import type { Handlers } from "#contract/operation.ts";
import type { Clock } from "#domain/kernel/clock.ts";
import { DomainError } from "#domain/kernel/error.ts";
import type { Components, Prober } from "./prober.ts";

/** The overall status that follows from the components. */
function overallStatus(components: Components): HealthStatus["status"] {
  const down = Object.entries(components).filter(([, result]) => result.expected && !result.healthy);
  if (down.some(([name]) => name === "ops" || name === "security")) return "unhealthy";
  return down.length > 0 ? "degraded" : "healthy";
}

/** The health part. */
export function healthHandlers(ports: {
  prober: Pick<Prober, "components">;
  clock: Pick<Clock, "monotonicMs">;
  version: string;
  /** Whether requests are welcome: false while starting and while shutting down. */
  isReady: () => boolean;
}): Handlers<typeof health> {
  const { prober, clock, version, isReady } = ports;
  const startedAtMs = clock.monotonicMs();
  const toStatus = (components: Components): HealthStatus => ({
    status: overallStatus(components),
    version,
    uptime_seconds: Math.floor((clock.monotonicMs() - startedAtMs) / 1000),
    components: {
      cli: components.cli.healthy,
      ops: components.ops.healthy,
      llm: components.llm.healthy,
      security: components.security.healthy,
    },
  });

  return {
    getHealth() {
      const components = prober.components();
      return components instanceof Promise ? components.then(toStatus) : toStatus(components);
    },
    getLiveness: () => ({ status: "ok" }),
    getReadiness() {
      if (!isReady())
        throw new DomainError("UNAVAILABLE", "cannot take requests: starting or shutting down", { retryable: true });
      return { status: "ok" };
    },
  };
}
