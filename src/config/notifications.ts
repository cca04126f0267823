import { isAbsolute } from "node:path";
import { isLoopbackAddress } from "./address.ts";
import type { AlertingSettings, EmailSettings, PagingEmailSettings } from "./alerting-settings.ts";
import type { Fault } from "./faults.ts";

type Notifications = NonNullable<AlertingSettings["notifications"]>;

const isLocal = ({ hostname }: URL): boolean =>
  hostname === "localhost" || isLoopbackAddress(hostname.replace(/^\[(.*)\]$/, "$1"));

function mailServer(settings: EmailSettings | PagingEmailSettings, text: string) {
  const { user, password_file: passwordFile, starttls, ca_file: caFile } = settings;
  const url = new URL(text);
  return {
    url,
    startTls: starttls ?? (isLocal(url) ? ("off" as const) : ("required" as const)),
    ...(caFile !== undefined && { caFile }),
    ...(user !== undefined && passwordFile !== undefined && { login: { user, passwordFile } }),
  };
}

const mailOf = ({ smtp, from, to, ...rest }: EmailSettings) => ({
  server: mailServer({ smtp, from, to, ...rest }, smtp),
  from,
  to,
});

/** Mail of the paging receiver: by a server of its own, or by that of the other mail. */
function pagingMail({ paging, email }: Notifications) {
  const { email: own } = paging ?? {};
  if (own === undefined) return undefined;
  const from = own.from ?? email?.from;
  if (from === undefined) return undefined;
  if (own.smtp !== undefined) return { server: mailServer(own, own.smtp), from, to: own.to };
  return email === undefined ? undefined : { ...mailOf(email), from, to: own.to };
}

/** Where notifications go, by channel. */
export function notificationTargets({ notifications = {} }: AlertingSettings) {
  const { chat, email, paging } = notifications;
  const pagingEmail = pagingMail(notifications);
  return {
    chat: [
      ...(chat === undefined ? [] : [{ channel: "chat" as const, webhookFile: chat.webhook_url_file }]),
      ...(paging?.chat === undefined
        ? []
        : [{ channel: "paging_chat" as const, webhookFile: paging.chat.webhook_url_file }]),
    ],
    email: [
      ...(email === undefined ? [] : [{ channel: "email" as const, settings: mailOf(email) }]),
      ...(pagingEmail === undefined ? [] : [{ channel: "paging_email" as const, settings: pagingEmail }]),
    ],
  };
}

type Found = readonly (readonly [setting: string, message: string])[];

function smtpFault(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "smtp:" && url.protocol !== "smtps:") || url.hostname === "")
    return "must be an address such as smtp://127.0.0.1:25";
  if (url.username !== "" || url.password !== "")
    return "cannot bear a user or a password (give user and password_file)";
  return !["", "/"].includes(url.pathname) || url.search !== "" || url.hash !== ""
    ? "must end with its port"
    : undefined;
}

function secretFileFault(path: string | undefined): string | undefined {
  return path === undefined || isAbsolute(path) ? undefined : "must be an absolute path";
}

function serverFaults(settings: EmailSettings | PagingEmailSettings): Found {
  const { smtp, user, password_file: passwordFile, starttls, ca_file: caFile } = settings;
  const fault = smtp === undefined ? undefined : smtpFault(smtp);
  if (fault !== undefined) return [["smtp", fault]];
  const url = smtp === undefined ? null : URL.parse(smtp);
  const isClear = url?.protocol === "smtp:" && starttls === "off" && !isLocal(url);
  const files = { password_file: secretFileFault(passwordFile), ca_file: secretFileFault(caFile) };
  const own = { user, password_file: passwordFile, starttls, ca_file: caFile };
  return [
    ...(smtp === undefined
      ? Object.entries(own).flatMap(([setting, value]) =>
          value === undefined ? [] : [[setting, "needs smtp beside it"] as const],
        )
      : []),
    ...(user !== undefined && passwordFile === undefined ? [["user", "needs password_file beside it"] as const] : []),
    ...(user === undefined && passwordFile !== undefined ? [["password_file", "needs user beside it"] as const] : []),
    ...(isClear && user !== undefined ? [["starttls", "must be required where a password is sent"] as const] : []),
    ...Object.entries(files).flatMap(([setting, message]) =>
      message === undefined ? [] : [[setting, message] as const],
    ),
  ];
}

/** What is wrong with notifications that have the right form, but cannot be used. */
export function notificationFaults(
  { notifications = {} }: AlertingSettings,
  faultAt: (path: readonly string[], message: string) => Fault,
): readonly Fault[] {
  const { chat, email, paging } = notifications;
  const at =
    (...path: readonly string[]) =>
    ([setting, message]: readonly [string, string]): Fault =>
      faultAt(["notifications", ...path, setting], message);
  const webhookFaults = (file: string | undefined): Found => {
    const message = secretFileFault(file);
    return message === undefined ? [] : [["webhook_url_file", message]];
  };
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
  ];
}
