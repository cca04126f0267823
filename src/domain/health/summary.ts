import type { CheckStatus, HealthCheckResult, HealthCheckSummary, Severity } from "#contract/checks.ts";
import type { HealthStatus } from "#contract/health.ts";

type Verdict = HealthStatus["status"];

const counters = { pass: "passed", warn: "warned", fail: "failed", skip: "skipped" } as const;

/**
 * Counts results by status.
 * @param durationMs how long it took to get all of them.
 */
export function summarize(
  results: readonly Pick<HealthCheckResult, "status">[],
  durationMs: number,
): HealthCheckSummary {
  const summary = { total: results.length, passed: 0, warned: 0, failed: 0, skipped: 0, duration_ms: durationMs };
  for (const { status } of results) summary[counters[status]] += 1;
  return summary;
}

/** What results say of the host as a whole. */
export function verdictOf(results: Iterable<{ readonly status: CheckStatus; readonly severity: Severity }>): Verdict {
  let verdict: Verdict = "healthy";
  for (const { status, severity } of results) {
    if (status === "fail" && severity === "critical") return "unhealthy";
    if (status === "fail" || status === "warn") verdict = "degraded";
  }
  return verdict;
}
