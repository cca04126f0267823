import {
  Alert,
  AlertList,
  alerts,
  Notification,
  NotificationList,
  NotificationTest,
  RemovedSilence,
  Silence,
  SilenceList,
} from "./alerts.ts";
import { AuditList, AuditRecord, audit } from "./audit.ts";
import { auth, CreatedKey, Identity, KeyEntry, RevokedKey, Token } from "./auth.ts";
import { AutomaticUpdates, automaticUpdates } from "./automatic-updates.ts";
import {
  checks,
  FixResult,
  FixStepReport,
  HealthCheckDay,
  HealthCheckHistory,
  HealthCheckList,
  HealthCheckResult,
  HealthCheckRun,
  HealthCheckSummary,
  HealthCheckUptime,
} from "./checks.ts";
import {
  ChatMessage,
  ChatRequest,
  ChatResponse,
  Connector,
  ConnectorList,
  ConnectorTest,
  connectors,
  Explanation,
  ExplanationPreview,
  explanations,
  TokenUsage,
} from "./connectors.ts";
import { ErrorBody } from "./errors.ts";
import { HealthStatus, health, Liveness, observability } from "./health.ts";
import { LogEntry, LogList, logs } from "./logs.ts";
import { type Operations, Plan } from "./operation.ts";
import { OperationDetail, OperationEntry, OperationList } from "./operation-entry.ts";
import { longOperations } from "./operations.ts";
import { Plugin, PluginChange, PluginList, PluginRun, plugins } from "./plugins.ts";
import { CancelledReboot, RebootState, rebooting, ScheduledReboot } from "./reboot.ts";
import { HealthServerFrame, LogFilterFrame, LogServerFrame } from "./streams.ts";
import { RestartResult, ServiceEntry, ServiceList, SystemInfo, system } from "./system.ts";
import { Span, SpanEvent, SpanLink, Trace, TraceList, TraceSummary, traces } from "./traces.ts";
import {
  ChangedPackage,
  GuardVerdict,
  RemovedSnapshot,
  RestartStale,
  RollbackResult,
  Snapshot,
  SnapshotChanges,
  SnapshotList,
  StaleReport,
  UpdateApply,
  UpdateCheck,
  updates,
} from "./updates.ts";

/** Every operation of the service. */
export const operations = {
  ...health,
  ...checks,
  ...system,
  ...rebooting,
  ...logs,
  ...updates,
  ...automaticUpdates,
  ...longOperations,
  ...connectors,
  ...explanations,
  ...plugins,
  ...auth,
  ...audit,
  ...alerts,
  ...observability,
  ...traces,
} as const satisfies Operations;

export type OperationName = keyof typeof operations;

/** Every resource of the contract, by its name in the OpenAPI document and in the clients. */
export const resources = {
  HealthStatus,
  Liveness,
  HealthCheckSummary,
  HealthCheckResult,
  HealthCheckList,
  HealthCheckRun,
  HealthCheckDay,
  HealthCheckUptime,
  HealthCheckHistory,
  FixResult,
  FixStepReport,
  SystemInfo,
  ServiceEntry,
  ServiceList,
  RestartResult,
  RebootState,
  ScheduledReboot,
  CancelledReboot,
  LogEntry,
  LogList,
  UpdateCheck,
  UpdateApply,
  AutomaticUpdates,
  StaleReport,
  RestartStale,
  Snapshot,
  SnapshotList,
  SnapshotChanges,
  RemovedSnapshot,
  RollbackResult,
  ChangedPackage,
  GuardVerdict,
  OperationEntry,
  OperationDetail,
  OperationList,
  Connector,
  ConnectorList,
  ConnectorTest,
  ChatMessage,
  ChatRequest,
  ChatResponse,
  TokenUsage,
  Explanation,
  ExplanationPreview,
  TraceSummary,
  TraceList,
  Trace,
  Span,
  SpanEvent,
  SpanLink,
  Plugin,
  PluginList,
  PluginChange,
  PluginRun,
  Alert,
  AlertList,
  Silence,
  SilenceList,
  RemovedSilence,
  Notification,
  NotificationList,
  NotificationTest,
  Identity,
  KeyEntry,
  CreatedKey,
  RevokedKey,
  Token,
  AuditRecord,
  AuditList,
  Plan,
  ErrorBody,
  LogFilterFrame,
  LogServerFrame,
  HealthServerFrame,
} as const;
