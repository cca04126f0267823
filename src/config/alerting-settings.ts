import { type Static, Type } from "typebox";
import { notificationEvents, notifyLevels } from "#contract/alerts.ts";
import { Choice, Options, optional, Strict } from "#contract/schema.ts";
import { CronText, Timezone } from "./cron.ts";
import { text } from "./schema.ts";
import { serviceSettings } from "./service-settings.ts";

/** Each component is the label of a metric. */
const maxProbes = 32;

const ProbeEntry = Strict({
  name: Type.String({
    pattern: "^[a-z][a-z0-9_-]{0,31}$",
    examples: ["database"],
    description: "Name of the component in the health status, the metrics and what people are told.",
  }),
  ...optional({
    http: text("Address that has to answer, http or https. Redirects are not followed."),
    tcp: text("Port that has to take connections: `127.0.0.1:5432`."),
    unit: Type.String({
      pattern: "^[A-Za-z0-9:_.@\\\\][A-Za-z0-9:_.@\\\\-]{0,240}\\.(service|socket|timer|mount|path|target)$",
      examples: ["nginx.service"],
      description: "Unit of systemd that has to run: `nginx.service`.",
    }),
    collector: text("OpenTelemetry collector that has to take traces over HTTP: `http://127.0.0.1:4318`."),
    prometheus: text(
      "Prometheus that has to be well: `http://127.0.0.1:9090`. It is taken to evaluate the alerts, see `alerts`.",
    ),
    dns: Type.String({
      pattern: "^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_.])?$",
      examples: ["www.example.org"],
      description: "Name that has to have an address: `www.example.org`.",
    }),
    statuses: Type.Array(Type.Integer({ minimum: 100, maximum: 599 }), {
      minItems: 1,
      description: "Of http: statuses that are well; 200 to 299 unless given.",
    }),
    timeout: Type.String({
      pattern: "^[1-9][0-9]*(ms|s)$",
      examples: ["5s"],
      description: "How long the answer may take; `5s` unless given.",
    }),
    ca_file: text("Of an address over https: certificates to trust, PEM."),
    certificate_days: Type.Integer({
      minimum: 1,
      maximum: 365,
      description: "How many days its certificate has to be good for.",
    }),
  }),
});
export type ProbeEntry = Static<typeof ProbeEntry>;

export const ProbesSettings = Strict({ list: Type.Array(ProbeEntry, { maxItems: maxProbes }) });

export const AlertsSettings = Options({
  local: Choice(
    ["auto", "on", "off"],
    "Whether the service evaluates the alerts itself: `auto`, unless given, does so where `probes` has no Prometheus.",
  ),
});

const ChatSettings = Strict({
  webhook_url_file: text("File that holds the webhook address, and that not everybody can read."),
});

const MailAddress = Type.String({
  pattern: '^[^\\s<>@,;:"\\\\()\\[\\]]{1,64}@[A-Za-z0-9.-]{1,253}$',
  examples: ["admin@example.org"],
  description: "Mail address.",
});

const mailServer = {
  user: Type.Optional(text("User name at the mail server.")),
  password_file: Type.Optional(text("File that holds the password, and that not everybody can read.")),
  starttls: Type.Optional(
    Choice(
      ["required", "off"],
      "Of smtp: whether the connection has to become a TLS one. Unless given: required beyond this machine, off on it.",
    ),
  ),
  ca_file: Type.Optional(text("Certificates to trust besides those that come with the program, PEM.")),
  ehlo_name: Type.Optional(
    Type.String({
      pattern: "^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$",
      examples: ["web1.example.org"],
      description:
        "Name with which the mail server is greeted. Unless given that of the host, and where that has no dot, the domain of `from` behind it.",
    }),
  ),
};
const smtp = text("Mail server: `smtp://127.0.0.1:25`, `smtps://mail.example.org:465`.");
const to = Type.Array(MailAddress, { minItems: 1, maxItems: 20, description: "Whom to tell." });

const EmailSettings = Strict({ smtp, from: MailAddress, to, ...mailServer });
export type EmailSettings = Static<typeof EmailSettings>;

const PagingEmailSettings = Strict({ smtp: Type.Optional(smtp), from: Type.Optional(MailAddress), to, ...mailServer });
export type PagingEmailSettings = Static<typeof PagingEmailSettings>;

/** Eight in the morning. */
export const digestTimes = { daily: "0 8 * * *", weekly: "0 8 * * 1" } as const;

export const NotificationsSettings = Options({
  digest: Type.Union(
    [
      Choice(["daily", "weekly"], "Each day, or on Mondays, at eight by local time."),
      Strict({
        cron: CronText("When: minute, hour, day of the month, month, day of the week, by local time."),
        timezone: Type.Optional(Timezone),
      }),
    ],
    {
      description:
        "When people are sent what stands: checks that fail or warn, and alerts that fire. Never unless given.",
    },
  ),
  events: Type.Array(Choice(notificationEvents), {
    uniqueItems: true,
    description:
      "Events that people are told of, all unless given: operations that failed or were rolled back, plugins that do not run since they changed, uses of expired keys, calls that wait for approval, an audit log that was changed.",
  }),
  checks: Choice(
    notifyLevels,
    "From when on people are told of a health check: when it fails unless given, when it warns, or never.",
  ),
  chat: ChatSettings,
  email: EmailSettings,
  paging: Options(
    { chat: ChatSettings, email: PagingEmailSettings },
    {
      description:
        "Where alerts of severity critical go; to email, else to chat, where it is not given. Mail goes by the server of `email` unless it has one of its own.",
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
