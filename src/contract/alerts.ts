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

/** From when on people are told of a health check. */
export const notifyLevels = ["never", "fail", "warn"] as const;
export type NotifyLevel = (typeof notifyLevels)[number];

/** What a template of the channel `webhook` may name. */
export const webhookFields = ["id", "kind", "subject", "host", "state", "severity", "title", "text", "time"] as const;
export type WebhookField = (typeof webhookFields)[number];

/** Events that people are told of once, as they happen. */
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
  severity: Choice(alertSeverities, "`critical` goes to the paging receiver."),
  condition: Type.String({ description: "The condition in words." }),
  threshold: Type.Number({ description: "The value above which the condition holds." }),
  for_seconds: Type.Integer({ description: "How long the condition has to hold before the alert fires." }),
  state: Choice(
    alertStates,
    "`pending`: the condition holds, and not yet for long enough. `not_evaluated`: this service does not look at it, or cannot measure it.",
  ),
  evaluated_by: Choice(
    ["steward", "prometheus", "systemd", "nobody"],
    "Who looks at it. `systemd`: a service cannot tell that it is down itself; its watchdog and `OnFailure=` of the unit do.",
  ),
  since: NullableTimestamp("Since when it is pending or firing; null when it is neither."),
  value: Type.Unsafe<number | null>({
    type: ["number", "null"],
    description: "What was measured last; null where nothing is.",
  }),
  silenced: Type.Boolean({ description: "Whether nobody is told of it at present." }),
});
export type Alert = Static<typeof Alert>;

export const AlertList = Type.Object({
  alerts: Type.Array(Alert),
  firing: Type.Integer({ description: "How many of them fire." }),
  ...ListShape,
});
export type AlertList = Static<typeof AlertList>;

export const Silence = Type.Object({
  id: Type.String(),
  ...optional({
    alert: Choice(alertNames, "The alert that nobody is told of; missing where it is a check."),
    check: Type.String({ description: "The health check that nobody is told of; missing where it is an alert." }),
    window: Type.String({ description: "The open window of the settings in which nobody is told of any of them." }),
  }),
  until: Timestamp("When it ends."),
  comment: Type.String({ description: "Why, for others; may be empty." }),
  created_at: Timestamp("When it was made."),
  created_by: Type.String({ description: "Name of the key that made it." }),
});
export type Silence = Static<typeof Silence>;

export const SilenceList = Type.Object({ silences: Type.Array(Silence), ...ListShape });
export type SilenceList = Static<typeof SilenceList>;

export const SilenceInput = Strict({
  ...optional({
    alert: Choice(alertNames, "The alert that nobody is to be told of; either this or `check`."),
    check: Type.String({
      pattern: "^[a-z0-9_-]{1,128}$",
      examples: ["disk_space"],
      description: "The health check that nobody is to be told of; either this or `alert`.",
    }),
  }),
  until: Type.String({ format: "date-time", description: "When it ends: within 30 days, RFC 3339." }),
  comment: Type.Optional(
    Type.String({ maxLength: 500, pattern: "^[^\\u0000]*$", default: "", description: "Why, for others." }),
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
  kind: Choice(notificationKinds, "What it tells of."),
  subject: Type.String({
    description:
      "The component, alert, check, operation, plugin or key, of checks that are told of together all of them with commas; `test` for a test.",
  }),
  title: Type.String({ description: "Its first line." }),
  channel: Choice(notificationChannels, "Where it goes."),
  to: Type.Array(Type.String(), { description: "Addresses that mail goes to; empty for all other channels." }),
  created_at: Timestamp("When there was reason for it."),
  attempts: Type.Integer({ description: "How often it was tried to send it." }),
  outcome: Choice(
    notificationOutcomes,
    "`queued`: to be sent, or sent again. `failed`: refused, or given up. `dropped`: too many were waiting.",
  ),
  error: NullableString("What went wrong last; null when nothing did."),
  ended_at: NullableTimestamp("When it was sent or given up; null while it waits."),
});
export type Notification = Static<typeof Notification>;

export const NotificationList = Type.Object({
  notifications: Type.Array(Notification, { description: "Newest first." }),
  ...CountedListShape,
});
export type NotificationList = Static<typeof NotificationList>;

export const NotificationTest = Type.Object({
  success: Type.Boolean({ description: "Whether it could be sent wherever it was to be." }),
  message: Type.String({ description: "Outcome for people." }),
  results: Type.Array(
    Type.Object({
      channel: Choice(notificationChannels, "Where it went."),
      to: Type.Array(Type.String(), { description: "Addresses that mail went to; empty for all other channels." }),
      success: Type.Boolean(),
      message: Type.String(),
    }),
    { description: "One for each channel." },
  ),
});
export type NotificationTest = Static<typeof NotificationTest>;

export const NotificationTestInput = Options({ channel: Choice(notificationChannels, "The only one to send to.") });

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
      "The same table that the rules for Prometheus are made from. Without Prometheus the service evaluates it itself, every 15 s.",
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
    summary: "Tell nobody of an alert or a health check for a while",
    description:
      "It goes on being evaluated. What fires or fails when the silence ends is told then. Holds for what this service itself tells, not for an Alertmanager.",
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
    summary: "What people were told, and what became of it",
    description: "One entry for each notification and channel; the newest 1000 are kept.",
    scope: "metrics:read",
    effect: "read",
    fromMemory: true,
    query: Options({
      limit: Type.Integer({ ...notificationListLimit, description: "Most entries to answer." }),
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
      "Once, now, to each channel of the settings or to one of them. A refusal is 200 with `success: false`.",
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
