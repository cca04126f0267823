import { type Static, Type } from "typebox";
import { processListLimit } from "./limits.ts";
import { DryRunQuery, type Operations } from "./operation.ts";
import { Choice, CountedListShape, Cursor, NullableString, Options, Strict, Timestamp } from "./schema.ts";
import { serviceUnitName } from "./system.ts";

/** Signals that can be sent: to end a process, to have it read its settings or show what it does, to hold it and let it continue. */
export const processSignals = ["TERM", "KILL", "HUP", "INT", "USR1", "USR2", "STOP", "CONT"] as const;
export type ProcessSignal = (typeof processSignals)[number];

const processOrders = ["cpu", "memory", "io", "deleted", "pid"] as const;

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
export const Pid = Type.Integer({ minimum: 1, maximum: 4_194_304, description: "Process id." });

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
    "Bytes read from and written to disks since the process started; null if unknown. The kernel shows those of other users only to root, so an installed service asks its privileged side for them, and only with `sort=io`.",
});

const ProcessDeletedFiles = Type.Unsafe<{ count: number; bytes: number; largest: string | null } | null>({
  type: ["object", "null"],
  properties: {
    count: { type: "integer", description: "Number of these files." },
    bytes: { type: "integer", description: "Disk usage of these files." },
    largest: { type: ["string", "null"], description: "Path that the largest had; null without any." },
  },
  required: ["count", "bytes", "largest"],
  description:
    "Deleted files that it still has open, whose space is free only once it closes them; null if unknown. Only with `sort=deleted`, for which an installed service asks its privileged side.",
});

export const ProcessEntry = Type.Object({
  pid: Pid,
  ppid: Type.Integer({ description: "Process id of the parent; 0 if there is none." }),
  name: Type.String({ description: "Name of the program, truncated by the kernel to 15 bytes." }),
  user: NullableString("Effective user: the name, or the number if it has no name; null if unknown."),
  unit: NullableString(
    "Unit of the system manager that the process belongs to: a service, or a scope such as a session; null without any.",
  ),
  start_time: Timestamp("When the process started. Together with the process id it identifies the process."),
  state: Choice(processStates, "State of its main thread."),
  threads: Type.Integer(),
  cpu_percent: cpuPercent("all its threads"),
  memory_bytes: Type.Integer({ description: "Resident memory, including memory shared with other processes." }),
  io: ProcessIo,
  command: NullableString(
    "Command line, truncated and with secrets redacted; empty for kernel threads and processes that have ended; null if it cannot be read.",
  ),
  is_kernel_thread: Type.Boolean({ description: "Whether it is a kernel thread." }),
  deleted_files: Type.Optional(ProcessDeletedFiles),
});
export type ProcessEntry = Static<typeof ProcessEntry>;

export const ProcessUnit = Type.Object({
  unit: NullableString("Name of the unit; null for processes without a unit, such as kernel threads."),
  processes: Type.Integer(),
  threads: Type.Integer(),
  cpu_percent: cpuPercent("its processes"),
  memory_bytes: Type.Integer({
    description: "Sum of the resident memory of its processes; shared memory is counted for each of them.",
  }),
});
export type ProcessUnit = Static<typeof ProcessUnit>;

export const ProcessList = Type.Object({
  processes: Type.Array(ProcessEntry),
  ...CountedListShape,
  units: Type.Optional(
    Type.Array(ProcessUnit, { description: "Sums of the matches by unit, in the same order; only with `by_unit`." }),
  ),
  sampled_at: Timestamp("When the newer of the two samples was taken."),
  cpu_seconds: Type.Number({ description: "Time between the two samples that `cpu_percent` is based on." }),
  is_complete: Type.Boolean({
    description:
      "False if the kernel hides processes of other users from this service (`ProtectProc=` of its unit, or the mount option `hidepid=`).",
  }),
  notes: Type.Array(Type.String(), { description: "What is missing from the answer, and why." }),
});
export type ProcessList = Static<typeof ProcessList>;

export const SignalResult = Type.Object({
  success: Type.Boolean(),
  message: Type.String(),
  pid: Pid,
  signal: Choice(processSignals, "The signal that was sent."),
  unit: NullableString("Unit of the process."),
  has_ended: Type.Boolean({
    description: "Whether the process ended before this answer, which waits at most a second.",
  }),
});
export type SignalResult = Static<typeof SignalResult>;

export const SignalInput = Strict({
  signal: Choice(processSignals, "Name of the signal without `SIG`."),
  start_time: Type.String({ format: "date-time", description: "`start_time` of the process, as in the list." }),
});

export const processes = {
  listProcesses: {
    method: "GET",
    path: "/system/processes",
    tag: "System",
    summary: "Processes of the host",
    description:
      "All callers share samples, which are at least a second apart. An answer compares the newest sample with the previous one; if that is older than a minute or missing, two samples are taken half a second apart. A process that started between the two counts from its start. Secrets in `command` are redacted; with `full_command` they are not, for keys with `processes:commands`. A narrowed key sees only the processes of its units.",
    scope: "processes:read",
    narrows: "answer",
    effect: "read",
    query: Options({
      sort: Choice(
        processOrders,
        "Sort order, the largest value first; `deleted` is the size of deleted files that are still open; with `pid` the smallest number first, an order that is the same on all pages.",
        "cpu",
      ),
      unit: Type.String({
        minLength: 1,
        maxLength: 255,
        description:
          "Only processes of this unit, or of units that match a pattern such as `nginx*`; `nginx` means `nginx.service`.",
      }),
      user: Type.String({
        minLength: 1,
        maxLength: 255,
        description: "Only processes of this user, by name or number.",
      }),
      pid: Type.Integer({ minimum: 1, maximum: 4_194_304, description: "Only this process." }),
      by_unit: Type.Boolean({ default: false, description: "Also return sums by unit." }),
      full_command: Type.Boolean({ default: false, description: "Return complete command lines, with secrets." }),
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
      "Only to the process that started at `start_time`, which is checked again right before: 409 if another process has its id by now. Refused with 400 for process 1, kernel threads, this service and its privileged tasks, and processes of units that must not be restarted. The dry run says what systemd does when the process ends.",
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
