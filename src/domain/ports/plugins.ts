import type { Severity } from "#contract/checks.ts";
import type { HookEvent, PluginType } from "#contract/plugins.ts";

/** Rights beyond the sandbox. */
export interface PluginPermissions {
  /** Undefined: a dynamic user. */
  readonly user: "root" | undefined;
  /** `none` lacks loopback too; `local` has only loopback. */
  readonly network: "none" | "local" | "full";
  /** Paths beyond those that every user may read, and paths that it may change. */
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly memoryBytes: number;
  readonly tasks: number;
}

/** A valid manifest. */
export interface PluginManifest {
  readonly name: string;
  readonly version: string;
  readonly author: string;
  readonly description: string;
  /** The absolute path of its executable inside its directory, and fixed arguments. */
  readonly command: readonly [program: string, ...args: string[]];
  readonly timeoutMs: number;
  readonly permissions: PluginPermissions;
  readonly role:
    | { readonly type: "command"; readonly usage: string | undefined }
    | {
        readonly type: "check";
        readonly title: string;
        readonly severity: Severity;
        readonly intervalMs: number | undefined;
        readonly output: "nagios" | "json";
        /** Whether guarded updates look at it. */
        readonly guardsUpdates: boolean;
      }
    | ({ readonly type: "hook" } & HookRole);
}

export interface HookRole {
  readonly events: readonly HookEvent[];
  readonly onFailure: "allow" | "veto";
}

export interface FoundPlugin {
  readonly path: string;
  /** From the manifest if known, else that of the directory. */
  readonly name: string;
  readonly loaded:
    | {
        readonly manifest: PluginManifest;
        /** SHA-256 of names, modes and contents of all files. */
        readonly digest: string;
      }
    | {
        readonly fault: string;
        readonly type: PluginType | undefined;
        /** It could not be inspected, which says nothing about it. Of a directory: about none that is not found in it. */
        readonly isUnread?: true;
      };
}

export interface PluginDirectories {
  /** In the order of the settings; repeated names have a fault. */
  readonly find: () => Promise<readonly FoundPlugin[]>;
  /** Cheap for an unchanged directory. Undefined when it is gone. */
  readonly read: (path: string) => Promise<FoundPlugin | undefined>;
}

export interface PluginCall {
  readonly manifest: PluginManifest;
  readonly path: string;
  readonly digest: string;
  readonly args: readonly string[];
  readonly stdin: string | undefined;
}

export interface PluginEnd {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly isTruncated: boolean;
}

/** Runs plugins, each in its own process and sandbox; nothing remains when the promise settles. */
export interface PluginSandbox {
  /** The restrictions of plugins, and those that this host lacks. */
  readonly description: string;
  /** @throws PluginNotRun when it does not start, takes too long, or is killed. */
  readonly run: (call: PluginCall, signal: AbortSignal) => Promise<PluginEnd>;
  /** Checks that the program could run in its sandbox, without running it. @throws PluginNotRun */
  readonly tryStart: (call: PluginCall, signal: AbortSignal) => Promise<void>;
}

export type PluginOutput = Pick<PluginEnd, "stdout" | "stderr">;

/** Why a plugin has no result. */
export class PluginNotRun extends Error {
  override readonly name = "PluginNotRun";
  /** The end of its output, if any. */
  readonly output: PluginOutput | undefined;

  constructor(message: string, { output, ...options }: ErrorOptions & { readonly output?: PluginOutput } = {}) {
    super(message, options);
    this.output = output;
  }
}

export interface EnabledPlugins {
  readonly all: () => readonly EnabledPlugin[];
  /** Durable on return. */
  readonly save: (plugin: EnabledPlugin) => void;
  readonly remove: (name: string) => void;
}

export interface EnabledPlugin {
  readonly name: string;
  readonly path: string;
  readonly digest: string;
  /** Epoch milliseconds. */
  readonly enabledAt: number;
  /** Which hook it is; null for one of another type. Undefined where an earlier version enabled it. */
  readonly hook?: HookRole | null;
}

/** The plugins that root has confirmed, where the service is not root: no other one runs as root. */
export interface ConfirmedPlugins {
  readonly has: (plugin: Pick<EnabledPlugin, "path" | "digest">) => boolean;
}

export type PluginRun =
  | {
      readonly isEnded: true;
      readonly exitCode: number;
      /** UTF-8; other bytes become U+FFFD. */
      readonly stdout: string;
      readonly stderr: string;
      /** Whether `stdout` is only the start. */
      readonly isCut: boolean;
    }
  | {
      readonly isEnded: false;
      /** Completes a sentence after the path of the program: `does not exist`, `was killed by SIGSEGV`. */
      readonly reason: string;
      readonly output?: PluginOutput;
    };

export interface PluginRunner {
  /** Runs a program with a fixed environment and without input; the signal kills it with all its processes. */
  readonly run: (command: readonly [program: string, ...args: string[]], signal: AbortSignal) => Promise<PluginRun>;
}
