import type { HookEvent, PluginType } from "#contract/plugins.ts";
import type { PluginEnd, PluginManifest } from "#domain/ports/plugins.ts";
import type { Dispose } from "#kernel/clock.ts";

/** The part of a manifest for each type. */
export type Roles = { readonly [T in PluginType]: Extract<PluginManifest["role"], { readonly type: T }> };

export type RunResult = "success" | "failure" | "veto";

export interface PluginInput {
  /** Added to those of its manifest. */
  readonly args?: readonly string[];
  readonly stdin?: string;
  readonly timeoutMs?: number;
}

export interface LoadedPlugin {
  readonly manifest: PluginManifest;
  /**
   * Runs it if it is unchanged since it was enabled.
   * @param read interprets the output; an error is a failed run.
   * @throws PluginNotRun without a result.
   */
  readonly run: <T>(
    input: PluginInput,
    read: (end: PluginEnd) => { readonly result: RunResult; readonly value: T },
    signal?: AbortSignal,
  ) => Promise<T>;
}

export interface PluginCheck extends Omit<Roles["check"], "type"> {
  readonly id: string;
  readonly timeoutMs: number;
  readonly run: (timeoutMs: number, signal: AbortSignal) => Promise<PluginEnd>;
}

export interface PluginHook extends Omit<Roles["hook"], "type"> {
  readonly name: string;
  /** @param message its standard input. @returns its objection, if any. @throws when it gives no answer. */
  readonly call: (event: HookEvent, message: string) => Promise<string | undefined>;
}

export interface PluginCommand {
  readonly name: string;
  readonly run: (input: PluginInput, signal: AbortSignal) => Promise<PluginEnd>;
}

export interface ExtensionPoints {
  readonly checks: {
    readonly isTaken: (id: string) => boolean;
    readonly add: (check: PluginCheck) => Dispose;
  };
  readonly hooks: { readonly add: (hook: PluginHook) => Dispose };
  readonly commands: { readonly add: (command: PluginCommand) => Dispose };
}

export interface PluginKind<T extends PluginType> {
  /** Why a plugin with a valid manifest cannot be used here. */
  readonly faultOf: (manifest: PluginManifest, points: ExtensionPoints) => string | undefined;
  readonly connect: (plugin: LoadedPlugin, role: Roles[T], points: ExtensionPoints) => Dispose;
}
