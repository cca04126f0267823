import { type Static, Type } from "typebox";
import { templateIdPattern } from "./log-entry.ts";
import { DryRunQuery, type Operations, WayBack } from "./operation.ts";
import {
  Choice,
  MayLack,
  NullableInteger,
  NullableString,
  NullableTimestamp,
  Options,
  optional,
  Timestamp,
} from "./schema.ts";

const PackageUpdate = Type.Object({
  name: Type.String(),
  current_version: Type.String(),
  new_version: Type.String(),
  is_security: Type.Boolean(),
  architecture: Type.String(),
});

export const UpdateCheck = Type.Object({
  system: Type.Object({
    available: Type.Boolean({ description: "Whether the distribution has a newer point release." }),
    version: Type.String(),
    release_date: Type.String({ description: "Date, YYYY-MM-DD; empty if unknown." }),
    is_security: Type.Boolean(),
    changelog: Type.String({ description: "Release notes of the distribution; empty if unknown." }),
  }),
  packages: Type.Object({
    total: Type.Integer({ description: "Number of packages that can be updated." }),
    security: Type.Integer({ description: "Number of security updates among them." }),
    updates: Type.Array(PackageUpdate, { description: "Each package that can be updated." }),
  }),
  held: Type.Array(Type.String(), { description: "Packages that are held." }),
  package_manager: Type.String({ description: "`apt`, `dnf`, `zypper` or `pacman`." }),
  security_known: Type.Boolean({ description: "Whether the package manager distinguishes security updates." }),
  checked_at: NullableTimestamp("When the oldest of the package lists was last refreshed; null if there are no lists."),
  cache_age_seconds: NullableInteger("Age of the lists in seconds."),
  requires_reboot: Type.Boolean({ description: "Whether an earlier update needs a reboot to take effect." }),
  requires_restart: Type.Array(Type.String(), { description: "Services that still run replaced files." }),
  ...MayLack,
});
export type UpdateCheck = Static<typeof UpdateCheck>;

export const ChangedPackage = Type.Object({
  name: Type.String(),
  from: NullableString("Version before; null if the package was installed."),
  to: NullableString("Version now; null if the package was removed."),
});
export type ChangedPackage = Static<typeof ChangedPackage>;

const guardOutcomes = ["kept", "rolled_back", "rolled_back_still_worse", "rollback_failed"] as const;

const NewError = Type.Object({
  template: Type.String({
    pattern: templateIdPattern,
    description: "Id of the template, as `GET /system/logs/templates` has it; `template=` finds its entries.",
  }),
  unit: Type.String({ description: "Unit that the entries are about; empty if they name no unit." }),
  text: Type.String({ description: "The message, with `<*>` for parts that differ between entries." }),
  priority: Type.Integer({ minimum: 0, maximum: 3, description: "Severity of the most severe entry." }),
  count: Type.Integer({ minimum: 1, description: "Number of entries since the update." }),
});
export type NewError = Static<typeof NewError>;

export const GuardVerdict = Type.Object({
  outcome: Choice(
    guardOutcomes,
    "`rolled_back`: after the rollback, nothing is worse than before the update. `rollback_failed`: also if there is no snapshot to return to.",
  ),
  message: Type.String(),
  worse: Type.Array(Type.String(), {
    description: "Units, ports and checks that got worse, each with its state before and now.",
    examples: [["unit web.service: was active (running), now inactive (dead)"]],
  }),
  ...optional({
    restarted: Type.Array(Type.String(), {
      description: "Units that had run before and were started again after the rollback.",
    }),
    remaining: Type.Array(Type.String(), {
      description:
        "What is worse now, after a rollback or a failed one; absent if no rollback was needed, or if the state before the update was not recorded.",
    }),
    new_errors: Type.Array(NewError, {
      description:
        "Kinds of messages of severity `err` and worse that the journal has since the packages changed, and did not have before: the 20 most frequent. They alone do not cause a rollback. `message` names journal files that could not be read for it. Absent if the journal cannot be read, or if the time before the update was not recorded.",
    }),
  }),
});
export type GuardVerdict = Static<typeof GuardVerdict>;

const UnitRestart = Type.Object({
  unit: Type.String(),
  success: Type.Boolean(),
  message: Type.String(),
});
export type UnitRestart = Static<typeof UnitRestart>;

const LeftUnit = Type.Object({
  unit: Type.String(),
  reason: Type.String({ description: "Why it is not restarted, and what to do instead." }),
});

export const StaleReport = Type.Object({
  restartable: Type.Array(Type.String(), { description: "Services that `POST /updates/restart-stale` restarts." }),
  left: Type.Array(LeftUnit, { description: "Services that it does not restart." }),
  processes: Type.Array(
    Type.Object({
      pid: Type.Integer(),
      name: Type.String(),
      unit: NullableString("Service that the process belongs to; null for processes of users, or if there is none."),
      files: Type.Array(Type.String(), {
        description: "Programs and libraries that were replaced or removed since it loaded them.",
      }),
    }),
    { description: "Ordered by process id; processes of containers are not inspected." },
  ),
  hidden_processes: Type.Integer({
    description: "Number of processes that could not be inspected for lack of permission.",
  }),
  service_manager: Type.Boolean({
    description: "Whether systemd itself runs replaced code; `systemctl daemon-reexec` or a reboot solves that.",
  }),
  kernel: Type.Object({
    running: Type.String(),
    newest: NullableString("Newest installed kernel of the same flavour; null if it is the running one."),
  }),
  requires_reboot: Type.Boolean({ description: "Whether a newer kernel or a package needs a reboot." }),
});
export type StaleReport = Static<typeof StaleReport>;

export const StaleRestart = Type.Object({
  success: Type.Boolean(),
  message: Type.String(),
  operation_id: Type.String({ description: "Id of the operation." }),
  restarted: Type.Array(UnitRestart, { description: "Restarted services, in order." }),
  left: Type.Array(LeftUnit, { description: "Services that were not restarted." }),
  still_stale: Type.Array(Type.String(), {
    description: "Restarted services whose processes still run replaced code.",
  }),
  requires_reboot: Type.Boolean({ description: "Whether a reboot is needed in addition." }),
});
export type StaleRestart = Static<typeof StaleRestart>;

const KeptConfig = Type.Object({
  file: Type.String({ examples: ["/etc/app.conf"] }),
  offered: Type.String({ description: "The file of the new version.", examples: ["/etc/app.conf.dpkg-dist"] }),
});
export type KeptConfig = Static<typeof KeptConfig>;

export const UpdateApply = Type.Object({
  success: Type.Boolean({ description: "Whether everything went as planned." }),
  snapshot_id: Type.String({ description: "Snapshot taken before; empty if none was taken." }),
  packages_updated: Type.Integer({
    description: "Number of packages that are at their new version, even if others failed.",
  }),
  requires_reboot: Type.Boolean({ description: "Whether a reboot is needed for it to take effect." }),
  operation_id: Type.String({ description: "Id of the operation." }),
  packages: Type.Array(ChangedPackage, { description: "Packages that changed." }),
  requires_restart: Type.Array(Type.String(), { description: "Services that still run replaced files." }),
  error: NullableString("Why it failed."),
  ...optional({
    guard: GuardVerdict,
    restarted: Type.Array(UnitRestart, {
      description: "With `restart_stale`: services that were restarted, in order.",
    }),
    kept_configs: Type.Array(KeptConfig, {
      description: "Configuration files that were modified on this host and kept; absent if there are none.",
    }),
  }),
});
export type UpdateApply = Static<typeof UpdateApply>;

export const snapshotKinds = ["manual", "before_update", "before_rollback"] as const;
export type SnapshotKind = (typeof snapshotKinds)[number];

export const Snapshot = Type.Object({
  id: Type.String({ description: "`YYYYMMDD-HHMMSS`." }),
  description: Type.String({
    description: "Description given by the caller, or the change before which it was taken.",
  }),
  created_at: Timestamp("When the snapshot was taken."),
  size_bytes: Type.Integer({ description: "Size on disk." }),
  kind: Choice(snapshotKinds, "Reason for which it was taken."),
  backend: Type.String({ description: "Contents; `packages`: versions and files of packages, and `/etc`." }),
  protected: Type.Boolean({ description: "Whether it is kept regardless of the retention." }),
  packages_count: Type.Integer({ description: "Number of installed packages." }),
  ...WayBack,
});
export type Snapshot = Static<typeof Snapshot>;

export const SnapshotList = Type.Object({
  snapshots: Type.Array(Snapshot, { description: "Newest first." }),
  ...MayLack,
});

export const RemovedSnapshot = Type.Object({
  success: Type.Boolean(),
  message: Type.String(),
  snapshot_id: Type.String(),
});
export type RemovedSnapshot = Static<typeof RemovedSnapshot>;

/** `touched`: configuration files of the packages that change, and what recorded transactions changed and nobody else has since. */
export const etcScopes = ["touched", "all"] as const;
export type EtcScope = (typeof etcScopes)[number];

const fileChanges = ["added", "removed", "modified"] as const;

export const SnapshotChanges = Type.Object({
  snapshot_id: Type.String(),
  packages: Type.Array(ChangedPackage, { description: "`from` is the version then, `to` the version now." }),
  files: Type.Array(
    Type.Object({
      path: Type.String(),
      change: Choice(fileChanges),
      foreign: Type.Boolean({
        description:
          "Whether it was changed by something other than an update; a rollback does not touch it unless `etc` is `all`.",
      }),
    }),
    { description: "Files of /etc that differ." },
  ),
});
export type SnapshotChanges = Static<typeof SnapshotChanges>;

const FileState = Type.Union([
  Type.Object({
    type: Choice(["file", "folder", "link"]),
    mode: NullableString("Permissions in octal; null for a symbolic link."),
    uid: Type.Integer(),
    gid: Type.Integer(),
  }),
  Type.Null({ description: "The file did not exist then, or does not exist now." }),
]);

export const SnapshotFileChange = Type.Object({
  snapshot_id: Type.String(),
  path: Type.String(),
  before: FileState,
  after: FileState,
  text: NullableString(
    "Unified diff with secrets redacted; empty if only owner or permissions differ; null if it is not shown.",
  ),
  reason: NullableString(
    "Why it is not shown: not every user of the host can read the file, it is not text, or it is too large.",
  ),
});

export const RollbackReport = Type.Object({
  success: Type.Boolean(),
  message: Type.String(),
  snapshot_id: Type.String({ description: "Snapshot that the host returned to." }),
  safety_snapshot_id: Type.String({
    description: "Safety snapshot of the state before the rollback; empty if none could be taken.",
  }),
  requires_reboot: Type.Boolean({ description: "Whether a reboot is needed for it to take effect." }),
  packages_changed: Type.Integer({ description: "Number of packages that are at the version of the snapshot again." }),
  packages: Type.Array(ChangedPackage, { description: "Packages that changed." }),
  files_restored: Type.Integer({ description: "Number of files that have the content of the snapshot again." }),
  files_left: Type.Array(Type.String(), {
    description: "Files of /etc that were changed by something other than an update since, and were not touched.",
  }),
  operation_id: Type.String({ description: "Id of the operation." }),
});
export type RollbackReport = Static<typeof RollbackReport>;

const SnapshotId = Type.Object({
  snapshot_id: Type.String({
    minLength: 1,
    maxLength: 64,
    description: "Id of the snapshot.",
    examples: ["20260131-120000"],
  }),
});
export const updateTypes = ["packages", "system", "all"] as const;

/** A name of a package in the notation of every package manager; a leading dash would be an option. */
export const packageNamePattern = "^[A-Za-z0-9][A-Za-z0-9+._:~-]*$";

export const UpdateInput = Options({
  type: Choice(
    updateTypes,
    "`packages` removes nothing but old kernels; `system` and `all` do a full upgrade within the release of the distribution.",
    "packages",
  ),
  security_only: Type.Boolean({
    default: false,
    description: "Install only the security updates.",
  }),
  packages: Type.Array(Type.String({ pattern: packageNamePattern, maxLength: 255, examples: ["openssl"] }), {
    minItems: 1,
    maxItems: 1000,
    description: "Only these packages and their dependencies.",
  }),
  create_snapshot: Type.Unsafe<boolean | "required">({
    type: ["boolean", "string"],
    pattern: "^required$",
    examples: ["required"],
    description:
      "Take a snapshot first; true unless the settings say otherwise. `required`: refuse the update if the snapshot could not be restored completely, as `guard` does.",
  }),
  guard: Type.Boolean({
    default: false,
    description: "Compare units, ports and checks afterwards, and roll back if something is worse.",
  }),
  restart_stale: Type.Boolean({
    default: false,
    description:
      "Restart services that then run replaced code, as `POST /updates/restart-stale` does, before the guard compares.",
  }),
});

export const SnapshotInput = Options({
  description: Type.String({ maxLength: 200, default: "", description: "Description of the snapshot for people." }),
});

export const RollbackInput = Options({
  etc: Choice(
    etcScopes,
    "Files of /etc to restore. `touched`: only configuration files of the packages that change, and files that the update itself changed; `all`: all of /etc.",
  ),
  partial: Type.Boolean({
    default: false,
    description: "Skip packages whose old files are not available, and restore the rest.",
  }),
  allow_downgrade: Type.Array(Type.String({ pattern: packageNamePattern, maxLength: 255, examples: ["openssl"] }), {
    maxItems: 1000,
    description: "Packages that may be downgraded although that may damage their data, such as databases.",
  }),
});

export const updates = {
  checkUpdates: {
    method: "GET",
    path: "/updates/check",
    tag: "Updates",
    summary: "Available updates",
    description:
      "From the package lists on disk, without network access; `refresh=true` refreshes them first, which is recorded in the audit log.",
    scope: "updates:read",
    effect: "read",
    takesLong: true,
    query: Options({
      refresh: Type.Boolean({ default: false, description: "Refresh the package lists first." }),
    }),
    response: UpdateCheck,
    errors: ["UNAVAILABLE"],
  },
  applyUpdates: {
    method: "POST",
    path: "/updates/apply",
    tag: "Updates",
    summary: "Install updates",
    description:
      "Takes a snapshot, then does exactly what a dry run shows. Runs outside the service and survives a restart of it. If the transaction fails, the answer is 200 with `success: false` and the actual counts.",
    scope: "updates:apply",
    effect: "danger",
    takesLong: true,
    outlives: true,
    query: DryRunQuery,
    body: UpdateInput,
    response: UpdateApply,
    errors: ["CONFLICT", "UNAVAILABLE"],
  },
  listStale: {
    method: "GET",
    path: "/updates/stale",
    tag: "Updates",
    summary: "Processes that still run replaced code",
    description:
      "Processes that run programs or libraries which an update has replaced or removed, including systemd itself, and the kernel.",
    scope: "updates:read",
    effect: "read",
    takesLong: true,
    response: StaleReport,
    errors: ["UNAVAILABLE"],
  },
  restartStale: {
    method: "POST",
    path: "/updates/restart-stale",
    tag: "Updates",
    summary: "Restart services that still run replaced code",
    description:
      "Restarts the services one by one, by the rules of `POST /system/services/{name}/restart`. Services whose restart would end sessions, connections or containers, Steward itself, and services that no longer run are listed but not restarted. Then checks again. Runs outside the service and survives a restart of it.",
    scope: "services:restart",
    // Any service may be among them.
    resource: () => "*",
    effect: "write",
    takesLong: true,
    outlives: true,
    query: DryRunQuery,
    response: StaleRestart,
    errors: ["CONFLICT", "UNAVAILABLE"],
  },
  listSnapshots: {
    method: "GET",
    path: "/updates/snapshots",
    tag: "Updates",
    summary: "Snapshots",
    scope: "updates:read",
    effect: "read",
    response: SnapshotList,
    errors: [],
  },
  getSnapshot: {
    method: "GET",
    path: "/updates/snapshots/{snapshot_id}",
    tag: "Updates",
    summary: "One snapshot",
    scope: "updates:read",
    effect: "read",
    params: SnapshotId,
    response: Snapshot,
    errors: ["NOT_FOUND"],
  },
  createSnapshot: {
    method: "POST",
    path: "/updates/snapshots",
    tag: "Updates",
    summary: "Take a snapshot",
    scope: "updates:apply",
    effect: "write",
    takesLong: true,
    outlives: true,
    status: 201,
    query: DryRunQuery,
    body: SnapshotInput,
    response: Snapshot,
    errors: ["CONFLICT", "UNAVAILABLE"],
  },
  deleteSnapshot: {
    method: "DELETE",
    path: "/updates/snapshots/{snapshot_id}",
    tag: "Updates",
    summary: "Delete a snapshot",
    scope: "updates:apply",
    effect: "danger",
    takesLong: true,
    outlives: true,
    params: SnapshotId,
    query: DryRunQuery,
    response: RemovedSnapshot,
    errors: ["NOT_FOUND", "CONFLICT", "UNAVAILABLE"],
  },
  diffSnapshot: {
    method: "GET",
    path: "/updates/snapshots/{snapshot_id}/diff",
    tag: "Updates",
    summary: "Changes since a snapshot",
    scope: "updates:read",
    effect: "read",
    takesLong: true,
    params: SnapshotId,
    response: SnapshotChanges,
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
  diffSnapshotFile: {
    method: "GET",
    path: "/updates/snapshots/{snapshot_id}/diff/file",
    tag: "Updates",
    summary: "Changes of a file in /etc since a snapshot",
    description: "Shown only for files that every user of the host can read, with secrets redacted.",
    scope: "updates:rollback",
    effect: "read",
    params: SnapshotId,
    query: Type.Object({
      path: Type.String({
        minLength: 6,
        maxLength: 4096,
        pattern: "^/etc/",
        description: "Absolute path, as in the list of changes.",
        examples: ["/etc/ssh/sshd_config"],
      }),
    }),
    response: SnapshotFileChange,
    errors: ["VALIDATION_ERROR", "NOT_FOUND", "UNAVAILABLE"],
  },
  rollback: {
    method: "POST",
    path: "/updates/rollback/{snapshot_id}",
    tag: "Updates",
    summary: "Roll back to a snapshot",
    description:
      "Verifies the snapshot before anything is changed, takes a safety snapshot, then rolls back. A dry run lists every file. Runs outside the service and survives a restart of it.",
    scope: "updates:rollback",
    effect: "danger",
    takesLong: true,
    outlives: true,
    params: SnapshotId,
    query: DryRunQuery,
    body: RollbackInput,
    response: RollbackReport,
    errors: ["NOT_FOUND", "CONFLICT", "UNAVAILABLE"],
  },
} as const satisfies Operations;
