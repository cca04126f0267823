import type { Severity } from "#contract/checks.ts";
import type { HookEvent, PluginType } from "#contract/plugins.ts";
import type { PluginEnd, PluginManifest } from "#domain/ports/plugins.ts";
import type { Dispose } from "#kernel/clock.ts";

/** What a manifest says of each type. */
export type Roles = { readonly [T in PluginType]: Extract<PluginManifest["role"], { readonly type: T }> };

/** What a run of a plugin came to, for the metrics. */
export type RunResult = "success" | "failure" | "veto";

/** What a plugin is given. */
export interface PluginInput {
  /** Behind those of its manifest. */
  readonly args?: readonly string[];
  readonly stdin?: string;
  /** What settings say in place of its manifest. */
  readonly timeoutMs?: number;
}

/** An enabled plugin, ready to run. */
export interface LoadedPlugin {
  readonly manifest: PluginManifest;
  /**
   * Runs it, when it is still what was enabled.
   * @param read makes something of what it left, and says what that means; what it throws is a run that failed.
   * @throws PluginNotRun when there is no result.
   */
  readonly run: <T>(
    input: PluginInput,
    read: (end: PluginEnd) => { readonly result: RunResult; readonly value: T },
    signal?: AbortSignal,
  ) => Promise<T>;
}

/** A check that a plugin brings. */
export interface PluginCheck {
  readonly id: string;
  readonly title: string;
  readonly severity: Severity;
  readonly intervalMs: number | undefined;
  readonly timeoutMs: number;
  readonly output: "nagios" | "json";
  /** @throws PluginNotRun */
  readonly run: (timeoutMs: number, signal: AbortSignal) => Promise<PluginEnd>;
}

/** A hook that a plugin brings. */
export interface PluginHook {
  readonly name: string;
  readonly events: readonly HookEvent[];
  readonly onFailure: "allow" | "veto";
  /**
   * @param message what it reads from its standard input.
   * @returns why it objects; undefined when it does not.
   * @throws when it has no answer.
   */
  readonly call: (event: HookEvent, message: string) => Promise<string | undefined>;
}

/** A command that a plugin brings. */
export interface PluginCommand {
  readonly name: string;
  readonly run: (input: PluginInput, signal: AbortSignal) => Promise<PluginEnd>;
}

/** Where plugins come into the service. What is added is there at once, and gone at once when it is disposed. */
export interface ExtensionPoints {
  readonly checks: {
    /** Whether a check of the service or of its settings has this id. */
    readonly isTaken: (id: string) => boolean;
    readonly add: (check: PluginCheck) => Dispose;
  };
  readonly hooks: { readonly add: (hook: PluginHook) => Dispose };
  readonly commands: { readonly add: (command: PluginCommand) => Dispose };
}

/** What plugins of one type are to the service. */
export interface PluginKind<T extends PluginType> {
  /** Why a plugin whose manifest is right cannot be one here; undefined when it can. */
  readonly faultOf: (manifest: PluginManifest, points: ExtensionPoints) => string | undefined;
  /** Makes it part of the service. */
  readonly connect: (plugin: LoadedPlugin, role: Roles[T], points: ExtensionPoints) => Dispose;
}
