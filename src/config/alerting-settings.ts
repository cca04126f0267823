import { type Static, Type } from "typebox";
import { notificationEvents, notifyLevels } from "#contract/alerts.ts";
import { Choice, Options, optional, Strict } from "#contract/schema.ts";
import { CronText, Timezone } from "./cron.ts";
import { text } from "./defaults.ts";
import { serviceSettings } from "./service-settings.ts";

/** Each component is the label of a metric. */
const maxProbes = 32;

const ProbeEntry = Strict({
  name: Type.String({
    pattern: "^[a-z][a-z0-9_-]{0,31}$",
    examples: ["database"],
    description: "Name of the component in the health status, metrics and notifications.",
  }),
  ...optional({
    http: text("Address that must answer, http or https. Redirects are not followed."),
    tcp: text("Address and port that must accept connections: `127.0.0.1:5432`."),
    unit: Type.String({
      pattern: "^[A-Za-z0-9:_.@\\\\][A-Za-z0-9:_.@\\\\-]{0,240}\\.(service|socket|timer|mount|path|target)$",
      examples: ["nginx.service"],
      description: "systemd unit that must be active: `nginx.service`.",
    }),
    collector: text("OpenTelemetry collector that must accept traces over HTTP: `http://127.0.0.1:4318`."),
    prometheus: text(
      "Prometheus that must be healthy: `http://127.0.0.1:9090`. It is assumed to evaluate the alerts, see `alerts`.",
    ),
    dns: Type.String({
      pattern: "^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_.])?$",
      examples: ["www.example.org"],
      description: "Name that must resolve to an address: `www.example.org`.",
    }),
    statuses: Type.Array(Type.Integer({ minimum: 100, maximum: 599 }), {
      minItems: 1,
      description: "For http: statuses that count as healthy; 200 to 299 unless given.",
    }),
    timeout: Type.String({
      pattern: "^[1-9][0-9]*(ms|s)$",
      examples: ["5s"],
      description: "Timeout; `5s` unless given.",
    }),
    ca_file: text("For https: certificates to trust, PEM."),
    certificate_days: Type.Integer({
      minimum: 1,
      maximum: 365,
      description: "Minimum remaining validity of its certificate, in days.",
    }),
  }),
});
export type ProbeEntry = Static<typeof ProbeEntry>;

export const ProbesSettings = Strict({ list: Type.Array(ProbeEntry, { maxItems: maxProbes }) });

export const AlertsSettings = Options({
  local: Choice(
    ["auto", "on", "off"],
    "Whether the service evaluates the alerts itself. `auto` (unless given): if `probes` has no Prometheus.",
  ),
});

const ChatSettings = Strict({
  webhook_url_file: text("File with the webhook address; it must not be readable by everybody."),
});

const MailAddress = Type.String({
  pattern: '^[^\\s<>@,;:"\\\\()\\[\\]]{1,64}@[A-Za-z0-9.-]{1,253}$',
  examples: ["admin@example.org"],
  description: "Mail address.",
});

const mailServer = {
  user: Type.Optional(text("User name at the mail server.")),
  password_file: Type.Optional(text("File with the password; it must not be readable by everybody.")),
  starttls: Type.Optional(
    Choice(
      ["required", "off"],
      "For smtp: whether STARTTLS is required. Unless given: required for other hosts, off for this one.",
    ),
  ),
  ca_file: Type.Optional(text("Certificates to trust in addition to the built-in ones, PEM.")),
  ehlo_name: Type.Optional(
    Type.String({
      pattern: "^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$",
      examples: ["web1.example.org"],
      description:
        "Name for the EHLO greeting. Unless given, the host name; if that has no dot, followed by the domain of `from`.",
    }),
  ),
};
const smtp = text("Mail server: `smtp://127.0.0.1:25`, `smtps://mail.example.org:465`.");
const to = Type.Array(MailAddress, { minItems: 1, maxItems: 20, description: "Recipients." });

const EmailSettings = Strict({ smtp, from: MailAddress, to, ...mailServer });
export type EmailSettings = Static<typeof EmailSettings>;

const PagingEmailSettings = Strict({ smtp: Type.Optional(smtp), from: Type.Optional(MailAddress), to, ...mailServer });
export type PagingEmailSettings = Static<typeof PagingEmailSettings>;

/** Eight in the morning. */
export const digestTimes = { daily: "0 8 * * *", weekly: "0 8 * * 1" } as const;

export const NotificationsSettings = Options({
  digest: Type.Union(
    [
      Choice(["daily", "weekly"], "Each day, or on Mondays, at eight in local time."),
      Strict({
        cron: CronText("Cron expression in local time: minute, hour, day of the month, month, day of the week."),
        timezone: Type.Optional(Timezone),
      }),
    ],
    {
      description: "When to send a digest of checks that fail or warn and of firing alerts. Never unless given.",
    },
  ),
  events: Type.Array(Choice(notificationEvents), {
    uniqueItems: true,
    description:
      "Events to notify of, all unless given: operations that failed or were rolled back, plugins that were disabled by a change on disk, uses of expired keys, calls that wait for approval, an audit log that was modified.",
  }),
  checks: Choice(
    notifyLevels,
    "When to notify of a health check: when it fails (unless given), when it warns, or never.",
  ),
  chat: ChatSettings,
  email: EmailSettings,
  paging: Options(
    { chat: ChatSettings, email: PagingEmailSettings },
    {
      description:
        "Where alerts of severity critical are sent; unless given, to email, else to chat. Mail uses the server of `email` unless it has one of its own.",
    },
  ),
  ...serviceSettings,
});
export type NotificationsSettings = Static<typeof NotificationsSettings>;

export interface AlertingSettings {
  readonly probes?: Static<typeof ProbesSettings>;
  readonly alerts?: Static<typeof AlertsSettings>;
  readonly notifications?: NotificationsSettings;
}
