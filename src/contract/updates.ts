import { type Static, Type } from "typebox";
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
    available: Type.Boolean({ description: "Whether the distribution has a newer release inside the installed one." }),
    version: Type.String(),
    release_date: Type.String({ description: "Date, YYYY-MM-DD; empty when unknown." }),
    is_security: Type.Boolean(),
    changelog: Type.String({ description: "Notes of the distribution about the release; empty when unknown." }),
  }),
  packages: Type.Object({
    total: Type.Integer({ description: "Packages that can be updated." }),
    security: Type.Integer({ description: "Security updates among them." }),
    updates: Type.Array(PackageUpdate, { description: "Each package that can be updated." }),
  }),
  held: Type.Array(Type.String(), { description: "Packages that are kept from being updated." }),
  package_manager: Type.String({ description: "`apt`, `dnf`, `zypper` or `pacman`." }),
  security_known: Type.Boolean({ description: "Whether the package manager tells security updates from others." }),
  checked_at: NullableTimestamp(
    "When the lists of packages were last brought up to date, by the oldest of them; null when there are none.",
  ),
  cache_age_seconds: NullableInteger("How long ago that was."),
  requires_reboot: Type.Boolean({ description: "Whether an earlier update waits for a reboot." }),
  requires_restart: Type.Array(Type.String(), { description: "Services that still run what was replaced." }),
  ...MayLack,
});
export type UpdateCheck = Static<typeof UpdateCheck>;

export const ChangedPackage = Type.Object({
  name: Type.String(),
  from: NullableString("Version before; null when it was installed."),
  to: NullableString("Version now; null when it was removed."),
});
export type ChangedPackage = Static<typeof ChangedPackage>;

const guardOutcomes = ["kept", "rolled_back", "rolled_back_still_worse", "rollback_failed"] as const;

export const GuardVerdict = Type.Object({
  outcome: Choice(
    guardOutcomes,
    "`rolled_back`: the host was looked at again, and nothing is worse any more. `rollback_failed`: also where there is no snapshot to return to.",
  ),
  message: Type.String(),
  worse: Type.Array(Type.String(), {
    description: "Units, ports and checks that got worse, each with what it was and what it is.",
    examples: [["unit web.service: was active (running), now inactive (dead)"]],
  }),
  ...optional({
    restarted: Type.Array(Type.String(), {
      description: "Units that ran before and had to be started again after the rollback.",
    }),
    remaining: Type.Array(Type.String(), {
      description:
        "What is worse now, after the rollback or after the failure of one; missing when nothing was to be rolled back, or the host was not looked at before the update.",
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
  left: Type.Array(LeftUnit, { description: "Services that it leaves alone." }),
  processes: Type.Array(
    Type.Object({
      pid: Type.Integer(),
      name: Type.String(),
      unit: NullableString("Service that it belongs to; null for what users run, and for none."),
      files: Type.Array(Type.String(), {
        description: "Programs and libraries that were replaced or removed since it loaded them.",
      }),
    }),
    { description: "By pid; those of containers are not inspected." },
  ),
  hidden_processes: Type.Integer({ description: "Processes that could not be inspected, since that takes rights." }),
  service_manager: Type.Boolean({
    description: "Whether systemd itself runs replaced code: `systemctl daemon-reexec` or a reboot changes that.",
  }),
  kernel: Type.Object({
    running: Type.String(),
    newest: NullableString("Newest installed kernel of the same kind; null when that is the one that runs."),
  }),
  requires_reboot: Type.Boolean({ description: "Whether a newer kernel or a package waits for a reboot." }),
});
export type StaleReport = Static<typeof StaleReport>;

export const StaleRestart = Type.Object({
  success: Type.Boolean(),
  message: Type.String(),
  operation_id: Type.String({ description: "Id of the operation that did it." }),
  restarted: Type.Array(UnitRestart, { description: "In order." }),
  left: Type.Array(LeftUnit, { description: "Services that were left alone." }),
  still_stale: Type.Array(Type.String(), {
    description: "Restarted services of which processes run replaced code all the same.",
  }),
  requires_reboot: Type.Boolean({ description: "Whether a reboot is needed for what a restart does not change." }),
});
export type StaleRestart = Static<typeof StaleRestart>;

const KeptConfig = Type.Object({
  file: Type.String({ examples: ["/etc/app.conf"] }),
  offered: Type.String({ description: "The file of the new version.", examples: ["/etc/app.conf.dpkg-dist"] }),
});
export type KeptConfig = Static<typeof KeptConfig>;

export const UpdateApply = Type.Object({
  success: Type.Boolean({ description: "Whether all of it went as planned." }),
  snapshot_id: Type.String({ description: "Snapshot from before; empty when none was taken." }),
  packages_updated: Type.Integer({ description: "Packages that are at their new version, whatever became of others." }),
  requires_reboot: Type.Boolean({ description: "Whether the host has to be rebooted for it to take effect." }),
  operation_id: Type.String({ description: "Id of the operation that did it." }),
  packages: Type.Array(ChangedPackage, { description: "Packages that changed." }),
  requires_restart: Type.Array(Type.String(), { description: "Services that still run what was replaced." }),
  error: NullableString("Why it did not succeed."),
  ...optional({
    guard: GuardVerdict,
    restarted: Type.Array(UnitRestart, {
      description: "With `restart_stale`: services that were restarted, in order.",
    }),
    kept_configs: Type.Array(KeptConfig, {
      description: "Configuration files that were changed on this host and stayed so; missing when there is none.",
    }),
  }),
});
export type UpdateApply = Static<typeof UpdateApply>;

export const snapshotKinds = ["manual", "before_update", "before_rollback"] as const;
export type SnapshotKind = (typeof snapshotKinds)[number];

export const Snapshot = Type.Object({
  id: Type.String({ description: "`YYYYMMDD-HHMMSS`." }),
  description: Type.String({ description: "What whoever took it wrote, or what it was taken before." }),
  created_at: Timestamp("When the snapshot was taken."),
  size_bytes: Type.Integer({ description: "What it takes on disk." }),
  kind: Choice(snapshotKinds, "What it was taken for."),
  backend: Type.String({ description: "`packages`: versions and files of packages, and `/etc`." }),
  protected: Type.Boolean({ description: "Whether it is kept whatever the retention says." }),
  packages_count: Type.Integer({ description: "Packages that were installed." }),
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
          "Whether something else than an update changed it: a rollback leaves it alone unless `etc` is `all`.",
      }),
    }),
    { description: "Files of /etc that differ." },
  ),
});
export type SnapshotChanges = Static<typeof SnapshotChanges>;

const FileState = Type.Union([
  Type.Object({
    type: Choice(["file", "folder", "link"]),
    mode: NullableString("Permissions in octal digits; null for a link."),
    uid: Type.Integer(),
    gid: Type.Integer(),
  }),
  Type.Null({ description: "It was not, or is not, there." }),
]);

export const SnapshotFileChange = Type.Object({
  snapshot_id: Type.String(),
  path: Type.String(),
  before: FileState,
  after: FileState,
  text: NullableString(
    "Unified difference with secrets redacted, empty when only owner or permissions differ; null when it is not shown.",
  ),
  reason: NullableString(
    "Why it is not shown: not every user of the host may read it, it is no text, or it is too large.",
  ),
});

export const RollbackReport = Type.Object({
  success: Type.Boolean(),
  message: Type.String(),
  snapshot_id: Type.String({ description: "Snapshot that the host returned to." }),
  safety_snapshot_id: Type.String({ description: "Snapshot of how it was; empty when none could be taken." }),
  requires_reboot: Type.Boolean({ description: "Whether the host has to be rebooted for it to take effect." }),
  packages_changed: Type.Integer({ description: "Packages that are at the version of the snapshot again." }),
  packages: Type.Array(ChangedPackage, { description: "Packages that changed." }),
  files_restored: Type.Integer({ description: "Files that have the content of the snapshot again." }),
  files_left: Type.Array(Type.String(), {
    description: "Files of /etc that something else than an update has changed since, and that were left alone.",
  }),
  operation_id: Type.String({ description: "Id of the operation that did it." }),
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
const updateTypes = ["packages", "system", "all"] as const;

/** A name of a package in the notation of every package manager; a leading dash would be an option. */
export const packageNamePattern = "^[A-Za-z0-9][A-Za-z0-9+._:~-]*$";

export const UpdateInput = Options({
  type: Choice(
    updateTypes,
    "`packages` removes none but old kernels; `system` and `all` upgrade as the distribution does inside its release.",
    "packages",
  ),
  security_only: Type.Boolean({
    default: false,
    description: "Exactly the security updates, never anything else.",
  }),
  packages: Type.Array(Type.String({ pattern: packageNamePattern, maxLength: 255, examples: ["openssl"] }), {
    minItems: 1,
    maxItems: 1000,
    description: "Only these packages, and what they need.",
  }),
  create_snapshot: Type.Unsafe<boolean | "required">({
    type: ["boolean", "string"],
    pattern: "^required$",
    examples: ["required"],
    description:
      "Take a snapshot first; true unless settings say otherwise. `required`: refuse the update where the snapshot could not be returned to in full, as `guard` does.",
  }),
  guard: Type.Boolean({
    default: false,
    description: "Look at units, ports and checks afterwards, and roll back when something is worse.",
  }),
  restart_stale: Type.Boolean({
    default: false,
    description:
      "Restart services that then run replaced code, as `POST /updates/restart-stale` does, before the guard looks.",
  }),
});

export const SnapshotInput = Options({
  description: Type.String({ maxLength: 200, default: "", description: "What it is taken for, for people." }),
});

export const RollbackInput = Options({
  etc: Choice(
    etcScopes,
    "`touched`: of /etc only configuration files of the packages that change, and what the update itself changed; `all`: all of /etc.",
  ),
  partial: Type.Boolean({
    default: false,
    description: "Leave packages as they are of which no old file can be had, and return the rest.",
  }),
  allow_downgrade: Type.Array(Type.String({ pattern: packageNamePattern, maxLength: 255, examples: ["openssl"] }), {
    maxItems: 1000,
    description: "Packages that may be downgraded although their data may not survive it: databases and the like.",
  }),
});

export const updates = {
  checkUpdates: {
    method: "GET",
    path: "/updates/check",
    tag: "Updates",
    summary: "What could be updated",
    description:
      "From the lists on disk, at once; `refresh=true` brings them up to date first, which the audit log keeps.",
    scope: "updates:read",
    effect: "read",
    takesLong: true,
    query: Options({
      refresh: Type.Boolean({ default: false, description: "Bring the lists up to date first." }),
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
      "Takes a snapshot, then carries out exactly what a dry run shows. Runs outside the service and outlives it. A transaction that fails is a 200 with `success: false` and true counts.",
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
    summary: "What still runs replaced code",
    description:
      "Processes that run programs or libraries which an update has replaced or removed, systemd itself, and the kernel.",
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
    summary: "Restart what still runs replaced code",
    description:
      "Restarts the services one by one, by the rules of `POST /system/services/{name}/restart`. What ends sessions, connections or containers, and Steward itself, is named and left alone, as are services that no longer run. Then looks again. Runs outside the service and outlives it.",
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
    summary: "What has changed since a snapshot",
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
    summary: "What has changed in a file of /etc since a snapshot",
    description: "Only of files that every user of the host may read, and with secrets redacted.",
    scope: "updates:rollback",
    effect: "read",
    params: SnapshotId,
    query: Type.Object({
      path: Type.String({
        minLength: 6,
        maxLength: 4096,
        pattern: "^/etc/",
        description: "Absolute path, as the list of changes has it.",
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
    summary: "Return to a snapshot",
    description:
      "Verifies the snapshot before anything is touched, takes a safety snapshot, returns. A dry run names every file. Runs outside the service and outlives it.",
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
