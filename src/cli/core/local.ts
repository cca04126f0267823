import type { AuditList, AuditListQuery } from "#contract/audit.ts";
import type { HealthCheckList, HealthCheckResult } from "#contract/checks.ts";
import type { Plugin } from "#contract/plugins.ts";

/** One fault of the settings, ready to print. */
export interface SettingsReport {
  readonly file: string | undefined;
  readonly faults: readonly { readonly text: string }[];
  readonly warnings: readonly string[];
}

/** What is in the file of the admin key, and who would get to see it. */
export interface AdminKey {
  readonly text: string;
  /** Who listens where it is to be sent; a number is that of a user who has nothing to do with the service. */
  readonly holder: "service" | "nobody" | number;
}

/** What the local service would use by itself. */
export interface LocalService {
  readonly url: string;
  /** Where its Unix sockets may be: those that nobody but this user can open, which need no key, and those that take one. */
  readonly sockets?: { readonly administrator: readonly string[]; readonly members: readonly string[] };
  readonly adminKeyFile: string;
  /** @throws Error when it cannot be read. */
  readonly readAdminKey: (path: string, url: string) => Promise<AdminKey>;
}

/** An entry that was written down elsewhere. */
export interface GivenHead {
  readonly seq: number;
  readonly hash: string;
  readonly source: string;
}

/** What came of verifying the log. */
export interface AuditReport {
  readonly folder: string;
  readonly broken:
    | { readonly file: string; readonly line: number; readonly seq: number; readonly what: string }
    | undefined;
  readonly files: number;
  readonly entries: number;
  /** How many of the entries are intact, but not of the form of an entry. */
  readonly malformed: number;
  readonly first: { readonly seq: number } | undefined;
  readonly last: { readonly seq: number; readonly hash: string } | undefined;
  readonly headsFound: number;
  readonly notes: readonly string[];
  /** Why not all that the journal knows of the log was compared with it; undefined when nothing of it was left out. */
  readonly notCompared: string | undefined;
  /** Requests to root that are in the log and in root's own record. */
  readonly rootRequests: number;
  /** What root has recorded and the log lacks, or the other way round. */
  readonly mismatches: readonly string[];
}

/** The audit log of this host, without the service. */
export interface LocalAudit {
  readonly list: (query: AuditListQuery) => Promise<AuditList>;
  /** `unit` is whose lines in the journal are believed; undefined: the journal is not asked. */
  readonly verify: (options: {
    readonly heads: readonly GivenHead[];
    readonly unit: string | undefined;
  }) => Promise<AuditReport>;
}

/** What the service would say of a folder. */
export interface PluginReport {
  /** The folder. */
  readonly path: string;
  readonly faults: readonly { readonly text: string }[];
  /** Absent where it has faults. */
  readonly plugin?: Pick<Plugin, "name" | "version" | "type"> & { readonly permissions: readonly string[] };
}

/** A plugin as root has confirmed it. */
export interface Confirmed {
  readonly name: string;
  readonly version: string;
  readonly path: string;
  readonly digest: string;
  /** Epoch milliseconds. */
  readonly confirmedAt: number;
}

/** A plugin as it is on disk now. */
export interface Confirmable extends Omit<Confirmed, "confirmedAt"> {
  readonly permissions: readonly string[];
  readonly needsRoot: boolean;
  readonly isConfirmed: boolean;
}

/** Which plugins may run as root on this host: root's own list, which the service cannot change. */
export interface PluginConfirmation {
  readonly list: () => readonly Confirmed[];
  /** @throws Error when there is no such plugin, or it cannot be loaded. */
  readonly find: (name: string) => Promise<Confirmable>;
  readonly confirm: (plugin: Confirmable) => void;
  /** @returns the directories of those that were confirmed. */
  readonly revoke: (name: string) => readonly string[];
}

/** What the files of the observability stack have to know of this host. */
export interface StackHost {
  /** Its name, which alerts and dashboards show. */
  readonly name: string;
  /** Address of the service. */
  readonly url: string;
  /** What Prometheus has to trust, PEM, where no authority signed the certificate of the service. */
  readonly certificate?: string;
  /** The name in that certificate, where it is not the one in the address. */
  readonly serverName?: string;
  /** Mail as the settings of the service have it. */
  readonly mail?: {
    readonly smtp: string;
    readonly isTlsRequired: boolean;
    readonly from: string;
    readonly to: readonly string[];
    readonly user?: string;
  };
}

/** What became of an operation in this process; `left`: another process has it, or had it. */
export type TaskOutcome = "done" | "failed" | "left";

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
