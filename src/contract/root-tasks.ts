import type { Static, TSchema } from "typebox";
import { FixStepReport } from "./checks.ts";
import { Type } from "./type.ts";
import { packageNamePattern, type SnapshotKind, snapshotKinds } from "./updates.ts";

/*
 * What a service without rights may ask of root: the closed list. Each entry is checked on root's side before anything is done;
 * what is not here cannot be asked for. The service checks the answers in the same way.
 */

const closed = { additionalProperties: false };
const Name = Type.String({ pattern: "^[a-z][a-z0-9_]{0,63}$" });
const SnapshotId = Type.String({ pattern: "^[0-9]{8}-[0-9]{6}$" });
const Text = Type.String();
const Texts = Type.Array(Text);
const Nothing = Type.Object({}, closed);
/** No character that ends a string elsewhere. */
const plainText = "^[^\\u0000]*$";

/** Operations that root does for the service, by kind: what they are asked with. */
export const rootOperations = {
  "updates.apply": Type.Object(
    {
      request: Type.Object(
        {
          type: Type.Unsafe<"packages" | "system" | "all">({ type: "string", enum: ["packages", "system", "all"] }),
          isSecurityOnly: Type.Boolean(),
          names: Type.Optional(
            Type.Array(Type.String({ pattern: packageNamePattern, maxLength: 255 }), { maxItems: 10_000 }),
          ),
        },
        closed,
      ),
      takesSnapshot: Type.Boolean(),
      isGuarded: Type.Boolean(),
    },
    closed,
  ),
  "updates.rollback": Type.Object({ snapshotId: SnapshotId }, closed),
  "snapshots.create": Type.Object({ description: Type.String({ maxLength: 10_000, pattern: plainText }) }, closed),
  "snapshots.delete": Type.Object({ snapshotId: SnapshotId }, closed),
} as const;

const ServiceRequest = Type.Object(
  { name: Type.String({ pattern: String.raw`^[A-Za-z0-9:_\\][A-Za-z0-9:_.\\@-]*\.service$`, maxLength: 255 }) },
  closed,
);
const FixRequest = Type.Object({ check_id: Name, fix_id: Name }, closed);
/**
 * Checks that only root can make out, found by comparing what each says as root and as the user of the service: `sshd -T` reads
 * host keys, the packet filter wants a capability, and in the sandbox of the service every file system looks read-only. No other
 * is run as root because it is asked for: those of the settings are programs that run without rights unless root's settings say otherwise.
 */
export const rootCheckIds = ["disk_space", "inode_usage", "read_only_filesystems", "ssh_config", "firewall"] as const;
const RootCheckId = Type.Unsafe<(typeof rootCheckIds)[number]>({ type: "string", enum: [...rootCheckIds] });
const Backend = Type.Unsafe<"snapper" | "packages">({ type: "string", enum: ["snapper", "packages"] });
const SnapshotRequest = Type.Object({ backend: Backend, id: SnapshotId }, closed);
const Change = Type.Object({
  name: Text,
  architecture: Text,
  from: Type.Union([Text, Type.Null()]),
  to: Type.Union([Text, Type.Null()]),
});

const Outcome = Type.Object({
  status: Type.Unsafe<"pass" | "warn" | "fail" | "skip">({ type: "string", enum: ["pass", "warn", "fail", "skip"] }),
  message: Text,
  details: Type.Record(Type.String(), Type.Unknown()),
  fixId: Type.Optional(Type.Unsafe<string | null>({ type: ["string", "null"] })),
});

/** Which plugin, as what it was enabled, and what it reads from standard input. */
const pluginCall = {
  path: Type.String({ maxLength: 4096, pattern: "^/[^\\u0000]*$" }),
  digest: Type.String({ pattern: "^[0-9a-f]{64}$" }),
  stdin: Type.Optional(Type.String({ maxLength: 1024 * 1024 })),
  timeoutMs: Type.Integer({ minimum: 1, maximum: 86_400_000 }),
};
const PluginEnd = Type.Object({ exitCode: Type.Integer(), stdout: Text, stderr: Text, isTruncated: Type.Boolean() });

interface RootAskRow {
  /**
   * Root records each `write` in the journal, the service in the audit log, and `steward audit verify` compares the two. A `read`
   * changes nothing, and may come every few seconds.
   */
  readonly effect: "read" | "write";
  readonly input: TSchema;
  readonly output: TSchema;
}

/** What is asked of root and answered at once, to whoever waits for it. */
export const rootAsks = {
  "checks.run": {
    effect: "read",
    input: Type.Object({ check_ids: Type.Array(RootCheckId, { maxItems: rootCheckIds.length }) }, closed),
    output: Type.Object({ outcomes: Type.Record(Type.String(), Outcome) }),
  },
  /** One monitoring plugin that root's settings give to root. */
  "monitoring.run": {
    effect: "read",
    input: Type.Object({ check_id: Name }, closed),
    output: Type.Object({ outcome: Outcome }),
  },
  "fix.plan": {
    effect: "read",
    input: FixRequest,
    output: Type.Object({
      actions: Texts,
      reason: Type.Optional(Text),
      units: Type.Optional(Texts),
      packages: Type.Optional(Texts),
      downloadBytes: Type.Optional(Type.Number()),
      freesBytes: Type.Optional(Type.Number()),
      requiresReboot: Type.Optional(Type.Boolean()),
    }),
  },
  /** `units`: those that the plan named, and that the caller may touch. Where another one is to be touched by now, nothing is done. */
  "fix.steps": {
    effect: "write",
    input: Type.Object(
      {
        ...FixRequest.properties,
        units: Type.Optional(Type.Array(Type.String({ maxLength: 255 }), { maxItems: 10_000 })),
      },
      closed,
    ),
    output: Type.Object({ steps: Type.Array(FixStepReport) }),
  },
  /** Of services that the policy of root's settings permits and that polkit, which has the default, does not. */
  "services.restart": { effect: "write", input: ServiceRequest, output: Type.Object({ jobResult: Text }) },
  "services.reset_failed": { effect: "write", input: ServiceRequest, output: Nothing },
  "packages.refresh": { effect: "write", input: Nothing, output: Nothing },
  "packages.restart_needs": {
    effect: "read",
    input: Nothing,
    output: Type.Object({ requiresReboot: Type.Boolean(), units: Texts }),
  },
  "snapshots.backends": {
    effect: "read",
    input: Nothing,
    output: Type.Object({ backends: Type.Array(Type.Object({ name: Backend, needsReboot: Type.Boolean() })) }),
  },
  "snapshots.list": {
    effect: "read",
    input: Type.Object({ backend: Backend }, closed),
    output: Type.Object({
      snapshots: Type.Array(
        Type.Object({
          id: Text,
          description: Text,
          createdAt: Type.Number(),
          sizeBytes: Type.Number(),
          kind: Type.Unsafe<SnapshotKind>({ type: "string", enum: [...snapshotKinds] }),
          backend: Backend,
          isProtected: Type.Boolean(),
          packagesCount: Type.Number(),
        }),
      ),
    }),
  },
  "snapshots.diff": {
    effect: "read",
    input: SnapshotRequest,
    output: Type.Object({
      packages: Type.Array(Change),
      files: Type.Array(
        Type.Object({
          path: Text,
          change: Type.Unsafe<"added" | "removed" | "modified">({
            type: "string",
            enum: ["added", "removed", "modified"],
          }),
        }),
      ),
    }),
  },
  "snapshots.verify": { effect: "read", input: SnapshotRequest, output: Nothing },
  /** A command plugin, with the arguments of who calls it. */
  "plugin.run": {
    effect: "write",
    input: Type.Object(
      {
        ...pluginCall,
        args: Type.Array(Type.String({ maxLength: 4096, pattern: plainText }), { maxItems: 256 }),
      },
      closed,
    ),
    output: PluginEnd,
  },
  /** A check or a hook, with the arguments of its manifest alone. */
  "plugin.call": { effect: "read", input: Type.Object(pluginCall, closed), output: PluginEnd },
  /** Whether the sandbox of a plugin can be made. Nothing of the plugin runs. */
  "plugin.try_start": {
    effect: "read",
    input: Type.Object({ path: pluginCall.path, digest: pluginCall.digest }, closed),
    output: Nothing,
  },
} as const satisfies Readonly<Record<string, RootAskRow>>;

/** The name of what is asked. */
export type RootAsk = keyof typeof rootAsks;
export type RootAskInput<A extends RootAsk> = Static<(typeof rootAsks)[A]["input"]>;
export type RootAskOutput<A extends RootAsk> = Static<(typeof rootAsks)[A]["output"]>;

/** An ask as it is written down. */
export const RootAskRequest = Type.Object({ ask: Type.String(), input: Type.Unknown() }, closed);

/** What became of an ask. An error keeps its kind, so that it means the same on both sides. */
export const RootAskAnswer = Type.Union([
  Type.Object({ output: Type.Unknown() }, closed),
  Type.Object(
    {
      error: Type.Object(
        { kind: Text, message: Text, details: Type.Optional(Type.Record(Type.String(), Type.Unknown())) },
        closed,
      ),
    },
    closed,
  ),
]);
export type RootAskAnswer = Static<typeof RootAskAnswer>;

/** Time limits of root's side: nobody waits longer for an answer. */
const usualMs = 120_000;
const longMs: Readonly<Partial<Record<RootAsk, number>>> = {
  "fix.steps": 75 * 60_000,
  "packages.refresh": 15 * 60_000,
  "snapshots.verify": 15 * 60_000,
  "snapshots.diff": 15 * 60_000,
  "monitoring.run": 25 * 60 * 60_000,
  "plugin.run": 25 * 60 * 60_000,
  "plugin.call": 25 * 60 * 60_000,
};
export const rootAskTimeoutMs = (ask: RootAsk): number => longMs[ask] ?? usualMs;

export const isRootAsk = (text: string): text is RootAsk => Object.hasOwn(rootAsks, text);
