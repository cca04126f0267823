import { type Static, type TSchema, Type } from "typebox";
import { serviceListLimit } from "./limits.ts";
import { LogEntry } from "./log-entry.ts";
import type { Operations } from "./operation.ts";
import {
  Choice,
  CountedListShape,
  Cursor,
  MayLack,
  NotShown,
  NullableInteger,
  NullableString,
  NullableTimestamp,
  Options,
  optional,
} from "./schema.ts";
import { ServiceEntry, ServiceName, unitStates } from "./system.ts";

const Text = (description: string) => Type.String({ description });
const Texts = (description: string) => Type.Array(Type.String(), { description });
const NullableNumber = (description: string) => Type.Unsafe<number | null>({ type: ["number", "null"], description });
const nullable = <T extends TSchema>(schema: T, description: string) =>
  Type.Union([schema, Type.Null()], { description });

const Timer = Type.Object({
  unit: Text("The unit that it activates."),
  last_at: NullableTimestamp("When it last activated the unit; null if it never did."),
  next_at: NullableTimestamp(
    "When it will activate the unit next; null while that unit runs, or if it will not be activated again.",
  ),
  rules: Texts("Timer settings, such as `OnCalendar=*-*-* 06:00:00`."),
});
const Socket = Type.Object({
  units: Texts("The units that a connection activates."),
  listens: Type.Array(Type.Object({ type: Text("`Stream`, `Datagram`, `FIFO`, …"), address: Type.String() })),
  accepts: Type.Boolean({ description: "Whether each connection is handled by its own process (`Accept=`)." }),
  connections: Type.Integer({ description: "Number of current connections with `Accept=yes`; else 0." }),
});
const Mount = Type.Object({
  what: Text("Device or other source."),
  where: Text("Directory."),
  type: Text("Type of the file system."),
  options: Type.String(),
});
const Path = Type.Object({
  unit: Text("The unit that it activates."),
  rules: Type.Array(Type.Object({ condition: Text("`PathExists`, `PathChanged`, …"), path: Type.String() })),
});

/** What units of one kind have besides. */
const kindFacts = optional({ timer: Timer, socket: Socket, mount: Mount, path: Path });

const unitTypes = ["service", "timer", "socket", "mount", "path", "target", "slice"] as const;

export const UnitEntry = Type.Object({
  name: Type.String({ description: "Unit name with its suffix." }),
  type: Choice(unitTypes),
  description: Type.String(),
  active_state: Text("systemd's ActiveState."),
  sub_state: Text("systemd's SubState."),
  load_state: Text("systemd's LoadState; empty for a unit file that is not loaded."),
  unit_file_state: Text("systemd's UnitFileState; empty for a unit without a file."),
  result: Text("systemd's Result of the last run; empty for types without one."),
  since: NullableTimestamp("When the unit entered its current state; null if it has not since boot."),
  ...kindFacts,
});
export type UnitEntry = Static<typeof UnitEntry>;

export const UnitList = Type.Object({
  units: Type.Array(UnitEntry),
  ...CountedListShape,
  ...MayLack,
});

const UnitFile = Type.Object({
  path: Type.String(),
  text: NullableString("Content with secrets redacted; null if it is not shown."),
  withheld: Type.Optional(
    Text("Why the content is not shown: only files that every user of the host can read are shown."),
  ),
});

const ServiceRun = Type.Object({
  started_at: NullableTimestamp("Null if it is unknown."),
  ended_at: NullableTimestamp("Null while it runs, or if its end is unknown."),
  duration_ms: NullableInteger("Time from start to end, in milliseconds."),
  result: Text("`running`, `success`, systemd's Result of a failure (`exit-code`, `timeout`, …), or `unknown`."),
  exit: Text("How its main process ended if it failed, such as `status=1/FAILURE`; else empty."),
});
export type ServiceRun = Static<typeof ServiceRun>;

export const dependencyKinds = [
  ...["requires", "requisite", "binds_to", "part_of", "upholds", "wants", "conflicts", "before", "after"],
  ...["required_by", "requisite_of", "bound_by", "consists_of", "upheld_by", "wanted_by", "conflicted_by"],
  ...["on_success", "on_failure", "on_success_of", "on_failure_of", "propagates_reload_to", "propagates_stop_to"],
  ...["triggers"],
] as const;

const files = {
  fragment: nullable(UnitFile, "The unit file; null if there is none."),
  drop_ins: Type.Array(UnitFile, { description: "Drop-in files, in the order in which they apply." }),
  source_path: Text("The file from which a generator created the unit; empty if there is none."),
  needs_reload: Type.Boolean({ description: "Whether these files have changed since systemd loaded them." }),
};

const running = {
  commands: Type.Array(
    Type.Object({
      setting: Text("`ExecStart`, `ExecReload`, …"),
      command: Text("Command with its arguments; secrets are redacted."),
      ignores_failure: Type.Boolean(),
      started_at: NullableTimestamp("When the command was last run."),
      ended_at: NullableTimestamp("When that run ended; null while it runs."),
      exit_code: NullableInteger("Exit code; null if it did not exit by itself."),
    }),
  ),
  processes: Type.Array(Type.Object({ pid: Type.Integer(), command: Text("Command line with secrets redacted.") }), {
    description: "The first 100.",
  }),
  processes_total: Type.Integer(),
  last_run: ServiceRun,
  runs: nullable(
    Type.Array(ServiceRun),
    "The newest ten runs of the last 31 days according to the journal, newest first; null if the key may not read the log of the unit.",
  ),
};

const resources = Type.Object(
  {
    memory_bytes: NullableInteger("Current memory."),
    memory_peak_bytes: NullableInteger("Peak memory since its start, from systemd 256 on."),
    memory_swap_bytes: NullableInteger("Swap in use, from systemd 256 on."),
    cpu_seconds: NullableNumber("Processor time since its start, in seconds."),
    tasks: NullableInteger("Number of processes and threads."),
    io_read_bytes: NullableInteger("Bytes read from disks."),
    io_write_bytes: NullableInteger("Bytes written to disks."),
    network_in_bytes: NullableInteger("Where `IPAccounting=` is on."),
    network_out_bytes: NullableInteger("Where `IPAccounting=` is on."),
  },
  { description: "Usage of its control group; null if it is not accounted." },
);

const limits = Type.Object(
  {
    memory_max_bytes: NullableInteger("`MemoryMax=`"),
    memory_high_bytes: NullableInteger("`MemoryHigh=`"),
    memory_swap_max_bytes: NullableInteger("`MemorySwapMax=`"),
    cpu_percent: NullableNumber("`CPUQuota=` in percent of one processor."),
    tasks_max: NullableInteger("`TasksMax=`"),
    open_files: NullableInteger("`LimitNOFILE=`: soft limit."),
    open_files_max: NullableInteger("`LimitNOFILE=`: hard limit."),
    processes: NullableInteger("`LimitNPROC=`, counted for its user."),
    runtime_max_ms: NullableInteger("`RuntimeMaxSec=`"),
  },
  { description: "Null if there is no limit." },
);

export const ServiceDetails = Type.Object({
  ...ServiceEntry.properties,
  names: Texts("All names of the unit, including aliases."),
  documentation: Texts("Addresses of its documentation."),
  result: Text("systemd's Result of its last run."),
  load_error: Text("Why systemd could not load it; empty if it could."),
  status_text: Text("Status text of the service (sd_notify(3)), with secrets redacted; empty if there is none."),
  type: Text("`Type=`"),
  restart: Text("`Restart=`"),
  user: Text("`User=`; empty for root."),
  group: Text("`Group=`; empty for the group of the user."),
  slice: Type.String(),
  control_group: Text("Control group; empty while the unit does not run."),
  invocation_id: Text("Invocation id, different for each start; empty if it was not started since boot."),
  unmet_conditions: Texts("Conditions and assertions that did not hold when they were last evaluated."),
  control: Type.Object({
    permitted: Type.Boolean({ description: "Whether Steward may change the unit." }),
    reason: Text("Why it may not; else empty."),
  }),
  files: Type.Object(files),
  ...running,
  dependencies: Type.Object(
    Object.fromEntries(dependencyKinds.map((kind) => [kind, Type.Array(Type.String())])) as Record<
      (typeof dependencyKinds)[number],
      ReturnType<typeof Texts>
    >,
    { description: "Names of related units by kind of dependency, in both directions." },
  ),
  triggered_by: Type.Array(
    Type.Object({
      name: Type.String(),
      active_state: Type.String(),
      ...optional({ timer: Timer, socket: Socket, path: Path }),
    }),
    { description: "What can activate it." },
  ),
  bus_name: Text("D-Bus name that activates it; empty if there is none."),
  resources,
  limits,
  listening: nullable(
    Type.Array(Type.Object({ protocol: Choice(["tcp", "udp"]), address: Type.String(), port: Type.Integer() })),
    "Network sockets that its processes listen on; null if not requested or unknown.",
  ),
  security: nullable(
    Type.Object({
      exposure: Type.Number({
        description: "Exposure from 0 (best) to 10, as reported by `systemd-analyze security`.",
      }),
      level: Text("Rating by systemd, such as `MEDIUM` or `UNSAFE`."),
    }),
    "How exposed the host is if the service is compromised; null if not requested or unknown.",
  ),
  logs: nullable(
    Type.Array(LogEntry),
    "The newest 20 entries, oldest first, each cut at 8 KiB; null if the key may not read the log of the unit. `not_shown` names journal files that could not be read.",
  ),
  not_shown: NotShown,
});
export type ServiceDetails = Static<typeof ServiceDetails>;

export const units = {
  getService: {
    method: "GET",
    path: "/system/services/{name}",
    tag: "System",
    summary: "Everything about a service",
    description:
      "State, files, commands, dependencies, activation, resources, limits, processes, runs and the end of its log. The log and the runs need `logs:read`, which may be narrowed to the unit. Two parts run a program of the host and are included only on request.",
    scope: "system:read",
    effect: "read",
    params: ServiceName,
    query: Options({
      listening: Type.Boolean({ default: false, description: "Include the sockets that it listens on (runs `ss`)." }),
      security: Type.Boolean({
        default: false,
        description: "Include the rating of its sandbox by systemd (runs `systemd-analyze`).",
      }),
    }),
    response: ServiceDetails,
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
  listUnits: {
    method: "GET",
    path: "/system/units",
    tag: "System",
    summary: "Units of the host",
    description:
      "Loaded units and installed unit files of these types, ordered by name, without aliases. Timers show when they activate which unit, sockets where they listen, mounts what is mounted where. If systemd is not running: the installed unit files.",
    scope: "system:read",
    effect: "read",
    query: Options({
      type: Choice(["all", ...unitTypes], "Only units of this type.", "all"),
      status: Choice(unitStates, "Only units in this ActiveState.", "all"),
      limit: Type.Integer({ ...serviceListLimit, description: "Maximum results." }),
      cursor: Cursor,
    }),
    response: UnitList,
    errors: ["UNAVAILABLE"],
  },
} as const satisfies Operations;
