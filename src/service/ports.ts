import type { FastifyInstance } from "fastify";
import type { ComponentName } from "#contract/health.ts";
import type { Keyring } from "#domain/access/keyring.ts";
import type { CredentialCodec, KeyStore, WindowStore } from "#domain/access/ports.ts";
import type { AuditLog } from "#domain/audit/ports.ts";
import type { ConnectorDiscovery, ConnectorPlan, TokenLedger } from "#domain/connectors/ports.ts";
import type { Check } from "#domain/health/check.ts";
import type { Fix } from "#domain/health/fix.ts";
import type { FixPorts } from "#domain/health/fixes-registry.ts";
import type { CheckHistory, Probe } from "#domain/health/ports.ts";
import type { Prober } from "#domain/health/prober.ts";
import type { CheckPlan } from "#domain/health/runner.ts";
import type { Grep, Journal } from "#domain/logs/ports.ts";
import type { OperationStore, ProcessIdentity, TaskLauncher } from "#domain/operations/ports.ts";
import type { PluginParts } from "#domain/plugins/plugins.ts";
import type { PluginFolders } from "#domain/plugins/ports.ts";
import type { HostFacts, Units } from "#domain/system/ports.ts";
import type { TraceStore } from "#domain/traces/ports.ts";
import type { HostUpdates } from "#domain/updates/ports.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Logger } from "#telemetry/logger.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Tracer } from "#telemetry/tracing.ts";
import type { Load } from "#transports/http/connections.ts";
import type { AnswerFiles } from "#transports/http/idempotency.ts";
import type { LocalServers } from "#transports/http/local-peers.ts";
import type { ServerTls } from "#transports/http/tls.ts";
import type { AlertingParts } from "./alerting.ts";

/** Everything from outside that the service works with. */
export interface ServicePorts {
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly requestLog: Logger;
  readonly metrics: Metrics;
  readonly store: KeyStore;
  readonly codec: CredentialCodec;
  readonly audit: AuditLog;
  readonly units: Units;
  readonly ownUnit: string | undefined;
  /** Makes an id that sorts by time and that no other operation has. */
  readonly createId: () => string;
  readonly operationStore: OperationStore;
  readonly taskLauncher: TaskLauncher;
  /** This process. */
  readonly self: ProcessIdentity;
  /** Where answers to requests with an idempotency key outlive the service; in memory alone without it. */
  readonly answerFiles?: AnswerFiles;
  /** What changes packages, and what leads back. */
  readonly hostUpdates: () => Promise<HostUpdates>;
  /** Whether an update takes a snapshot unless it is told otherwise. */
  readonly takesSnapshot: boolean;
  readonly host: HostFacts;
  readonly journal: Journal;
  readonly grep: Grep;
  /** `llm` is how the default connector is. */
  readonly probes: Readonly<Record<Exclude<ComponentName, "llm">, Probe>>;
  /** Of components that settings add, by name. */
  readonly addedProbes: Readonly<Record<string, Probe>>;
  /** Where alerts and notifications are kept, and whom they go to. */
  readonly alerting: AlertingParts;
  readonly checks: readonly Check[];
  readonly fixes: (parts: Pick<FixPorts, "security">) => readonly Fix[];
  readonly checkPlan: CheckPlan;
  readonly checkHistory: CheckHistory;
  /** The connectors of the settings, the environment and this machine. */
  readonly loadConnectors: () => Promise<{
    readonly plan: ConnectorPlan;
    readonly discovery: ConnectorDiscovery | undefined;
  }>;
  readonly tokenLedger: TokenLedger;
  /** The plugin folders of this host, and what runs plugins; asked for when there is something to do with them. */
  readonly loadPlugins: () => Promise<PluginParts>;
  /** Names that no check of a plugin may have, whether this host has such checks or not. */
  readonly takenCheckIds: readonly string[];
  /** Whether to start without any plugin. */
  readonly isSafeMode: boolean;
  readonly tls: ServerTls | undefined;
  /** Names that the certificate is for at the moment, in lower case. */
  readonly certificateNames: () => readonly string[];
  readonly rateLimits: "off" | { readonly perMinute: number; readonly perHour: number };
  /** Where what keys have used of the hour outlives the service; in memory alone without it. */
  readonly windows?: WindowStore;
  readonly allowedHosts: readonly string[];
  readonly trustedProxies: readonly string[];
  /** Whoever may open the administrator's Unix socket: `root`, or the `owner` of a service that somebody runs. */
  readonly administrator: string;
  readonly metricsPublic: "loopback" | "always" | "never";
  readonly traces: Pick<TraceStore, "list" | "trace">;
  /** Undefined where nothing is traced. */
  readonly tracer?: Tracer | undefined;
}

export interface Service {
  readonly app: FastifyInstance;
  /** What Unix sockets are served by. */
  readonly local: LocalServers;
  readonly keyring: Keyring;
  /** What new TLS handshakes are made with. */
  readonly replaceTls: (tls: ServerTls) => void;
  /** Puts other connectors in place of those that there are. */
  readonly replaceConnectors: (plan: ConnectorPlan, discovery: ConnectorDiscovery | undefined) => void;
  /** Puts other plugin folders in place of those that there are. */
  readonly replacePluginFolders: (folders: PluginFolders) => void;
  /** Starts the probes, the regular runs of the checks and, after their first round, welcomes requests at `/readyz`. To be called once the address answers. */
  readonly start: () => Promise<Prober>;
  /** How those who come in over TCP fare. */
  readonly load: Load;
  /** Turns `/readyz` to 503. */
  readonly drain: () => void;
  /** Takes no more connections; resolves when what was in flight has been answered. */
  readonly close: () => Promise<void>;
  /** Tells handlers that still run to come to an end. */
  readonly abort: () => void;
  /** Stores what keys have used, once no request is answered any more. */
  readonly flushBudgets: () => void;
  /** Ends every connection at once. */
  readonly cut: () => void;
}
