import { type Static, Type } from "typebox";
import { processListLimit } from "./limits.ts";
import { DryRunQuery, type Operations } from "./operation.ts";
import { Choice, CountedListShape, Cursor, NullableString, Options, Strict, Timestamp } from "./schema.ts";
import { serviceUnitName } from "./system.ts";

/** Signals that can be sent: to end a process, to have it read its settings or show what it does, to hold it and let it go on. */
export const processSignals = ["TERM", "KILL", "HUP", "INT", "USR1", "USR2", "STOP", "CONT"] as const;
export type ProcessSignal = (typeof processSignals)[number];

export const processOrders = ["cpu", "memory", "io", "pid"] as const;

/** What a process can be said to do (proc_pid_stat(5)). */
export const processStates = [
  "running",
  "sleeping",
  "disk_sleep",
  "stopped",
  "traced",
  "zombie",
  "dead",
  "idle",
  "parked",
  "unknown",
] as const;

/** The longest PID of a 64-bit kernel (PID_MAX_LIMIT). */
const Pid = Type.Integer({ minimum: 1, maximum: 4_194_304, description: "Process id." });

const cpuPercent = (of: string) =>
  Type.Number({
    minimum: 0,
    description: `Processor time of ${of} between the two samples, as a share of one processor: 200 is two of them for the whole time.`,
  });

const ProcessIo = Type.Unsafe<{ read_bytes: number; written_bytes: number } | null>({
  type: ["object", "null"],
  properties: { read_bytes: { type: "integer" }, written_bytes: { type: "integer" } },
  required: ["read_bytes", "written_bytes"],
  description:
    "Bytes that it had read from and written to disks since it started; null where they are not known. The kernel shows those of others to root alone, so an installed service asks root for them, with `sort=io` alone.",
});

export const ProcessEntry = Type.Object({
  pid: Pid,
  ppid: Type.Integer({ description: "Process id of the parent; 0 for none." }),
  name: Type.String({ description: "Name of the program, cut by the kernel to 15 bytes." }),
  user: NullableString("Effective user: its name, or its number without one; null where it is not known."),
  unit: NullableString(
    "systemd unit of the system that the process belongs to: a service, or a scope such as a session; null for none.",
  ),
  start_time: Timestamp("When it started. With the process id it names the process."),
  state: Choice(processStates, "What its main thread does."),
  threads: Type.Integer(),
  cpu_percent: cpuPercent("all its threads"),
  memory_bytes: Type.Integer({ description: "Resident memory, with what it shares with others." }),
  io: ProcessIo,
  command: NullableString(
    "Command line, cut and without secrets; empty for threads of the kernel and processes that have ended; null where it cannot be read.",
  ),
  is_kernel_thread: Type.Boolean({ description: "Whether it is a thread of the kernel and no program." }),
});
export type ProcessEntry = Static<typeof ProcessEntry>;

export const ProcessUnit = Type.Object({
  unit: NullableString("Name of the unit; null for what belongs to none, such as threads of the kernel."),
  processes: Type.Integer(),
  threads: Type.Integer(),
  cpu_percent: cpuPercent("its processes"),
  memory_bytes: Type.Integer({
    description: "Sum of the resident memory of its processes: what they share is counted for each.",
  }),
});
export type ProcessUnit = Static<typeof ProcessUnit>;

export const ProcessList = Type.Object({
  processes: Type.Array(ProcessEntry),
  ...CountedListShape,
  units: Type.Optional(
    Type.Array(ProcessUnit, { description: "Sums of the matches by unit, in the same order; with `by_unit` alone." }),
  ),
  sampled_at: Timestamp("When the newer of the two samples was taken."),
  cpu_seconds: Type.Number({ description: "Time between the two samples, for which `cpu_percent` holds." }),
  is_complete: Type.Boolean({
    description:
      "False where the kernel hides processes of other users from this service (`ProtectProc=` of its unit, or `hidepid=` where it runs without one).",
  }),
  notes: Type.Array(Type.String(), { description: "What cannot be seen, and why." }),
});
export type ProcessList = Static<typeof ProcessList>;

export const SignalResult = Type.Object({
  success: Type.Boolean(),
  message: Type.String(),
  pid: Pid,
  signal: Choice(processSignals, "The signal that was sent."),
  unit: NullableString("Unit of the process."),
  has_ended: Type.Boolean({
    description: "Whether the process had ended when this was answered, at most a second later.",
  }),
});
export type SignalResult = Static<typeof SignalResult>;

export const SignalInput = Strict({
  signal: Choice(processSignals, "Without `SIG`."),
  start_time: Type.String({ format: "date-time", description: "`start_time` of the process as it was listed." }),
});

export const processes = {
  listProcesses: {
    method: "GET",
    path: "/system/processes",
    tag: "System",
    summary: "Processes of the host",
    description:
      "All callers share samples, which are a second apart at least. An answer compares the newest with the one before it; where that is older than a minute or missing, two are taken half a second apart. A process that started between the two counts from its start. `command` is without secrets; `full_command` gives it whole, for keys with `processes:commands`. A narrowed key sees the processes of its units.",
    scope: "processes:read",
    narrows: "answer",
    effect: "read",
    query: Options({
      sort: Choice(
        processOrders,
        "What comes first: the most of it; with `pid` the smallest number, an order that stays the same from page to page.",
        "cpu",
      ),
      unit: Type.String({
        minLength: 1,
        maxLength: 255,
        description: "Only processes of this unit, or of units like `nginx*`; `nginx` means `nginx.service`.",
      }),
      user: Type.String({
        minLength: 1,
        maxLength: 255,
        description: "Only processes of this user, by name or number.",
      }),
      pid: Type.Integer({ minimum: 1, maximum: 4_194_304, description: "Only this process." }),
      by_unit: Type.Boolean({ default: false, description: "Also sums by unit." }),
      full_command: Type.Boolean({ default: false, description: "Command lines with their secrets." }),
      limit: Type.Integer({ ...processListLimit, description: "Maximum results." }),
      cursor: Cursor,
    }),
    response: ProcessList,
    errors: [],
  },
  signalProcess: {
    method: "POST",
    path: "/system/processes/{pid}/signal",
    tag: "System",
    summary: "Send a signal to a process",
    description:
      "Only to the process that started at `start_time`, which is checked again right before: 409 where another one has its number since. Refused with 400 for process 1, threads of the kernel, this service and what it has root do, and processes of units that must not be restarted. The dry run says what systemd does when the process ends.",
    scope: "processes:signal",
    narrows: "answer",
    effect: "danger",
    params: Type.Object({ pid: Pid }),
    query: DryRunQuery,
    body: SignalInput,
    response: SignalResult,
    errors: ["NOT_FOUND", "CONFLICT", "UNAVAILABLE"],
  },
} as const satisfies Operations;

/** The unit that a filter means: `nginx` means `nginx.service`; a pattern is taken as it is. */
export const processUnitName = (text: string): string => (text.includes("*") ? text : serviceUnitName(text));
