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
  unit: Text("The unit that it starts."),
  last_at: NullableTimestamp("When it last started it; null before the first time."),
  next_at: NullableTimestamp(
    "When it starts it next; null while that unit runs, and where it does not start it again.",
  ),
  rules: Texts("What it goes by, such as `OnCalendar=*-*-* 06:00:00`."),
});
const Socket = Type.Object({
  units: Texts("The units that a connection starts."),
  listens: Type.Array(Type.Object({ type: Text("`Stream`, `Datagram`, `FIFO`, …"), address: Type.String() })),
  accepts: Type.Boolean({ description: "Whether each connection gets a process of its own." }),
  connections: Type.Integer({ description: "Connections now, where each gets a process of its own; else 0." }),
});
const Mount = Type.Object({
  what: Text("Device, or what stands for it."),
  where: Text("Directory."),
  type: Text("Type of the file system."),
  options: Type.String(),
});
const Path = Type.Object({
  unit: Text("The unit that it starts."),
  rules: Type.Array(Type.Object({ condition: Text("`PathExists`, `PathChanged`, …"), path: Type.String() })),
});

/** What units of one kind tell besides. */
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
  result: Text("systemd's Result of its last run; empty for types without one."),
  since: NullableTimestamp("When the unit entered its present state; null when it never did since boot."),
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
  text: NullableString("With secrets redacted; null where it is not shown."),
  withheld: Type.Optional(Text("Why the text is not shown: only what every user of the host may read is.")),
});

const ServiceRun = Type.Object({
  started_at: NullableTimestamp("Null where that is not known."),
  ended_at: NullableTimestamp("Null while it runs, and where its end is not known."),
  duration_ms: NullableInteger("From start to end."),
  result: Text("`running`, `success`, systemd's Result of a failure (`exit-code`, `timeout`, …), or `unknown`."),
  exit: Text("How its main process ended where that was no success, such as `status=1/FAILURE`; else empty."),
});
export type ServiceRun = Static<typeof ServiceRun>;

export const dependencyKinds = [
  ...["requires", "requisite", "binds_to", "part_of", "upholds", "wants", "conflicts", "before", "after"],
  ...["required_by", "requisite_of", "bound_by", "consists_of", "upheld_by", "wanted_by", "conflicted_by"],
  ...["on_success", "on_failure", "on_success_of", "on_failure_of", "propagates_reload_to", "propagates_stop_to"],
  ...["triggers"],
] as const;

const files = {
  fragment: nullable(UnitFile, "The unit file; null where there is none."),
  drop_ins: Type.Array(UnitFile, { description: "In the order in which they count." }),
  source_path: Text("The file that a generator made the unit of; empty for none."),
  needs_reload: Type.Boolean({ description: "Whether these files have changed since systemd read them." }),
};

const running = {
  commands: Type.Array(
    Type.Object({
      setting: Text("`ExecStart`, `ExecReload`, …"),
      command: Text("With its arguments, and secrets redacted."),
      ignores_failure: Type.Boolean(),
      started_at: NullableTimestamp("When it was last run."),
      ended_at: NullableTimestamp("When that ended; null while it runs."),
      exit_code: NullableInteger("Null where it did not end by itself."),
    }),
  ),
  processes: Type.Array(Type.Object({ pid: Type.Integer(), command: Text("Command line with secrets redacted.") }), {
    description: "The first 100.",
  }),
  processes_total: Type.Integer(),
  last_run: ServiceRun,
  runs: nullable(
    Type.Array(ServiceRun),
    "The newest ten of the last 31 days by the journal, newest first; null where the key may not read the log of the unit.",
  ),
};

const resources = Type.Object(
  {
    memory_bytes: NullableInteger("Now."),
    memory_peak_bytes: NullableInteger("Most since its start, from systemd 256 on."),
    memory_swap_bytes: NullableInteger("Swapped out, from systemd 256 on."),
    cpu_seconds: NullableNumber("Processor time since its start."),
    tasks: NullableInteger("Processes and threads."),
    io_read_bytes: NullableInteger("From disks."),
    io_write_bytes: NullableInteger("To disks."),
    network_in_bytes: NullableInteger("Where `IPAccounting=` is on."),
    network_out_bytes: NullableInteger("Where `IPAccounting=` is on."),
  },
  { description: "Of its control group; null where it is not accounted." },
);

const limits = Type.Object(
  {
    memory_max_bytes: NullableInteger("`MemoryMax=`"),
    memory_high_bytes: NullableInteger("`MemoryHigh=`"),
    memory_swap_max_bytes: NullableInteger("`MemorySwapMax=`"),
    cpu_percent: NullableNumber("`CPUQuota=`, of one processor."),
    tasks_max: NullableInteger("`TasksMax=`"),
    open_files: NullableInteger("`LimitNOFILE=`: what a process starts with."),
    open_files_max: NullableInteger("`LimitNOFILE=`: what a process may raise it to."),
    processes: NullableInteger("`LimitNPROC=`, of its user."),
    runtime_max_ms: NullableInteger("`RuntimeMaxSec=`"),
  },
  { description: "Null for none." },
);

export const ServiceDetails = Type.Object({
  ...ServiceEntry.properties,
  names: Texts("All its names: its own and aliases."),
  documentation: Texts("Addresses."),
  result: Text("systemd's Result of its last run."),
  load_error: Text("Why systemd could not load it; empty where it could."),
  status_text: Text("What the service says of itself (sd_notify(3)), secrets redacted; empty for nothing."),
  type: Text("`Type=`"),
  restart: Text("`Restart=`"),
  user: Text("`User=`; empty for root."),
  group: Text("`Group=`; empty for that of the user."),
  slice: Type.String(),
  control_group: Text("Empty while it does not run."),
  invocation_id: Text("Another one with each start; empty when it was not started since boot."),
  unmet_conditions: Texts("Conditions and assertions that did not hold when they were last looked at."),
  control: Type.Object({
    permitted: Type.Boolean({ description: "Whether this service may change it." }),
    reason: Text("Why not; else empty."),
  }),
  files: Type.Object(files),
  ...running,
  dependencies: Type.Object(
    Object.fromEntries(dependencyKinds.map((kind) => [kind, Type.Array(Type.String())])) as Record<
      (typeof dependencyKinds)[number],
      ReturnType<typeof Texts>
    >,
    { description: "Names of units by what ties them to this one, in both directions." },
  ),
  triggered_by: Type.Array(
    Type.Object({
      name: Type.String(),
      active_state: Type.String(),
      ...optional({ timer: Timer, socket: Socket, path: Path }),
    }),
    { description: "What can start it." },
  ),
  bus_name: Text("A call of this name on the bus starts it; empty for none."),
  resources,
  limits,
  listening: nullable(
    Type.Array(Type.Object({ protocol: Choice(["tcp", "udp"]), address: Type.String(), port: Type.Integer() })),
    "Network sockets that its processes wait at; null where it was not asked for or cannot be found out.",
  ),
  security: nullable(
    Type.Object({
      exposure: Type.Number({ description: "0 (nothing to be had of it) to 10, by `systemd-analyze security`." }),
      level: Text("systemd's word for it, such as `MEDIUM` or `UNSAFE`."),
    }),
    "How much of the host is open to whoever takes the service over; null where it was not asked for or cannot be found out.",
  ),
  logs: nullable(
    Type.Array(LogEntry),
    "The newest 20 entries, oldest first, of each the first 8 KiB; null where the key may not read the log of the unit.",
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
      "State, files, commands, dependencies, what starts it, resources, limits, processes, runs and the end of its log. The log and the runs of the journal take `logs:read`, which may be narrowed to the unit. Two parts take a program of the host and are given on request alone.",
    scope: "system:read",
    effect: "read",
    params: ServiceName,
    query: Options({
      listening: Type.Boolean({ default: false, description: "With the sockets that it waits at (starts `ss`)." }),
      security: Type.Boolean({
        default: false,
        description: "With systemd's judgement of its sandbox (starts `systemd-analyze`).",
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
      "Loaded units and installed unit files of these types together, ordered by name, without aliases. Timers say when they start what, sockets where they listen, mounts what is mounted where. On a host where systemd is not running: the unit files that are installed.",
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
