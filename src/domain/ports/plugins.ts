import type { Severity } from "#contract/checks.ts";
import type { HookEvent, PluginType } from "#contract/plugins.ts";

/** What a plugin asks for beyond its sandbox. */
export interface PluginPermissions {
  /** Undefined: a user of its own that exists only while it runs. */
  readonly user: "root" | undefined;
  /** `none`: not even loopback. `local`: loopback alone. */
  readonly network: "none" | "local" | "full";
  /** Paths beyond what everybody may read, and paths that it may change. */
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly memoryBytes: number;
  readonly tasks: number;
}

/** A plugin as its manifest describes it, checked. */
export interface PluginManifest {
  readonly name: string;
  readonly version: string;
  readonly author: string;
  readonly description: string;
  /** Its executable, absolute, inside its folder; and arguments that always come first. */
  readonly command: readonly [program: string, ...args: string[]];
  readonly timeoutMs: number;
  readonly permissions: PluginPermissions;
  readonly role:
    | { readonly type: "command"; readonly usage: string | undefined }
    | {
        readonly type: "check";
        /** Display name. */
        readonly title: string;
        readonly severity: Severity;
        readonly intervalMs: number | undefined;
        /** How its output is read: the plugin interface of Nagios, or one JSON object. */
        readonly output: "nagios" | "json";
      }
    | {
        readonly type: "hook";
        readonly events: readonly HookEvent[];
        /** What a `pre_` event comes to when the hook itself fails. */
        readonly onFailure: "allow" | "veto";
      };
}

/** A folder in which there is, or should be, a plugin. */
export interface FoundPlugin {
  readonly path: string;
  /** Its name as far as it is known: the manifest's, else that of the folder. */
  readonly name: string;
  readonly loaded:
    | {
        readonly manifest: PluginManifest;
        /** SHA-256 over everything in the folder: names, modes, contents. */
        readonly digest: string;
      }
    | { readonly fault: string; readonly type: PluginType | undefined };
}

/** The plugin folders of this host. */
export interface PluginFolders {
  /** In the order of the settings; of one name the first counts, the others come with a fault. */
  readonly find: () => Promise<readonly FoundPlugin[]>;
  /** Reads one folder again; cheap where nothing in it has changed. Undefined where it is gone. */
  readonly read: (path: string) => Promise<FoundPlugin | undefined>;
}

export interface PluginCall {
  readonly manifest: PluginManifest;
  /** Its folder. */
  readonly path: string;
  /** Of all that is in it, as it was found. */
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

/** Runs plugins, each in a process and a sandbox of its own; nothing of it is left when the promise settles. */
export interface PluginSandbox {
  /** What it keeps a plugin from, in words; and what it cannot keep it from on this host. */
  readonly description: string;
  /** @throws PluginNotRun when it could not be started, took too long, or was ended. */
  readonly run: (call: PluginCall, signal: AbortSignal) => Promise<PluginEnd>;
  /**
   * Makes its sandbox as for a run, and looks whether the program could be run in it. Nothing of the plugin runs.
   * @throws PluginNotRun with what is wrong.
   */
  readonly tryStart: (call: PluginCall, signal: AbortSignal) => Promise<void>;
}

/** What a plugin wrote before it was ended. */
export type PluginOutput = Pick<PluginEnd, "stdout" | "stderr">;

/** Why a plugin has no result, in words for people. */
export class PluginNotRun extends Error {
  override readonly name = "PluginNotRun";
  /** The end of what it wrote; undefined where it wrote nothing, or never began. */
  readonly output: PluginOutput | undefined;

  constructor(message: string, { output, ...options }: ErrorOptions & { readonly output?: PluginOutput } = {}) {
    super(message, options);
    this.output = output;
  }
}

/** Which plugins are enabled, and as what; outlives the service. */
export interface EnabledPlugins {
  readonly all: () => readonly EnabledPlugin[];
  /** On disk when it returns. */
  readonly save: (plugin: EnabledPlugin) => void;
  readonly remove: (name: string) => void;
}

export interface EnabledPlugin {
  readonly name: string;
  readonly path: string;
  readonly digest: string;
  /** Epoch milliseconds. */
  readonly enabledAt: number;
}

/** The plugins that root has confirmed, where the service is not root: no other plugin runs as root. */
export interface ConfirmedPlugins {
  readonly has: (plugin: Pick<EnabledPlugin, "path" | "digest">) => boolean;
}

/** What a plugin left, or why it left nothing. */
export type PluginRun =
  | {
      readonly isEnded: true;
      readonly exitCode: number;
      /** Decoded as UTF-8; what is not UTF-8 is U+FFFD. */
      readonly stdout: string;
      readonly stderr: string;
      /** Whether `stdout` is only the beginning of what was printed. */
      readonly isCut: boolean;
    }
  | {
      readonly isEnded: false;
      /** After the path of the program it makes a sentence: `does not exist`, `was killed by SIGSEGV`. */
      readonly reason: string;
      /** The end of what it had written by then; undefined where that is nothing, or not known. */
      readonly output?: { readonly stdout: string; readonly stderr: string };
    };

/** Starts monitoring plugins. */
export interface PluginRunner {
  /**
   * Runs a program with its arguments, an environment that is the same everywhere and no input. When the signal fires, it
   * is killed with all that it started.
   */
  readonly run: (command: readonly [program: string, ...args: string[]], signal: AbortSignal) => Promise<PluginRun>;
}
