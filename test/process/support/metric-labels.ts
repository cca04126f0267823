import type { Sample } from "./metrics.ts";

/** All metrics of the service with all their labels: none but these. */
export const metricLabels: Readonly<Record<string, readonly string[]>> = {
  svc_requests_total: ["endpoint", "method", "status"],
  svc_request_duration_seconds: ["endpoint", "method"],
  svc_active_connections: [],
  svc_deprecated_requests_total: ["operation"],
  svc_logins_total: ["result"],
  svc_sessions: [],
  svc_approvals_total: ["state"],
  svc_component_up: ["component"],
  svc_ws_clients: ["stream"],
  svc_ws_dropped_total: ["stream"],
  svc_check_status: ["check"],
  svc_check_duration_seconds: ["check"],
  svc_updates_available: ["kind"],
  svc_check_fixes_total: ["fix", "result"],
  svc_llm_requests_total: ["connector", "result"],
  svc_llm_tokens_total: ["connector", "direction"],
  svc_llm_request_duration_seconds: ["connector"],
  svc_plugin_runs_total: ["plugin", "result"],
  svc_notifications_total: ["channel", "outcome"],
  svc_journal_faults_total: [],
  svc_trace_spans_total: ["result"],
};

const familyOf = (name: string): string => (name in metricLabels ? name : name.replace(/_(?:bucket|count|sum)$/, ""));

/** The samples of the service's own metrics: what the process measures of itself has no labels. */
const own = (samples: readonly Sample[]): readonly Sample[] => samples.filter(({ name }) => name.startsWith("svc_"));

/** Which labels the metrics of these samples have, each set once, without the bound of a bucket. */
export function labelSets(samples: readonly Sample[]): Readonly<Record<string, readonly (readonly string[])[]>> {
  const families = Map.groupBy(own(samples), ({ name }) => familyOf(name));
  const setsOf = (found: readonly Sample[]): readonly (readonly string[])[] => {
    const named = found.map(({ name, labels }) =>
      Object.keys(labels)
        .filter((label) => label !== "le" || !name.endsWith("_bucket"))
        .sort(),
    );
    return [...new Map(named.map((names) => [names.join(), names])).values()];
  };
  return Object.fromEntries([...families].map(([name, found]) => [name, setsOf(found)]));
}

/** Each series of the service's own metrics: its name and its labels, which a scrape always has in one order. */
export const seriesOf = (samples: readonly Sample[]): readonly string[] =>
  own(samples).map(({ name, labels }) => `${name}${JSON.stringify(labels)}`);
