import { type Static, type TSchema, Type } from "typebox";
import { checkStatuses } from "#contract/checks.ts";
import { HostnameInput, HostTimeInput } from "#contract/host-settings.ts";
import { Pid, SignalInput } from "#contract/processes.ts";
import { RebootMessage } from "#contract/reboot.ts";
import { Choice, Strict } from "#contract/schema.ts";
import { ServiceInput } from "#contract/system.ts";
import { packageNamePattern, RollbackInput, updateTypes } from "#contract/updates.ts";
import type { UpdateKind } from "#domain/updates/verbs.ts";

/*
 * The closed list of what a service without rights may request, and the only one: `work.ts` has a function for each row, and what root
 * answers is what that returns. Inputs are validated; answers are believed.
 */

const Name = Type.String({ pattern: "^[a-z][a-z0-9_]{0,63}$" });
const SnapshotId = Type.String({ pattern: "^[0-9]{8}-[0-9]{6}$" });
const PackageNames = Type.Array(Type.String({ pattern: packageNamePattern, maxLength: 255 }), { maxItems: 10_000 });
const Word = Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9+.:~^_-]*$", maxLength: 255 });
const PackageVersions = Type.Array(Strict({ name: Word, architecture: Word, version: Word }), {
  maxItems: 10_000,
});
const Nothing = Strict({});
/** No character that ends a string elsewhere. */
const plainText = "^[^\\u0000]*$";

const UpdateRequest = Strict({
  type: Choice(updateTypes),
  isSecurityOnly: Type.Boolean(),
  names: Type.Optional(PackageNames),
});

const ChangeRequest = Strict({
  change: Choice(["install", "remove", "purge"]),
  names: PackageNames,
  removesOnlyNamed: Type.Boolean(),
});

export const rootOperations = {
  "updates.apply": Strict({
    request: UpdateRequest,
    takesSnapshot: Type.Boolean(),
    isGuarded: Type.Boolean(),
    requiresFull: Type.Optional(Type.Boolean()),
    restartsStale: Type.Optional(Type.Boolean()),
  }),
  "packages.change": Strict({
    request: ChangeRequest,
    takesSnapshot: Type.Boolean(),
    isGuarded: Type.Boolean(),
  }),
  "updates.rollback": Strict({
    snapshotId: SnapshotId,
    etc: RollbackInput.properties.etc,
    allowDowngrade: RollbackInput.properties.allow_downgrade,
    partial: RollbackInput.properties.partial,
  }),
  "snapshots.create": Strict({ description: Type.String({ maxLength: 10_000, pattern: plainText }) }),
  "snapshots.delete": Strict({ snapshotId: SnapshotId }),
  /** Which services those are, root finds out. */
  "updates.restart_stale": Nothing,
} as const satisfies Readonly<Record<UpdateKind, TSchema>>;

const ServiceName = Type.String({
  pattern: String.raw`^[A-Za-z0-9:_\\][A-Za-z0-9:_.\\@-]*\.service$`,
  maxLength: 255,
});
/** `confirm` permits what the policy of root's settings refuses without it, and nothing else. */
const ServiceRequest = Strict({ name: ServiceName, ...ServiceInput.properties });
/** Checks that need root where the sandbox of the service, or the mode of a directory, hides a file system of the host. */
export const fileSystemCheckIds = ["disk_space", "inode_usage", "read_only_filesystems"] as const;
/** Besides, checks that always need it: host keys, the packet filter. */
const cheapRootCheckIds = [...fileSystemCheckIds, "ssh_config", "firewall"] as const;
/** Those that start programs which may take long, or wake disks: each by itself, as seldom as it says. */
export const separateRootCheckIds = [
  "lvm_thin",
  "filesystem_health",
  "smart",
  "clock_offset",
  "containers",
  "backup_age",
] as const;
export const rootCheckIds = [...cheapRootCheckIds, ...separateRootCheckIds] as const;
/** What the service remembers of the last run of a check. It decides only near a threshold. */
const PreviousGrades = Strict({
  status: Choice(checkStatuses),
  objects: Type.Optional(
    Type.Record(Type.String({ pattern: plainText }), Choice(["warn", "fail"]), {
      additionalProperties: false,
      maxProperties: 100,
    }),
  ),
});
const SnapshotRequest = Strict({ id: SnapshotId });
const SnapshotFileRequest = Strict({
  id: SnapshotId,
  path: Type.String({ maxLength: 4096, pattern: "^/etc/[^\\u0000]*$" }),
});
const pluginCall = {
  path: Type.String({ maxLength: 4096, pattern: "^/[^\\u0000]*$" }),
  digest: Type.String({ pattern: "^[0-9a-f]{64}$" }),
  stdin: Type.Optional(Type.String({ maxLength: 1024 * 1024 })),
  timeoutMs: Type.Integer({ minimum: 1, maximum: 86_400_000 }),
};

interface RootTaskRow {
  /**
   * Each `write` is in root's journal and in the service's audit log, which `steward audit verify` compares. A `run` changes nothing by
   * itself but starts a program, whose end is waited for as that of a change is; a `read` is given up by who waits for it no longer.
   */
  readonly effect: "read" | "run" | "write";
  readonly input: TSchema;
  readonly timeoutMs?: number;
}

const minuteMs = 60_000;
const pluginMs = 25 * 60 * minuteMs;

/** What root does, each while the service waits for it. The service ends a task by closing its connection. */
export const rootTasks = {
  "checks.run": {
    effect: "read",
    input: Strict({
      check_ids: Type.Array(Choice(rootCheckIds), { maxItems: rootCheckIds.length }),
      previous: Type.Optional(Type.Record(Name, PreviousGrades, { additionalProperties: false, maxProperties: 64 })),
    }),
  },
  "monitoring.run": { effect: "run", input: Strict({ check_id: Name }), timeoutMs: pluginMs },
  /** Announces what it found and planned, and after `proceed` does just that. Recorded from `proceed` on. */
  fix: { effect: "write", input: Strict({ check_id: Name }), timeoutMs: 75 * minuteMs },
  /** Of services that the policy of root's settings permits and that polkit, which has the default, does not. */
  "services.restart": { effect: "write", input: ServiceRequest },
  "services.start": { effect: "write", input: ServiceRequest },
  "services.stop": { effect: "write", input: ServiceRequest },
  "services.reload": { effect: "write", input: ServiceRequest },
  /** Of every service: polkit does not say which unit file a caller would change. */
  "services.enable": { effect: "write", input: ServiceRequest },
  "services.disable": { effect: "write", input: Strict({ name: ServiceName }) },
  "services.mask": { effect: "write", input: Strict({ name: ServiceName }) },
  "services.unmask": { effect: "write", input: ServiceRequest },
  "services.reset_failed": { effect: "write", input: ServiceRequest },
  /** Which process has the number, and whether it may be sent a signal, is checked again. */
  "processes.signal": {
    effect: "write",
    input: Strict({
      pid: Pid,
      start_ticks: Type.Integer({ minimum: 0 }),
      signal: SignalInput.properties.signal,
    }),
  },
  /** Users of processes, which are hidden from a service in a user namespace of its own. */
  "processes.owners": { effect: "read", input: Nothing },
  /** Their input and output, which the kernel shows to their own users and to root. */
  "processes.io": { effect: "read", input: Nothing },
  /** Deleted files that they have open, which the kernel shows to the same. */
  "processes.deleted_files": { effect: "read", input: Nothing },
  "packages.refresh": { effect: "write", input: Nothing, timeoutMs: 15 * minuteMs },
  /** Of installed packages, whether they are kept at their version. */
  "packages.hold": {
    effect: "write",
    input: Strict({
      isHeld: Type.Boolean(),
      packages: Type.Array(Strict({ name: Word, architecture: Word }), { maxItems: 1000 }),
    }),
  },
  "packages.restart_needs": { effect: "run", input: Nothing },
  /** Of a package manager that shows root alone what it would do. */
  "packages.simulate": {
    effect: "run",
    input: UpdateRequest,
    timeoutMs: 5 * minuteMs,
  },
  "packages.plan_change": {
    effect: "run",
    input: ChangeRequest,
    timeoutMs: 5 * minuteMs,
  },
  /** Of an image-based system, whose tool answers root alone. */
  "packages.release": { effect: "run", input: Nothing },
  /** Which processes run replaced code: their maps are readable for root alone. */
  "stale.find": { effect: "read", input: Nothing },
  "reboot.state": { effect: "read", input: Nothing },
  /** Not while root does an operation. The time is checked again. */
  "reboot.schedule": {
    effect: "write",
    input: Strict({
      at: Type.Integer({ minimum: 0 }),
      message: RebootMessage,
      ignoresInhibitors: Type.Boolean(),
    }),
  },
  "reboot.cancel": { effect: "write", input: Nothing },
  /** Users with the state of their passwords and the fingerprints of their keys, and nothing else of either. */
  "users.list": { effect: "read", input: Nothing },
  "users.sessions": { effect: "read", input: Nothing },
  "host.set_time": { effect: "write", input: HostTimeInput },
  "host.set_hostname": { effect: "write", input: HostnameInput },
  "snapshots.list": { effect: "read", input: Nothing },
  "snapshots.diff": { effect: "read", input: SnapshotRequest, timeoutMs: 15 * minuteMs },
  "snapshots.compare_file": { effect: "read", input: SnapshotFileRequest },
  "snapshots.lacking": {
    effect: "read",
    input: Strict({ wanted: PackageVersions }),
    timeoutMs: 5 * minuteMs,
  },
  "snapshots.verify": { effect: "read", input: SnapshotRequest, timeoutMs: 15 * minuteMs },
  /** A command plugin, with the arguments of who calls it. */
  "plugin.run": {
    effect: "write",
    input: Strict({
      ...pluginCall,
      args: Type.Array(Type.String({ maxLength: 4096, pattern: plainText }), { maxItems: 256 }),
    }),
    timeoutMs: pluginMs,
  },
  "plugin.call": { effect: "run", input: Strict(pluginCall), timeoutMs: pluginMs },
  /** Whether the sandbox of a plugin can be made. Nothing of the plugin runs. */
  "plugin.try_start": {
    effect: "run",
    input: Strict({ path: pluginCall.path, digest: pluginCall.digest }),
  },
} as const satisfies Readonly<Record<string, RootTaskRow>>;

/** Beside the tasks: has root do the operation whose id the request has, which continues without the service. */
export const operationTask = "operation.run";

export const RootRequestSchema = Strict({
  id: Type.String({ pattern: "^(request-[0-9a-f]{32}|[0-9]{8}-[0-9]{6}-[0-9]{3}-[0-9a-f]{8})$" }),
  task: Type.String({ maxLength: 100 }),
  input: Type.Unknown(),
});

export type RootTask = keyof typeof rootTasks;

type Received<T> = T extends readonly (infer Member)[]
  ? readonly Received<Member>[]
  : T extends object
    ? { readonly [K in keyof T]: Received<T[K]> }
    : T;
export type RootTaskInput<T extends RootTask> = Received<Static<(typeof rootTasks)[T]["input"]>>;

export const rootTaskTimeoutMs = (task: RootTask): number => {
  const { timeoutMs = 2 * minuteMs }: RootTaskRow = rootTasks[task];
  return timeoutMs;
};

export const isRootTask = (text: string): text is RootTask => Object.hasOwn(rootTasks, text);
