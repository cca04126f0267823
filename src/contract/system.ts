import { type Static, Type } from "typebox";
import { serviceListLimit } from "./limits.ts";
import { DryRunQuery, type Operations } from "./operation.ts";
import { Choice, MayLack, NullableInteger, NullableTimestamp, Options } from "./schema.ts";
import { unitSuffix } from "./scopes.ts";

const percent = (description: string) => Type.Number({ minimum: 0, maximum: 100, description });

export const SystemInfo = Type.Object({
  hostname: Type.String(),
  os: Type.Object({
    name: Type.String({ description: "Name of the distribution." }),
    version: Type.String({ description: "Version of the distribution; `rolling` if it has none." }),
    kernel: Type.String({ description: "Release of the running kernel." }),
  }),
  cpu: Type.Object({
    model: Type.String(),
    cores: Type.Integer({ description: "Physical cores." }),
    threads: Type.Integer({ description: "Logical processors; in a container at most its quota." }),
    load_percent: percent("Share of processor time in use between the last two samples, 5 s apart."),
  }),
  memory: Type.Object({
    total_bytes: Type.Integer({ description: "Memory of the host, or the limit of the container if that is lower." }),
    available_bytes: Type.Integer({ description: "Memory available without swapping." }),
    percent_used: percent("Share that is not available, in percent."),
  }),
  disk: Type.Object({
    path: Type.String(),
    total_bytes: Type.Integer(),
    free_bytes: Type.Integer({ description: "Available to unprivileged users, as `df` counts it." }),
    percent_used: percent("Used as a share of used and free, as `df` counts it."),
  }),
});
export type SystemInfo = Static<typeof SystemInfo>;

export const ServiceEntry = Type.Object({
  name: Type.String({ description: "Unit name, ending in `.service`." }),
  description: Type.String(),
  active: Type.Boolean({ description: "ActiveState is `active`." }),
  running: Type.Boolean({ description: "SubState is `running`." }),
  enabled: Type.Boolean({ description: "UnitFileState is `enabled` or `enabled-runtime`." }),
  active_state: Type.String({ description: "systemd's ActiveState." }),
  sub_state: Type.String({ description: "systemd's SubState." }),
  load_state: Type.String({ description: "systemd's LoadState; empty for a unit file that is not loaded." }),
  unit_file_state: Type.String({ description: "systemd's UnitFileState; empty for a unit without a file." }),
  main_pid: NullableInteger("Process id of the main process; null if none runs."),
  memory_bytes: NullableInteger("Memory of the control group of the unit; null if it is not accounted."),
  restarts: Type.Integer({ description: "Automatic restarts since the unit was last started by hand." }),
  since: NullableTimestamp("When the unit entered its current state; null if it has not run since boot."),
});
export type ServiceEntry = Static<typeof ServiceEntry>;

export const ServiceList = Type.Object({
  services: Type.Array(ServiceEntry),
  total: Type.Integer({ description: "Number of matches before `limit`." }),
  ...MayLack,
});

export const RestartResult = Type.Object({
  ...ServiceEntry.properties,
  success: Type.Boolean(),
  message: Type.String(),
  job_result: Type.String({
    description: "Result of the systemd job: `done`; `pending` if the unit is Steward itself.",
  }),
});
export type RestartResult = Static<typeof RestartResult>;

/** What a service can be asked to do, beside `restart`, which is the contract's. */
export const ServiceChange = Type.Object({
  ...RestartResult.properties,
  job_result: Type.String({
    description: "Result of the systemd job: `done`; empty if there was nothing to do.",
  }),
});
export type ServiceChange = Static<typeof ServiceChange>;

export const ServiceFileChange = Type.Object({
  ...ServiceEntry.properties,
  success: Type.Boolean(),
  message: Type.String(),
  changes: Type.Array(
    Type.Object({
      type: Type.String({ description: "Change reported by systemd, usually `symlink` or `unlink`." }),
      path: Type.String({ description: "The symbolic link that was created or removed." }),
      target: Type.String({ description: "Target of a link that was created; else empty." }),
    }),
    { description: "Changes in the unit directories; empty if there was nothing to do." },
  ),
});
export type ServiceFileChange = Static<typeof ServiceFileChange>;

export const ServiceName = Type.Object({
  name: Type.String({
    minLength: 1,
    description: "Unit name; `nginx` means `nginx.service`.",
    examples: ["nginx.service"],
  }),
});

export const ServiceInput = Options({
  confirm: Type.Boolean({
    default: false,
    description:
      "Must be true for the system bus and systemd-logind, because programs and sessions end with them. A dry run describes the consequences.",
  }),
});

/**
 * The canonical name of a service unit: `nginx` means `nginx.service`.
 * A name that has the suffix of another unit type is left as it is, so that it can be refused.
 */
export const serviceUnitName = (name: string): string => (unitSuffix.test(name) ? name : `${name}.service`);

export const unitStates = ["all", "active", "inactive", "failed"] as const;

export const system = {
  getSystemInfo: {
    method: "GET",
    path: "/system/info",
    tag: "System",
    summary: "Host information",
    scope: "system:read",
    effect: "read",
    response: SystemInfo,
    errors: [],
  },
  listServices: {
    method: "GET",
    path: "/system/services",
    tag: "System",
    summary: "Services of the host",
    description:
      "Loaded units and installed unit files, ordered by name. Aliases are not listed, nor units that others refer to but that do not exist. If systemd is not running: the installed unit files, as inactive, and `not_shown` says so.",
    scope: "system:read",
    effect: "read",
    versioned: true,
    query: Options({
      status: Choice(unitStates, "Only services in this ActiveState.", "all"),
      limit: Type.Integer({ ...serviceListLimit, description: "Maximum results." }),
    }),
    response: ServiceList,
    errors: ["UNAVAILABLE"],
  },
  restartService: {
    method: "POST",
    path: "/system/services/{name}/restart",
    tag: "System",
    summary: "Restart a service",
    description:
      "Waits up to 25 s for the job. A unit that has reached its start limit is reset first. If Steward itself is restarted, the answer is sent first. Services that give root access or end the host are refused with 400, unless the setting `services.allow` permits them.",
    scope: "services:restart",
    resource: ({ name = "" }) => serviceUnitName(name),
    effect: "write",
    params: ServiceName,
    query: DryRunQuery,
    body: ServiceInput,
    response: RestartResult,
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
  startService: {
    method: "POST",
    path: "/system/services/{name}/start",
    tag: "System",
    summary: "Start a service",
    description:
      "Waits up to 25 s for the job. A unit that has reached its start limit is reset first. The dry run lists the units that would be started, and the conflicting ones that would be stopped. Nothing is done if the service is active. The same services are refused as for a restart.",
    scope: "services:start",
    resource: ({ name = "" }) => serviceUnitName(name),
    effect: "write",
    params: ServiceName,
    query: DryRunQuery,
    body: ServiceInput,
    response: ServiceChange,
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
  stopService: {
    method: "POST",
    path: "/system/services/{name}/stop",
    tag: "System",
    summary: "Stop a service",
    description:
      "Waits up to 25 s for the job. The dry run lists the units that would be stopped because they require it, and the sockets, timers and paths that can start it again. Nothing is done if the service is inactive. The same services are refused as for a restart, and Steward itself.",
    scope: "services:stop",
    resource: ({ name = "" }) => serviceUnitName(name),
    effect: "danger",
    params: ServiceName,
    query: DryRunQuery,
    body: ServiceInput,
    response: ServiceChange,
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
  reloadService: {
    method: "POST",
    path: "/system/services/{name}/reload",
    tag: "System",
    summary: "Reload a service",
    description:
      "Makes the service read its configuration again. Waits up to 25 s for the job. Refused with 400 if the service does not run or its unit does not support reloading. The same services are refused as for a restart.",
    scope: "services:reload",
    resource: ({ name = "" }) => serviceUnitName(name),
    effect: "write",
    params: ServiceName,
    query: DryRunQuery,
    body: ServiceInput,
    response: ServiceChange,
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
  enableService: {
    method: "POST",
    path: "/system/services/{name}/enable",
    tag: "System",
    summary: "Enable a service at boot",
    description:
      "Creates the links that the `[Install]` section of the unit asks for, and reloads systemd. The service is not started. The same services are refused as for a restart.",
    scope: "services:enable",
    resource: ({ name = "" }) => serviceUnitName(name),
    effect: "write",
    params: ServiceName,
    query: DryRunQuery,
    body: ServiceInput,
    response: ServiceFileChange,
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
  disableService: {
    method: "POST",
    path: "/system/services/{name}/disable",
    tag: "System",
    summary: "Disable a service at boot",
    description:
      "Removes the links that enabled it, including one created by `systemctl link`, and reloads systemd. The service is not stopped. The same services are refused as for a restart, and Steward itself; none of these can be confirmed, because a reboot does not undo it.",
    scope: "services:enable",
    resource: ({ name = "" }) => serviceUnitName(name),
    effect: "write",
    params: ServiceName,
    query: DryRunQuery,
    response: ServiceFileChange,
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
  maskService: {
    method: "POST",
    path: "/system/services/{name}/mask",
    tag: "System",
    summary: "Mask a service, so that it cannot be started",
    description:
      "Links the unit to /dev/null, so that it cannot be started by hand or as a dependency. The service is not stopped. systemd refuses a unit whose file, or a link to it, is in /etc/systemd/system. The same services are refused as for a restart, and Steward itself; none of these can be confirmed, because a reboot does not undo it.",
    scope: "services:mask",
    resource: ({ name = "" }) => serviceUnitName(name),
    effect: "danger",
    params: ServiceName,
    query: DryRunQuery,
    response: ServiceFileChange,
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
  unmaskService: {
    method: "POST",
    path: "/system/services/{name}/unmask",
    tag: "System",
    summary: "Unmask a service, so that it can be started again",
    description: "Removes the link to /dev/null, and reloads systemd.",
    scope: "services:mask",
    resource: ({ name = "" }) => serviceUnitName(name),
    effect: "write",
    params: ServiceName,
    query: DryRunQuery,
    body: ServiceInput,
    response: ServiceFileChange,
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
} as const satisfies Operations;
