import { readdirSync, readFileSync } from "node:fs";
import { Counter, Gauge, Histogram, Registry } from "@prometheus-io/client";
import { type CheckStatus, checkStatuses } from "#contract/checks.ts";
import { durationBuckets } from "#contract/limits.ts";
import { streams } from "#contract/streams.ts";

/**
 * What became of spans: on their way to the collector `exported` or `dropped`; of those that were received `kept` or `rejected`.
 */
export type SpanResult = "exported" | "dropped" | "kept" | "rejected";

/** One answered request. `endpoint` is the route template, `unmatched` for paths that have none. */
export interface RequestSample {
  readonly method: string;
  readonly endpoint: string;
  readonly status: number;
  readonly seconds: number;
}

/** One call to a language model. The names of connectors come from the settings, never from a request. */
export interface ModelCallSample {
  readonly connector: string;
  readonly result: string;
  readonly seconds: number;
  /** Undefined where there was no answer. */
  readonly tokens: { readonly input: number; readonly output: number } | undefined;
}

export interface Metrics {
  readonly request: (sample: RequestSample) => void;
  /** Where the number of open connections is to be asked. */
  readonly watchConnections: (count: () => number) => void;
  readonly componentUp: (component: string, isUp: boolean) => void;
  /** A notification to people that was sent or given up. */
  readonly notification: (channel: string, outcome: string) => void;
  /** How many clients a stream has. */
  readonly streamClients: (stream: string, count: number) => void;
  /** Frames that a slow client of a stream has lost. */
  readonly streamDropped: (stream: string, frames: number) => void;
  /** A run of a health check that has ended. */
  readonly checkRun: (check: string, status: CheckStatus, seconds: number) => void;
  /** A health check that is there no more: nothing of it is told any more. */
  readonly checkGone: (check: string) => void;
  /** Package updates that the last look offered: all of them, or those for security. */
  readonly updatesAvailable: (kind: "all" | "security", count: number) => void;
  /** A fix that has ended. */
  readonly fixRun: (fix: string, isSuccess: boolean) => void;
  /** A call to a language model that has ended. */
  readonly modelCall: (sample: ModelCallSample) => void;
  /** A run of a plugin that has ended. */
  readonly pluginRun: (plugin: string, result: string) => void;
  /** A plugin that is part of the service no more. */
  readonly pluginGone: (plugin: string) => void;
  /** Something in a journal file that cannot be read. */
  readonly journalFault: () => void;
  /** Spans of which it is known what became of them. */
  readonly traceSpans: (result: SpanResult, count: number) => void;
  /** All metrics in the Prometheus text format 0.0.4. */
  readonly text: () => Promise<string>;
}

/** Upper bounds of the duration of checks in seconds; the last is their time limit. */
const checkBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 30];

/** Upper bounds of the duration of calls to language models in seconds; the last is their usual time limit. */
const modelCallBuckets = [0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** Kernel clock ticks never reach us: Node gives processor time in microseconds. */
const microsecondsPerSecond = 1_000_000;

const openFds = (): number => readdirSync("/proc/self/fd").length;

const maxFds = (): number => {
  const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
  return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
};

/** The process metrics that every Prometheus client library offers, and no more: each reads one cheap value. */
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

/** The metrics of the service, in a registry of their own. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const requests = new Counter({
    name: "svc_requests_total",
    help: "Requests answered.",
    labelNames: ["method", "endpoint", "status"],
    registers,
  });
  const durations = new Histogram({
    name: "svc_request_duration_seconds",
    help: "Time to answer a request in seconds.",
    labelNames: ["method", "endpoint"],
    buckets: [...durationBuckets],
    registers,
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
  const components = new Gauge({
    name: "svc_component_up",
    help: "Whether the component was well at its last probe.",
    labelNames: ["component"],
    registers,
  });
  const streamClients = new Gauge({
    name: "svc_ws_clients",
    help: "Connected clients of a stream.",
    labelNames: ["stream"],
    registers,
  });
  const streamDropped = new Counter({
    name: "svc_ws_dropped_total",
    help: "Frames of a stream that clients lost because they were too slow.",
    labelNames: ["stream"],
    registers,
  });
  const checkStatus = new Gauge({
    name: "svc_check_status",
    help: "Last result of a health check: 0 pass, 1 warn, 2 fail, 3 skip.",
    labelNames: ["check"],
    registers,
  });
  const checkDurations = new Histogram({
    name: "svc_check_duration_seconds",
    help: "Time that a run of a health check took in seconds.",
    labelNames: ["check"],
    buckets: checkBuckets,
    registers,
  });
  const updatesAvailable = new Gauge({
    name: "svc_updates_available",
    help: "Package updates that the last look at the package lists offered.",
    labelNames: ["kind"],
    registers,
  });
  const fixes = new Counter({
    name: "svc_check_fixes_total",
    help: "Fixes of health checks that were carried out.",
    labelNames: ["fix", "result"],
    registers,
  });
  const modelCalls = new Counter({
    name: "svc_llm_requests_total",
    help: "Calls to language models that have ended.",
    labelNames: ["connector", "result"],
    registers,
  });
  const modelTokens = new Counter({
    name: "svc_llm_tokens_total",
    help: "Tokens that language models took in and gave out.",
    labelNames: ["connector", "direction"],
    registers,
  });
  const modelDurations = new Histogram({
    name: "svc_llm_request_duration_seconds",
    help: "Time that a call to a language model took in seconds, attempts and all.",
    labelNames: ["connector"],
    buckets: modelCallBuckets,
    registers,
  });
  const pluginRuns = new Counter({
    name: "svc_plugin_runs_total",
    help: "Runs of plugins that have ended.",
    labelNames: ["plugin", "result"],
    registers,
  });
  const notifications = new Counter({
    name: "svc_notifications_total",
    help: "Notifications to people that were sent or given up.",
    labelNames: ["channel", "outcome"],
    registers,
  });
  const journalFaults = new Counter({
    name: "svc_journal_faults_total",
    help: "Things found in journal files that cannot be read.",
    registers,
  });
  const traceSpans = new Counter({
    name: "svc_trace_spans_total",
    help: "Spans of traces by what became of them: exported to the collector or dropped, received and kept or rejected.",
    labelNames: ["result"],
    registers,
  });
  // Known from the start, so that a rate over them has a beginning.
  for (const stream of Object.keys(streams)) {
    streamClients.set({ stream }, 0);
    streamDropped.inc({ stream }, 0);
  }
  addProcessMetrics(registers);
  return {
    request({ method, endpoint, status, seconds }) {
      requests.inc({ method, endpoint, status: String(status) });
      durations.observe({ method, endpoint }, seconds);
    },
    watchConnections(count) {
      connections = count;
    },
    componentUp(component, isUp) {
      components.set({ component }, isUp ? 1 : 0);
    },
    streamClients(stream, count) {
      streamClients.set({ stream }, count);
    },
    streamDropped(stream, frames) {
      streamDropped.inc({ stream }, frames);
    },
    checkRun(check, status, seconds) {
      checkStatus.set({ check }, checkStatuses.indexOf(status));
      checkDurations.observe({ check }, seconds);
    },
    checkGone(check) {
      checkStatus.remove({ check });
      checkDurations.remove({ check });
    },
    updatesAvailable: (kind, count) => updatesAvailable.set({ kind }, count),
    fixRun: (fix, isSuccess) => fixes.inc({ fix, result: isSuccess ? "success" : "failure" }),
    modelCall({ connector, result, seconds, tokens }) {
      modelCalls.inc({ connector, result });
      modelDurations.observe({ connector }, seconds);
      if (tokens === undefined) return;
      modelTokens.inc({ connector, direction: "input" }, tokens.input);
      modelTokens.inc({ connector, direction: "output" }, tokens.output);
    },
    pluginRun: (plugin, result) => pluginRuns.inc({ plugin, result }),
    pluginGone(plugin) {
      for (const result of ["success", "failure", "veto"]) pluginRuns.remove({ plugin, result });
    },
    notification: (channel, outcome) => notifications.inc({ channel, outcome }),
    journalFault: () => journalFaults.inc(),
    traceSpans: (result, count) => traceSpans.inc({ result }, count),
    text: () => registry.metrics(),
  };
}
