import { readdirSync, readFileSync } from "node:fs";
import { Counter, Gauge, Histogram, Registry } from "@prometheus-io/client";
import { type ApprovalStatus, approvalStatuses } from "#contract/approvals.ts";
import { type CheckStatus, checkStatuses } from "#contract/checks.ts";
import { streams } from "#contract/streams.ts";
import { requestMetrics } from "./request-metrics.ts";

/** To a collector: `exported` or `dropped`; received: `kept` or `rejected`. */
export type SpanResult = "exported" | "dropped" | "kept" | "rejected";

/** Names of connectors come from the settings, never from a request. */
export interface ModelCallSample {
  readonly connector: string;
  readonly result: string;
  readonly seconds: number;
  readonly tokens: { readonly input: number; readonly output: number } | undefined;
}

export type Metrics = ReturnType<typeof createMetrics>;

/** Buckets in seconds; the last is the usual time limit. */
const checkBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 30];

const modelCallBuckets = [0.5, 1, 2.5, 5, 10, 30, 60, 120];

const microsecondsPerSecond = 1_000_000;

const openFds = (): number => readdirSync("/proc/self/fd").length;

const maxFds = (): number => {
  const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
  return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
};

/** The usual process metrics of Prometheus client libraries that are cheap. */
function addProcessMetrics(registers: Registry[]): void {
  const gauges: readonly (readonly [string, string, () => number])[] = [
    ["process_resident_memory_bytes", "Resident memory size in bytes.", () => process.memoryUsage.rss()],
    ["process_open_fds", "Number of open file descriptors.", openFds],
    ["process_max_fds", "Maximum number of open file descriptors.", maxFds],
  ];
  for (const [name, help, read] of gauges) {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  }
  const startedAt = Math.round(performance.timeOrigin) / 1000;
  new Gauge({
    name: "process_start_time_seconds",
    help: "Start time of the process since unix epoch in seconds.",
    registers,
  }).set(startedAt);
  new Counter({
    name: "process_cpu_seconds_total",
    help: "Total user and system CPU time spent in seconds.",
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / microsecondsPerSecond);
    },
  });
}

function instrumentsOf(registers: Registry[]) {
  return {
    counter: <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Counter({ name, help, labelNames, registers }),
    gauge: <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Gauge({ name, help, labelNames, registers }),
    histogram: <L extends string>(name: string, help: string, buckets: readonly number[], ...labelNames: L[]) =>
      new Histogram({ name, help, labelNames, buckets: [...buckets], registers }),
  };
}

type Instruments = ReturnType<typeof instrumentsOf>;

function httpMetrics({ counter }: Instruments, registers: Registry[]) {
  const deprecated = counter(
    "svc_deprecated_requests_total",
    "Requests of deprecated operations, by callers that were admitted.",
    "operation",
  );
  const logins = counter("svc_logins_total", "Sessions started or elevated, and tries that were refused.", "result");
  for (const result of ["ok", "refused"]) logins.inc({ result }, 0);
  const approvals = counter("svc_approvals_total", "Calls that wait for approval, by what they have become.", "state");
  for (const state of approvalStatuses) approvals.inc({ state }, 0);
  let sessions = (): number => 0;
  new Gauge({
    name: "svc_sessions",
    help: "Sessions in browsers that have not ended.",
    registers,
    collect() {
      this.set(sessions());
    },
  });
  let connections = (): number => 0;
  new Gauge({
    name: "svc_active_connections",
    help: "Open client connections.",
    registers,
    collect() {
      this.set(connections());
    },
  });
  return {
    request: requestMetrics(registers),
    deprecatedRequest: (operation: string): void => deprecated.inc({ operation }),
    /** A call that waits for approval has become this. */
    approval: (state: ApprovalStatus): void => approvals.inc({ state }),
    login: (result: "ok" | "refused"): void => logins.inc({ result }),
    watchSessions: (count: () => number): void => {
      sessions = count;
    },
    watchConnections: (count: () => number): void => {
      connections = count;
    },
  };
}

function streamMetrics({ counter, gauge }: Instruments) {
  const clients = gauge("svc_ws_clients", "Connected clients of a stream.", "stream");
  const dropped = counter(
    "svc_ws_dropped_total",
    "Frames of a stream that clients lost because they were too slow.",
    "stream",
  );
  // A counter that starts at 0 has a rate from the start.
  for (const stream of Object.keys(streams)) {
    clients.set({ stream }, 0);
    dropped.inc({ stream }, 0);
  }
  return {
    streamClients: (stream: string, count: number): void => clients.set({ stream }, count),
    streamDropped: (stream: string, frames: number): void => dropped.inc({ stream }, frames),
  };
}

function healthMetrics({ counter, gauge, histogram }: Instruments) {
  const components = gauge("svc_component_up", "Whether the component was healthy at its last probe.", "component");
  const statuses = gauge("svc_check_status", "Last result of a health check: 0 pass, 1 warn, 2 fail, 3 skip.", "check");
  const durations = histogram(
    "svc_check_duration_seconds",
    "Time that a run of a health check took in seconds.",
    checkBuckets,
    "check",
  );
  const updates = gauge(
    "svc_updates_available",
    "Package updates that the last look at the package lists offered.",
    "kind",
  );
  const fixes = counter("svc_check_fixes_total", "Fixes of health checks that were carried out.", "fix", "result");
  return {
    componentUp: (component: string, isUp: boolean): void => components.set({ component }, isUp ? 1 : 0),
    checkRun: (check: string, status: CheckStatus, seconds: number): void => {
      statuses.set({ check }, checkStatuses.indexOf(status));
      durations.observe({ check }, seconds);
    },
    checkGone: (check: string): void => {
      statuses.remove({ check });
      durations.remove({ check });
    },
    updatesAvailable: (kind: "all" | "security", count: number): void => updates.set({ kind }, count),
    fixRun: (fix: string, isSuccess: boolean): void => fixes.inc({ fix, result: isSuccess ? "success" : "failure" }),
  };
}

function modelMetrics({ counter, histogram }: Instruments) {
  const calls = counter("svc_llm_requests_total", "Calls to language models that have ended.", "connector", "result");
  const used = counter(
    "svc_llm_tokens_total",
    "Tokens that language models took in and gave out.",
    "connector",
    "direction",
  );
  const durations = histogram(
    "svc_llm_request_duration_seconds",
    "Time that a call to a language model took in seconds, attempts and all.",
    modelCallBuckets,
    "connector",
  );
  return {
    modelCall: ({ connector, result, seconds, tokens }: ModelCallSample): void => {
      calls.inc({ connector, result });
      durations.observe({ connector }, seconds);
      if (tokens === undefined) return;
      used.inc({ connector, direction: "input" }, tokens.input);
      used.inc({ connector, direction: "output" }, tokens.output);
    },
  };
}

function pluginMetrics({ counter }: Instruments) {
  const runs = counter("svc_plugin_runs_total", "Runs of plugins that have ended.", "plugin", "result");
  return {
    pluginRun: (plugin: string, result: string): void => runs.inc({ plugin, result }),
    pluginGone: (plugin: string): void => {
      for (const result of ["success", "failure", "veto"]) runs.remove({ plugin, result });
    },
  };
}

export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  const instruments = instrumentsOf(registers);
  const notifications = instruments.counter(
    "svc_notifications_total",
    "Notifications to people that were sent or given up.",
    "channel",
    "outcome",
  );
  const journalFaults = instruments.counter(
    "svc_journal_faults_total",
    "Things found in journal files that cannot be read.",
  );
  const spans = instruments.counter(
    "svc_trace_spans_total",
    "Spans of traces by what became of them: exported to the collector or dropped, received and kept or rejected.",
    "result",
  );
  addProcessMetrics(registers);
  return {
    ...httpMetrics(instruments, registers),
    ...healthMetrics(instruments),
    ...streamMetrics(instruments),
    ...modelMetrics(instruments),
    ...pluginMetrics(instruments),
    notification: (channel: string, outcome: string): void => notifications.inc({ channel, outcome }),
    journalFault: (): void => journalFaults.inc(),
    traceSpans: (result: SpanResult, count: number): void => spans.inc({ result }, count),
    text: (): Promise<string> => registry.metrics(),
  };
}
