import { type Static, Type } from "typebox";
import { DryRunQuery, type Operations } from "./operation.ts";
import {
  Choice,
  CountedListShape,
  Cursor,
  ListShape,
  NullableString,
  NullableTimestamp,
  Options,
  optional,
  Strict,
  Timestamp,
} from "./schema.ts";

export const alertNames = ["HighCPUUsage", "HighMemoryUsage", "DiskSpaceLow", "ServiceDown"] as const;
export type AlertName = (typeof alertNames)[number];

/** `critical` goes to the paging receiver, all else to the default one. */
export const alertSeverities = ["warning", "critical"] as const;
export type AlertSeverity = (typeof alertSeverities)[number];

const alertStates = ["inactive", "pending", "firing", "not_evaluated"] as const;

/** `paging_…` are for alerts of severity critical; those after them have a setting `severity`. */
export const notificationChannels = [
  "chat",
  "email",
  "paging_chat",
  "paging_email",
  "ntfy",
  "gotify",
  "telegram",
  "matrix",
  "teams",
  "pagerduty",
  "opsgenie",
  "webhook",
] as const;
export type NotificationChannel = (typeof notificationChannels)[number];

/** What a channel is sent: with `critical` events of that severity and their resolution. */
export const channelSeverities = ["all", "critical"] as const;
export type ChannelSeverity = (typeof channelSeverities)[number];

/** From when on people are notified of a health check. */
export const notifyLevels = ["never", "fail", "warn"] as const;
export type NotifyLevel = (typeof notifyLevels)[number];

/** What a template of the channel `webhook` may name. */
export const webhookFields = ["id", "kind", "subject", "host", "state", "severity", "title", "text", "time"] as const;
export type WebhookField = (typeof webhookFields)[number];

/** Events that people are notified of once, as they happen. */
export const notificationEvents = ["operations", "plugins", "keys", "approvals", "audit"] as const;
export type NotificationEvent = (typeof notificationEvents)[number];

export const notificationKinds = [
  "component_down",
  "component_up",
  "component_flaps",
  "component_settled",
  "alert_firing",
  "alert_resolved",
  "check_failed",
  "check_warned",
  "check_recovered",
  "operation_failed",
  "operation_rolled_back",
  "plugin_disabled",
  "expired_key_used",
  "approval_wanted",
  "audit_broken",
  "digest",
  "updates_installed",
  "updates_not_installed",
  "test",
] as const;
export type NotificationKind = (typeof notificationKinds)[number];

export const notificationOutcomes = ["queued", "sent", "failed", "dropped"] as const;
export type NotificationOutcome = (typeof notificationOutcomes)[number];

export const longestSilenceMs = 30 * 24 * 60 * 60 * 1000;

export const notificationListLimit = { minimum: 1, maximum: 1000, default: 100 } as const;

export const Alert = Type.Object({
  name: Choice(alertNames, "Name of the alert."),
  severity: Choice(alertSeverities, "Severity; `critical` alerts go to the paging receiver."),
  condition: Type.String({ description: "The condition as a sentence." }),
  threshold: Type.Number({ description: "The value above which the condition holds." }),
  for_seconds: Type.Integer({ description: "How long the condition has to hold before the alert fires." }),
  state: Choice(
    alertStates,
    "`pending`: the condition holds, but not yet for `for_seconds`. `not_evaluated`: this service does not evaluate the alert, or cannot measure its value.",
  ),
  evaluated_by: Choice(
    ["steward", "prometheus", "systemd", "nobody"],
    "What evaluates the alert. `systemd`: a service cannot report that it is down itself; its watchdog and `OnFailure=` of the unit do.",
  ),
  since: NullableTimestamp("Since when the alert is pending or firing; null if it is neither."),
  value: Type.Unsafe<number | null>({
    type: ["number", "null"],
    description: "The last measured value; null if nothing is measured.",
  }),
  silenced: Type.Boolean({ description: "Whether notifications of it are silenced now." }),
});
export type Alert = Static<typeof Alert>;

export const AlertList = Type.Object({
  alerts: Type.Array(Alert),
  firing: Type.Integer({ description: "Number of firing alerts." }),
  ...ListShape,
});
export type AlertList = Static<typeof AlertList>;

export const Silence = Type.Object({
  id: Type.String(),
  ...optional({
    alert: Choice(alertNames, "The silenced alert; absent if a check is silenced."),
    check: Type.String({ description: "The silenced health check; absent if an alert is silenced." }),
    window: Type.String({ description: "The open window in the settings that silences all alerts and checks." }),
  }),
  until: Timestamp("When the silence ends."),
  comment: Type.String({ description: "Reason for the silence, for other people; may be empty." }),
  created_at: Timestamp("When the silence was created."),
  created_by: Type.String({ description: "Name of the key that created the silence." }),
});
export type Silence = Static<typeof Silence>;

export const SilenceList = Type.Object({ silences: Type.Array(Silence), ...ListShape });
export type SilenceList = Static<typeof SilenceList>;

export const SilenceInput = Strict({
  ...optional({
    alert: Choice(alertNames, "The alert to silence; either this or `check`."),
    check: Type.String({
      pattern: "^[a-z0-9_-]{1,128}$",
      examples: ["disk_space"],
      description: "The health check to silence; either this or `alert`.",
    }),
  }),
  until: Type.String({ format: "date-time", description: "When the silence ends: within 30 days, RFC 3339." }),
  comment: Type.Optional(
    Type.String({
      maxLength: 500,
      pattern: "^[^\\u0000]*$",
      default: "",
      description: "Reason for the silence, for other people.",
    }),
  ),
});

export const RemovedSilence = Type.Object({
  ...Silence.properties,
  success: Type.Boolean(),
  message: Type.String(),
});
export type RemovedSilence = Static<typeof RemovedSilence>;

export const Notification = Type.Object({
  id: Type.String(),
  kind: Choice(notificationKinds, "Event that the notification is about."),
  subject: Type.String({
    description:
      "Name of the component, alert, check, operation, plugin or key; several checks in one notification are separated by commas. `test` for a test.",
  }),
  title: Type.String({ description: "First line of the message." }),
  channel: Choice(notificationChannels, "Channel that it is sent to."),
  to: Type.Array(Type.String(), { description: "Mail addresses; empty for other channels." }),
  created_at: Timestamp("When the event happened."),
  attempts: Type.Integer({ description: "Number of attempts to send it." }),
  outcome: Choice(
    notificationOutcomes,
    "`queued`: waits to be sent or retried. `failed`: refused, or given up. `dropped`: the queue was full.",
  ),
  error: NullableString("The last error; null if there was none."),
  ended_at: NullableTimestamp("When it was sent or given up; null while it is queued."),
});
export type Notification = Static<typeof Notification>;

export const NotificationList = Type.Object({
  notifications: Type.Array(Notification, { description: "Newest first." }),
  ...CountedListShape,
});
export type NotificationList = Static<typeof NotificationList>;

export const NotificationTest = Type.Object({
  success: Type.Boolean({ description: "Whether it was sent to every channel." }),
  message: Type.String({ description: "Outcome as a sentence." }),
  results: Type.Array(
    Type.Object({
      channel: Choice(notificationChannels, "Channel that it was sent to."),
      to: Type.Array(Type.String(), { description: "Mail addresses; empty for other channels." }),
      success: Type.Boolean(),
      message: Type.String(),
    }),
    { description: "One result for each channel." },
  ),
});
export type NotificationTest = Static<typeof NotificationTest>;

export const NotificationTestInput = Options({ channel: Choice(notificationChannels, "Send only to this channel.") });

const SilenceId = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 64, description: "Id of the silence.", examples: ["silence-1"] }),
});

export const alerts = {
  listAlerts: {
    method: "GET",
    path: "/alerts",
    tag: "Observability",
    summary: "All alerts and their states",
    description:
      "The same table that the rules for Prometheus are generated from. Without Prometheus the service evaluates the alerts itself, every 15 s.",
    scope: "metrics:read",
    effect: "read",
    fromMemory: true,
    response: AlertList,
    errors: [],
  },
  getAlert: {
    method: "GET",
    path: "/alerts/{name}",
    tag: "Observability",
    summary: "One alert and its state",
    scope: "metrics:read",
    effect: "read",
    fromMemory: true,
    params: Type.Object({
      name: Type.String({ minLength: 1, maxLength: 64, description: "Name of the alert.", examples: ["DiskSpaceLow"] }),
    }),
    response: Alert,
    errors: ["NOT_FOUND"],
  },
  listSilences: {
    method: "GET",
    path: "/alerts/silences",
    tag: "Observability",
    summary: "Silences that have not ended",
    scope: "metrics:read",
    effect: "read",
    fromMemory: true,
    response: SilenceList,
    errors: [],
  },
  getSilence: {
    method: "GET",
    path: "/alerts/silences/{id}",
    tag: "Observability",
    summary: "One silence that has not ended",
    scope: "metrics:read",
    effect: "read",
    fromMemory: true,
    params: SilenceId,
    response: Silence,
    errors: ["NOT_FOUND"],
  },
  silenceAlert: {
    method: "POST",
    path: "/alerts/silences",
    tag: "Observability",
    summary: "Silence an alert or a health check for a while",
    description:
      "It is still evaluated. If it fires or fails when the silence ends, the notification is sent then. A silence applies to notifications that this service sends, not to those of an Alertmanager.",
    scope: "health:fix",
    resource: () => "silences",
    effect: "write",
    query: DryRunQuery,
    body: SilenceInput,
    response: Silence,
    status: 201,
    errors: ["CONFLICT"],
  },
  removeSilence: {
    method: "DELETE",
    path: "/alerts/silences/{id}",
    tag: "Observability",
    summary: "End a silence",
    scope: "health:fix",
    resource: () => "silences",
    effect: "write",
    params: SilenceId,
    query: DryRunQuery,
    response: RemovedSilence,
    errors: ["NOT_FOUND"],
  },
  listNotifications: {
    method: "GET",
    path: "/alerts/notifications",
    tag: "Observability",
    summary: "Notifications and their outcome",
    description: "One entry for each notification and channel; the newest 1000 are kept.",
    scope: "metrics:read",
    effect: "read",
    fromMemory: true,
    query: Options({
      limit: Type.Integer({ ...notificationListLimit, description: "Maximum results." }),
      cursor: Cursor,
    }),
    response: NotificationList,
    errors: [],
  },
  testNotifications: {
    method: "POST",
    path: "/alerts/notifications/test",
    tag: "Observability",
    summary: "Send a test notification",
    description:
      "Sends one message now to each channel in the settings, or to one of them. If a channel refuses it, the answer is 200 with `success: false`.",
    scope: "health:fix",
    resource: () => "notifications",
    effect: "write",
    takesLong: true,
    query: DryRunQuery,
    body: NotificationTestInput,
    response: NotificationTest,
    errors: [],
  },
} as const satisfies Operations;
