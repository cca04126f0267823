import type { Sleep } from "#client/http.ts";
import type { Client, ClientOptions } from "#client/index.ts";
import type { Transport } from "#client/stream.ts";
import type { AuditList, AuditListQuery } from "#contract/audit.ts";
import type { HealthCheckList, HealthCheckResult } from "#contract/checks.ts";
import type { Plugin } from "#contract/plugins.ts";
import type { ContextStore } from "../contexts/store.ts";
import type { Io } from "../output/output.ts";
import type { Command } from "./command.ts";

export interface Person {
  readonly isThere: boolean;
  /** The answer; undefined at the end of the input. @throws Interrupted at Ctrl-C. */
  readonly ask: (question: string) => Promise<string | undefined>;
  /** Fires at Ctrl-C, which does not end the program after the first call of this. */
  readonly interrupted: () => AbortSignal;
}

export interface ServiceOptions {
  readonly url?: string;
  readonly keyFile?: string;
  /** A certificate to trust, and a client certificate with its private key. */
  readonly cacert?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly context?: string;
  /** Why a window that holds the call back is overridden. */
  readonly overrideWindow?: string;
  /** Why a call is made that others have to approve. */
  readonly proposalReason?: string;
}

export interface Connection extends ClientOptions, Pick<Transport, "openSocket"> {
  /** Waits between two calls. */
  readonly sleep: Sleep;
  /** Called before anything is sent; throws where the key must not go to anyone who listens there. */
  readonly allow?: () => Promise<void>;
  readonly client: Client;
}

export interface ConnectOptions extends Pick<ClientOptions, "onDeprecated"> {
  /** Ends the calls of the client. */
  readonly signal?: AbortSignal | undefined;
  readonly fetch?: typeof globalThis.fetch;
}

/** How a command line waits. */
export interface CliTime {
  readonly sleep: Sleep;
  /** A signal that fires after a time. */
  readonly timeout: (durationMs: number) => AbortSignal;
}

export interface CommandPorts {
  readonly io: Io;
  readonly now: () => number;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly person: Person;
  readonly local: LocalCommands;
  readonly finish: (code: number) => void;
  readonly connect: (command: Command, options?: ConnectOptions) => Promise<Connection>;
  /** Whether a service is named, by command line, environment or current context. */
  readonly isNamed: (command: Command) => boolean;
  readonly connectTo: (context: string, signal: AbortSignal) => Promise<Connection>;
  readonly contexts: ContextStore;
  readonly given: (command: Command) => ServiceOptions;
}

export interface SettingsReport {
  readonly file: string | undefined;
  readonly faults: readonly { readonly text: string }[];
  readonly warnings: readonly string[];
}

export interface AdminKey {
  readonly text: string;
  /** Who listens at the address; a number is the uid of a user who is not the service. */
  readonly holder: "service" | "nobody" | number;
}

export interface LocalService {
  readonly url: string;
  /** Unix sockets: those that only this user can open, which need no key, and those that take one. */
  readonly sockets?: { readonly administrator: readonly string[]; readonly members: readonly string[] };
  readonly adminKeyFile: string;
  /** @throws Error when it cannot be read. */
  readonly readAdminKey: (path: string, url: string) => Promise<AdminKey>;
}

export interface GivenHead {
  readonly seq: number;
  readonly hash: string;
  readonly source: string;
}

export interface AuditReport {
  readonly directory: string;
  readonly broken:
    | { readonly file: string; readonly line: number; readonly seq: number; readonly what: string }
    | undefined;
  readonly files: number;
  readonly entries: number;
  /** Entries that are intact but not of the form of an entry. */
  readonly malformed: number;
  readonly first: { readonly seq: number } | undefined;
  readonly last: { readonly seq: number; readonly hash: string } | undefined;
  readonly headsFound: number;
  readonly notes: readonly string[];
  /** Why the log was not compared with all that the journal knows of it. */
  readonly notCompared: string | undefined;
  /** Requests to root that are both in the log and in root's own record. */
  readonly rootRequests: number;
  readonly mismatches: readonly string[];
}

export interface LocalAudit {
  readonly list: (query: AuditListQuery) => Promise<AuditList>;
  /** `unit` is whose lines in the journal are believed; undefined: the journal is not asked. */
  readonly verify: (options: {
    readonly heads: readonly GivenHead[];
    readonly unit: string | undefined;
  }) => Promise<AuditReport>;
}

export interface PluginReport {
  readonly path: string;
  readonly faults: readonly { readonly text: string }[];
  readonly plugin?: Pick<Plugin, "name" | "version" | "type"> & { readonly permissions: readonly string[] };
}

export interface Confirmed {
  readonly name: string;
  readonly version: string;
  readonly path: string;
  readonly digest: string;
  /** Epoch milliseconds. */
  readonly confirmedAt: number;
}

export interface Confirmable extends Omit<Confirmed, "confirmedAt"> {
  readonly permissions: readonly string[];
  readonly needsRoot: boolean;
  readonly isConfirmed: boolean;
}

/** Root's list of the plugins that may run as root, which the service cannot change. */
export interface PluginConfirmation {
  readonly list: () => readonly Confirmed[];
  /** @throws Error when there is no such plugin, or it cannot be loaded. */
  readonly find: (name: string) => Promise<Confirmable>;
  readonly confirm: (plugin: Confirmable) => void;
  /** @returns the directories of those that were confirmed. */
  readonly revoke: (name: string) => readonly string[];
}

export interface StackHost {
  readonly name: string;
  readonly url: string;
  /** What Prometheus has to trust, PEM, where no authority signed the certificate of the service. */
  readonly certificate?: string;
  /** The name in that certificate, where it differs from the one in the address. */
  readonly serverName?: string;
  readonly mail?: {
    readonly smtp: string;
    readonly isTlsRequired: boolean;
    readonly from: string;
    readonly to: readonly string[];
    readonly user?: string;
  };
}

/** What commands do in this process instead of asking the service. */
export interface LocalCommands {
  readonly serve: (options: { config?: string; newAdminKey?: boolean; safeMode?: boolean }) => Promise<void>;
  readonly checkConfig: (file: string | undefined) => Promise<SettingsReport>;
  /** A systemd drop-in that permits the addresses that the settings need; `unresolved` has a line for each other. */
  readonly egress: (options: {
    readonly config: string | undefined;
    readonly clients: readonly string[];
    readonly allow: readonly string[];
  }) => Promise<{ readonly text: string; readonly unresolved: readonly string[] }>;
  readonly localService: () => Promise<LocalService>;
  /** Opens a URL in the user's web browser. @throws Error when there is no desktop session; the message says what to do instead. */
  readonly openBrowser: (url: string) => Promise<void>;
  readonly checkPlugin: (directory: string) => Promise<PluginReport>;
  /** @throws Error for others than root. */
  readonly pluginConfirmation: () => Promise<PluginConfirmation>;
  /** This host for the files of the observability stack; `url` replaces the address of the service. */
  readonly stackHost: (url: string | undefined) => Promise<StackHost>;
  readonly audit: LocalAudit;
  /** Standard input; undefined at a terminal. */
  readonly readInput: () => Promise<string | undefined>;
  /** Lines of standard input as they come, until it ends. */
  readonly inputLines: () => AsyncIterable<string>;
  readonly runChecks: (onResult: (result: HealthCheckResult) => void) => Promise<HealthCheckList>;
  readonly redact: (text: string) => Promise<string>;
}
