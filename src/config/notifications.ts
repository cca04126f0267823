import { isAbsolute } from "node:path";
import type { NotificationEvent, NotifyLevel } from "#contract/alerts.ts";
import { defined } from "#kernel/values.ts";
import {
  type AlertingSettings,
  digestTimes,
  type EmailSettings,
  type PagingEmailSettings,
} from "./alerting-settings.ts";
import { cronFault } from "./cron.ts";
import { absolutePath, type Fault, type FaultAt, faultIf, type SettingFaults } from "./faults.ts";
import { serviceFaults, serviceTargets } from "./notification-services.ts";
import type { Settings } from "./settings.ts";
import { isLoopbackAddress } from "./text.ts";

type Notifications = NonNullable<AlertingSettings["notifications"]>;

const isLocal = ({ hostname }: URL): boolean =>
  hostname === "localhost" || isLoopbackAddress(hostname.replace(/^\[(.*)\]$/, "$1"));

function mailServer(settings: EmailSettings | PagingEmailSettings, text: string) {
  const { user, password_file: passwordFile, starttls, ca_file: caFile, ehlo_name: ehloName } = settings;
  const url = new URL(text);
  return {
    url,
    startTls: starttls ?? (isLocal(url) ? ("off" as const) : ("required" as const)),
    ...defined({ caFile, ehloName }),
    ...(user !== undefined && passwordFile !== undefined && { login: { user, passwordFile } }),
  };
}

const mailOf = (mail: EmailSettings) => ({ server: mailServer(mail, mail.smtp), from: mail.from, to: mail.to });

/** Mail of the paging receiver, by its own server or the shared one. */
function pagingMail({ paging, email }: Notifications) {
  const { email: own } = paging ?? {};
  if (own === undefined) return undefined;
  const from = own.from ?? email?.from;
  if (from === undefined) return undefined;
  if (own.smtp !== undefined) return { server: mailServer(own, own.smtp), from, to: own.to };
  return email === undefined ? undefined : { ...mailOf(email), from, to: own.to };
}

/** Whether people are notified of events of a kind. */
export const reportedEvents =
  ({ notifications: { events } = {} }: Pick<Settings, "notifications">) =>
  (event: NotificationEvent): boolean =>
    events?.includes(event) ?? true;

/** Times of the digest; undefined without one. */
export function digestCalendar({ notifications: { digest } = {} }: Pick<Settings, "notifications">) {
  return typeof digest === "string" ? { cron: digestTimes[digest] } : digest;
}

/** From when on people are notified of a check. */
export function notifyFrom({
  notifications: { checks: usual = "fail" } = {},
  health: { checks = {} } = {},
}: Pick<Settings, "notifications" | "health">): (checkId: string) => NotifyLevel {
  return (checkId) => checks[checkId]?.notify ?? usual;
}

const chatTarget = ({ webhook_url_file: webhookFile }: { readonly webhook_url_file: string }) => ({
  service: "chat" as const,
  webhookFile,
});

export function notificationTargets({ notifications = {} }: AlertingSettings) {
  const { chat, email, paging } = notifications;
  const pagingEmail = pagingMail(notifications);
  return {
    http: [
      ...(chat === undefined ? [] : [{ channel: "chat" as const, severity: undefined, target: chatTarget(chat) }]),
      ...(paging?.chat === undefined
        ? []
        : [{ channel: "paging_chat" as const, severity: undefined, target: chatTarget(paging.chat) }]),
      ...serviceTargets(notifications),
    ],
    email: [
      ...(email === undefined ? [] : [{ channel: "email" as const, settings: mailOf(email) }]),
      ...(pagingEmail === undefined ? [] : [{ channel: "paging_email" as const, settings: pagingEmail }]),
    ],
  };
}

function smtpFault(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "smtp:" && url.protocol !== "smtps:") || url.hostname === "")
    return "must be an address such as smtp://127.0.0.1:25";
  if (url.username !== "" || url.password !== "")
    return "cannot contain a user name or a password (give user and password_file)";
  return !["", "/"].includes(url.pathname) || url.search !== "" || url.hash !== ""
    ? "must end with its port"
    : undefined;
}

const isRelative = (path: string | undefined): boolean => path !== undefined && !isAbsolute(path);

function serverFaults(settings: EmailSettings | PagingEmailSettings): SettingFaults {
  const { smtp, user, password_file: passwordFile, starttls, ca_file: caFile, ehlo_name: ehloName } = settings;
  const fault = smtp === undefined ? undefined : smtpFault(smtp);
  if (fault !== undefined) return [["smtp", fault]];
  const url = smtp === undefined ? null : URL.parse(smtp);
  const isClear = url?.protocol === "smtp:" && starttls === "off" && !isLocal(url);
  const own = { user, password_file: passwordFile, starttls, ca_file: caFile, ehlo_name: ehloName };
  const hasUser = user !== undefined;
  const hasPassword = passwordFile !== undefined;
  return [
    ...Object.entries(own).flatMap(([setting, value]) =>
      faultIf(smtp === undefined && value !== undefined, setting, "needs smtp"),
    ),
    ...faultIf(hasUser && !hasPassword, "user", "needs password_file"),
    ...faultIf(!hasUser && hasPassword, "password_file", "needs user"),
    ...faultIf(isClear && hasUser, "starttls", "must be required if a password is sent"),
    ...faultIf(isRelative(passwordFile), "password_file", absolutePath),
    ...faultIf(isRelative(caFile), "ca_file", absolutePath),
  ];
}

export function notificationFaults({ notifications = {} }: AlertingSettings, faultAt: FaultAt): readonly Fault[] {
  const { chat, email, paging, digest } = notifications;
  const times = typeof digest === "object" ? cronFault(digest.cron, digest.timezone) : undefined;
  const at =
    (...path: readonly string[]) =>
    ([setting, message]: readonly [string, string]): Fault =>
      faultAt(["notifications", ...path, setting], message);
  const webhookFaults = (file: string | undefined): SettingFaults =>
    faultIf(isRelative(file), "webhook_url_file", absolutePath);
  const pagingEmail = paging?.email;
  const isOrphan = pagingEmail !== undefined && email === undefined;
  return [
    ...webhookFaults(chat?.webhook_url_file).map(at("chat")),
    ...webhookFaults(paging?.chat?.webhook_url_file).map(at("paging", "chat")),
    ...(email === undefined ? [] : serverFaults(email)).map(at("email")),
    ...(pagingEmail === undefined ? [] : serverFaults(pagingEmail)).map(at("paging", "email")),
    ...(isOrphan && (pagingEmail.smtp === undefined || pagingEmail.from === undefined)
      ? [at("paging", "email")(["to", "needs smtp and from, here or in notifications.email"])]
      : []),
    ...(times === undefined ? [] : [at("digest")(times)]),
    ...serviceFaults(notifications).map(([path, message]) => faultAt(["notifications", ...path], message)),
  ];
}
