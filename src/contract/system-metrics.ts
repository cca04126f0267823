import { type Static, Type } from "typebox";
import type { Operations } from "./operation.ts";
import { Choice, MayLack, Options, Timestamp } from "./schema.ts";

export const systemMetricPoints = { minimum: 1, maximum: 360, default: 360 } as const;

const units = ["load", "percent", "bytes", "bytes_per_second"] as const;

interface Meaning {
  readonly unit: (typeof units)[number];
  readonly kind: "gauge" | "rate";
  readonly description: string;
}

const gauge = (unit: Meaning["unit"], description: string): Meaning => ({ unit, kind: "gauge", description });
const rate = (unit: Meaning["unit"], description: string): Meaning => ({ unit, kind: "rate", description });

const ofDisks =
  "disks with hardware, real or emulated, of their own: no partitions, loop, RAID or device-mapper devices";
const ofLinks =
  "network cards: no loopback, bridges, bonds, VLANs, tunnels or other virtual links; in a container its links to the host";
const someWaited = "Share of the last 10 s in which some task waited for";

/** What is sampled of the host. */
export const systemMetrics = {
  load_1m: gauge("load", "Load average over a minute."),
  load_15m: gauge("load", "Load average over 15 minutes."),
  cpu_busy_percent: rate("percent", "Share of processor time in use; in a container of its quota."),
  cpu_iowait_percent: rate("percent", "Share of processor time that was idle while work waited for disks."),
  memory_used_bytes: gauge("bytes", "Memory that is not available."),
  memory_available_bytes: gauge("bytes", "What can be had without swapping."),
  memory_total_bytes: gauge("bytes", "Memory of the host, or the container's limit where that is lower."),
  swap_used_bytes: gauge("bytes", "Swap space in use."),
  disk_read_bytes_per_second: rate("bytes_per_second", `Read from ${ofDisks}.`),
  disk_write_bytes_per_second: rate("bytes_per_second", `Written to ${ofDisks}.`),
  network_receive_bytes_per_second: rate("bytes_per_second", `Received by ${ofLinks}.`),
  network_transmit_bytes_per_second: rate("bytes_per_second", `Sent by ${ofLinks}.`),
  pressure_cpu_percent: gauge("percent", `${someWaited} a processor.`),
  pressure_memory_percent: gauge("percent", `${someWaited} memory.`),
  pressure_io_percent: gauge("percent", `${someWaited} disks.`),
} as const satisfies Readonly<Record<string, Meaning>>;

export type SystemMetricName = keyof typeof systemMetrics;
export const systemMetricNames = Object.keys(systemMetrics) as readonly SystemMetricName[];
export const isSystemMetric = (text: string): text is SystemMetricName => Object.hasOwn(systemMetrics, text);

const Values = (description: string) =>
  Type.Array(Type.Unsafe<number | null>({ type: ["number", "null"] }), { description });

export const SystemMetricSeries = Type.Object({
  name: Choice(systemMetricNames),
  description: Type.String({ description: "What it measures." }),
  unit: Choice(units),
  kind: Choice(["gauge", "rate"], "`gauge`: as it was at a time; `rate`: of the time since the sample before."),
  values: Values(
    "One for each step, oldest first: the sample, or the mean of several. Null where there is none: the service did not run, or it could not be read.",
  ),
  max: Type.Optional(Values("The highest sample of each step. Absent where a step is a single sample.")),
});
export type SystemMetricSeries = Static<typeof SystemMetricSeries>;

export const SystemMetrics = Type.Object({
  since: Timestamp("Where the first step begins, a multiple of `step_seconds` since 1970 in UTC."),
  until: Timestamp("Where the last step ends, which may continue yet."),
  step_seconds: Type.Integer({
    minimum: 10,
    description: "10, or 300 for what was more than an hour ago; a multiple of that where `points` are fewer.",
  }),
  series: Type.Array(SystemMetricSeries, { description: "Those that were asked for, all of the same length." }),
  ...MayLack,
});
export type SystemMetrics = Static<typeof SystemMetrics>;

export const systemMetricRows = {
  getSystemMetrics: {
    method: "GET",
    path: "/system/metrics",
    tag: "System",
    summary: "Load, memory, disks and network of the last hour or day",
    description: `Sampled every 10 s, kept for an hour as it is and for a day by 5 minutes, also over a restart of the service. What the host does not report is null, and \`not_shown\` says why. The series: ${systemMetricNames.map((name) => `\`${name}\``).join(", ")}.`,
    scope: "system:read",
    effect: "read",
    fromMemory: true,
    query: Options({
      names: Type.String({
        minLength: 1,
        maxLength: 1024,
        description: "Names of series, separated by commas. All unless given.",
        examples: ["load_1m,memory_used_bytes"],
      }),
      since: Type.String({
        format: "date-time",
        description: "Start of the window, RFC 3339. An hour ago unless given; what is older than a day is not kept.",
      }),
      points: Type.Integer({
        ...systemMetricPoints,
        description: "Most values of a series, which are then of longer steps.",
      }),
    }),
    response: SystemMetrics,
    errors: [],
  },
} as const satisfies Operations;
