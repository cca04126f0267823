import { isAbsolute } from "node:path";
import { type ChannelSeverity, webhookFields } from "#contract/alerts.ts";
import { templateNames } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import type { NotificationsSettings } from "./alerting-settings.ts";
import { absolutePath, faultIf, type SettingFaults } from "./faults.ts";
import { defaultSeverities } from "./service-settings.ts";

type Service = keyof typeof defaultSeverities;
type SettingsOf<S extends Service> = NonNullable<NotificationsSettings[S]>;

const ntfyTarget = ({ url, topic, topic_file: file = "", token_file: tokenFile }: SettingsOf<"ntfy">) => ({
  service: "ntfy" as const,
  url: url ?? "https://ntfy.sh",
  topic: topic ?? { file },
  ...defined({ tokenFile }),
});

const telegramTarget = (settings: SettingsOf<"telegram">) => ({
  service: "telegram" as const,
  url: settings.url ?? "https://api.telegram.org",
  chatId: settings.chat_id,
  tokenFile: settings.token_file,
  ...defined({ threadId: settings.thread_id }),
});

const webhookTarget = ({ url_file: urlFile, headers = [], template }: SettingsOf<"webhook">) => ({
  service: "webhook" as const,
  urlFile,
  headers: headers.map(({ name, value, value_file: file = "" }) => ({ name, value: value ?? { file } })),
  ...defined({ template }),
});

const entry = <S extends Service, Given extends { readonly severity?: ChannelSeverity }, Target>(
  channel: S,
  settings: Given | undefined,
  toTarget: (settings: Given) => Target,
) =>
  settings === undefined
    ? []
    : [{ channel, severity: settings.severity ?? defaultSeverities[channel], target: toTarget(settings) }];

/** Services that take a message by one request, and what each is sent. */
export function serviceTargets({ ntfy, gotify, telegram, matrix, ...others }: NotificationsSettings) {
  const { teams, pagerduty, opsgenie, webhook } = others;
  return [
    ...entry("ntfy", ntfy, ntfyTarget),
    ...entry("gotify", gotify, ({ url, token_file: tokenFile }) => ({ service: "gotify" as const, url, tokenFile })),
    ...entry("telegram", telegram, telegramTarget),
    ...entry("matrix", matrix, ({ url, room, token_file: tokenFile }) => ({
      service: "matrix" as const,
      url,
      room,
      tokenFile,
    })),
    ...entry("teams", teams, ({ webhook_url_file: webhookFile }) => ({ service: "teams" as const, webhookFile })),
    ...entry("pagerduty", pagerduty, ({ url = "https://events.pagerduty.com", routing_key_file: routingKeyFile }) => ({
      service: "pagerduty" as const,
      url,
      routingKeyFile,
    })),
    ...entry("opsgenie", opsgenie, ({ url = "https://api.opsgenie.com", api_key_file: apiKeyFile }) => ({
      service: "opsgenie" as const,
      url,
      apiKeyFile,
    })),
    ...entry("webhook", webhook, webhookTarget),
  ];
}

function urlFault(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
    return "must be an address such as https://service.example.org";
  if (url.username !== "" || url.password !== "") return "cannot contain a user name or a password";
  return url.search === "" && url.hash === ""
    ? undefined
    : "must not have a query or fragment (? or #): these are not sent";
}

/** Faults of addresses and paths, which most services have. */
function commonFaults(settings: object): SettingFaults {
  return Object.entries(settings).flatMap(([name, value]: [string, unknown]): SettingFaults => {
    if (typeof value !== "string") return [];
    if (name.endsWith("_file")) return faultIf(!isAbsolute(value), name, absolutePath);
    const fault = name === "url" ? urlFault(value) : undefined;
    return fault === undefined ? [] : [[name, fault]];
  });
}

function ntfyFaults({ topic, topic_file: file }: SettingsOf<"ntfy">): SettingFaults {
  return [
    ...faultIf(topic === undefined && file === undefined, "topic", "is required, here or as topic_file"),
    ...faultIf(topic !== undefined && file !== undefined, "topic_file", "cannot be given together with topic"),
  ];
}

/** Set by the request itself. */
const ownHeaders = [
  "connection",
  "content-length",
  "content-type",
  "host",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

function headerFaults(headers: NonNullable<SettingsOf<"webhook">["headers"]>) {
  const names = headers.map(({ name }) => name.toLowerCase());
  return headers.flatMap((header, index) => {
    const { value, value_file: file } = header;
    const [name = ""] = names.slice(index);
    const faults: SettingFaults = [
      ...commonFaults(header),
      ...faultIf(ownHeaders.includes(name), "name", "cannot be set: the request sets it itself"),
      ...faultIf(names.indexOf(name) < index, "name", "is given twice"),
      ...faultIf(value === undefined && file === undefined, "value", "is required, here or as value_file"),
      ...faultIf(value !== undefined && file !== undefined, "value_file", "cannot be given together with value"),
    ];
    return faults.map(([setting, message]) => [["headers", String(index), setting], message] as const);
  });
}

function templateFaults(template: unknown): SettingFaults {
  if (template === null) return [["template", "must be a JSON value: an object, a list or a string"]];
  const known: readonly string[] = webhookFields;
  const others = templateNames(template).filter((name) => !known.includes(name));
  const names = others.map((name) => `{${name}}`).join(", ");
  return faultIf(others.length > 0, "template", `has no value for ${names} (there are ${known.join(", ")})`);
}

/** Faults of the settings of services, each with its path below `notifications`. */
export function serviceFaults(notifications: NotificationsSettings) {
  const services = Object.keys(defaultSeverities) as readonly Service[];
  const faultsOf = (service: Service): SettingFaults => {
    const { ntfy, webhook } = notifications;
    return [
      ...commonFaults(notifications[service] ?? {}),
      ...(service === "ntfy" && ntfy !== undefined ? ntfyFaults(ntfy) : []),
      ...(service === "webhook" ? templateFaults(webhook?.template) : []),
    ];
  };
  return [
    ...services.flatMap((service) =>
      faultsOf(service).map(([setting, message]) => [[service, setting], message] as const),
    ),
    ...headerFaults(notifications.webhook?.headers ?? []).map(
      ([path, message]) => [["webhook", ...path], message] as const,
    ),
  ];
}
