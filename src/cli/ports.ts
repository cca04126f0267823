import type { Command } from "commander";
import type { Client, ClientOptions } from "#client/index.ts";
import type { Transport } from "#client/stream.ts";
import type { HealthCheckList, HealthCheckResult } from "#contract/checks.ts";
import type { LocalAudit } from "./audit.ts";
import type { LocalService, ServiceOptions } from "./connect.ts";
import type { ContextStore } from "./contexts.ts";
import type { StackHost } from "./observability-files.ts";
import type { Io } from "./output.ts";
import type { PluginReport } from "./plugins.ts";
import type { PluginConfirmation } from "./plugins-confirm.ts";
import type { TaskOutcome } from "./task.ts";

/** One fault of the settings, ready to print. */
export interface SettingsReport {
  readonly file: string | undefined;
  readonly faults: readonly { readonly text: string }[];
  readonly warnings: readonly string[];
}

/** What the command line does in this process instead of asking the service; the composition root gives it. */
export interface LocalCommands {
  /** Runs the service until it is told to stop. */
  readonly serve: (options: { config?: string; newAdminKey?: boolean; safeMode?: boolean }) => Promise<void>;
  /** Does an operation that has been written down. */
  readonly runTask: (id: string, askedBy?: string) => Promise<TaskOutcome>;
  /** As root, when the service has ended. */
  readonly carryState: () => Promise<void>;
  readonly checkConfig: (file: string | undefined) => Promise<SettingsReport>;
  /** A drop-in for the unit of the service that permits what its settings need; `unresolved` are lines about the rest. */
  readonly egress: (options: {
    readonly config: string | undefined;
    readonly clients: readonly string[];
    readonly allow: readonly string[];
  }) => Promise<{ readonly text: string; readonly unresolved: readonly string[] }>;
  readonly localService: () => Promise<LocalService>;
  /** What the service would say of a folder with a plugin. */
  readonly checkPlugin: (folder: string) => Promise<PluginReport>;
  /** Root's list of the plugins that may run as root. @throws Error for others than root. */
  readonly pluginConfirmation: () => Promise<PluginConfirmation>;
  /** This host, for the files of the observability stack, with the service at another address where one is given. */
  readonly stackHost: (url: string | undefined) => Promise<StackHost>;
  readonly audit: LocalAudit;
  /** What is on standard input; undefined at a terminal. */
  readonly readInput: () => Promise<string | undefined>;
  /** Runs the health checks in this process, where there is no service to do it; changes nothing. */
  readonly runChecks: (onResult: (result: HealthCheckResult) => void) => Promise<HealthCheckList>;
  /** The text without secrets. */
  readonly redact: (text: string) => Promise<string>;
}

/** Who sits at the terminal, if anybody does. */
export interface Person {
  /** Whether questions can be asked and answered. */
  readonly isThere: boolean;
  /**
   * Their answer; undefined where they end the input instead.
   * @throws Interrupted at Ctrl-C.
   */
  readonly ask: (question: string) => Promise<string | undefined>;
  /** Fires at Ctrl-C, which from the first call on does not end the program. */
  readonly interrupted: () => AbortSignal;
}

/** A service, and how it is spoken to. */
export interface Connection extends ClientOptions, Pick<Transport, "openSocket"> {
  /** Asked before anything is sent, where the key is not for everybody who may listen there; throws where it must not be. */
  readonly allow?: () => Promise<void>;
  readonly client: Client;
}

export interface ConnectOptions {
  /** Ends the calls of the client. */
  readonly signal?: AbortSignal | undefined;
  /** Node's own unless given. */
  readonly fetch?: typeof globalThis.fetch;
}

/** What commands work with. */
export interface CommandPorts {
  readonly io: Io;
  readonly now: () => number;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly person: Person;
  readonly local: LocalCommands;
  /** Says with which code the program is to end. */
  readonly finish: (code: number) => void;
  /** The service that a command line names. */
  readonly connect: (command: Command, options?: ConnectOptions) => Promise<Connection>;
  /** Whether a command line, the environment or the current context names a service, which need not be that of this host. */
  readonly isNamed: (command: Command) => Promise<boolean>;
  /** The service of a context. */
  readonly connectTo: (context: string, signal: AbortSignal) => Promise<Connection>;
  readonly contexts: ContextStore;
  /** Address and key file as given on a command line. */
  readonly given: (command: Command) => ServiceOptions;
}
