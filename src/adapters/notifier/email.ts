import { isIP, type LookupFunction } from "node:net";
import { hostname } from "node:os";
import { guardedLookup, isLinkLocal } from "#adapters/link-local/index.ts";
import { type Message, NotificationFailed, type Notifier } from "#domain/ports/notifications.ts";
import { failureWords, forbidden, hostOf, readCaFile, readSecret, resolveHost } from "./settings.ts";

/** Limits of one mail: to connect, to be greeted, and between two words. */
const connectMs = 10_000;
const idleMs = 20_000;

const defaultPort = { "smtp:": 25, "smtps:": 465 } as const;

export interface MailServer {
  readonly url: URL;
  /** Of `smtp:`: whether the connection has to become a TLS one, or is to stay as it is. */
  readonly startTls: "required" | "off";
  readonly caFile?: string;
  /** With which it is greeted. */
  readonly ehloName?: string;
  readonly login?: { readonly user: string; readonly passwordFile: string };
}

export interface MailSettings {
  readonly server: MailServer;
  readonly from: string;
  readonly to: readonly string[];
}

const domainOf = (address: string): string => address.slice(address.lastIndexOf("@") + 1);

/** Relays refuse who greets them without a domain. */
function greetingOf({ server, from }: MailSettings): string {
  const name = hostname();
  return server.ehloName ?? (name.includes(".") ? name : `${name}.${domainOf(from)}`);
}

function toMail({ id, title, facts, at }: Message, { from, to }: Pick<MailSettings, "from" | "to">) {
  const plain = (text: string): string => text.replaceAll(/[^A-Za-z0-9.-]/g, "");
  return {
    from,
    to: [...to],
    subject: title,
    date: new Date(at),
    // The same with each attempt, so that a mail that was taken twice is known to be one.
    messageId: `<${plain(id)}.steward@${plain(domainOf(from))}>`,
    text: `${title}\n\n${facts.map(([name, text]) => `${name}: ${text}`).join("\n")}\n`,
    headers: { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All" },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

const serverWords = (text: string, password: string | undefined): string => {
  const line = (password === undefined ? text : text.replaceAll(password, "[redacted]")).replaceAll(/\p{C}+/gu, " ");
  return line.trim().slice(0, 200);
};

function toFailed(error: unknown, password: string | undefined): NotificationFailed {
  if (error instanceof NotificationFailed) return error;
  const { responseCode, response } = error as { responseCode?: unknown; response?: unknown };
  if (typeof responseCode === "number" && typeof response === "string" && responseCode >= 400) {
    return new NotificationFailed(`the mail server says: ${serverWords(response, password)}`, responseCode < 500);
  }
  return new NotificationFailed(`the mail server was not reached: ${failureWords(error)}`, true);
}

async function sendMail(
  settings: MailSettings,
  message: Message,
  connection: { readonly address: string; readonly password: string | undefined; readonly signal: AbortSignal },
) {
  const { server } = settings;
  const { address, password, signal } = connection;
  const { url, startTls, caFile, login } = server;
  const host = hostOf(url);
  const isTls = url.protocol === "smtps:";
  const { createTransport } = await import("nodemailer");
  const transport = createTransport({
    host: address,
    name: greetingOf(settings),
    ...(isIP(host) === 0 && { servername: host }),
    port: Number(url.port) || defaultPort[isTls ? "smtps:" : "smtp:"],
    secure: isTls,
    ignoreTLS: !isTls && startTls === "off",
    requireTLS: !isTls && startTls === "required",
    tls: { minVersion: "TLSv1.2", ...(caFile !== undefined && { ca: readCaFile(caFile) }) },
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: idleMs,
    ...(login !== undefined && password !== undefined && { auth: { user: login.user, pass: password } }),
  });
  try {
    return await transport.sendMail({ ...toMail(message, settings), signal });
  } finally {
    transport.close();
  }
}

/** Whether nobody answered at an address, so that another one may. */
function wasNotReached(error: unknown): boolean {
  const { responseCode, command, code } = error as { responseCode?: unknown; command?: unknown; code?: unknown };
  return (
    responseCode === undefined && command === "CONN" && ["ESOCKET", "ECONNECTION", "ETIMEDOUT"].includes(String(code))
  );
}

/** Tries one address after the other until somebody answers. */
async function firstReached<T>(addresses: readonly string[], send: (address: string) => Promise<T>): Promise<T> {
  for (const [at, address] of addresses.entries()) {
    try {
      return await send(address);
    } catch (error) {
      if (at === addresses.length - 1 || !wasNotReached(error)) throw error;
    }
  }
  throw forbidden();
}

export function createEmailNotifier(ports: {
  readonly settings: MailSettings;
  readonly resolve?: LookupFunction;
}): Notifier {
  const { settings, resolve } = ports;
  const { server, to } = settings;
  const lookup = guardedLookup(forbidden, resolve);

  return {
    to,
    async send(message, signal) {
      const host = hostOf(server.url);
      if (isLinkLocal(host)) throw forbidden();
      const password = server.login === undefined ? undefined : readSecret(server.login.passwordFile);
      try {
        const addresses = await resolveHost(host, lookup);
        const { rejected } = await firstReached(addresses, (address) =>
          sendMail(settings, message, { address, password, signal }),
        );
        // Not again: anyone who has it already would get it twice.
        if (rejected.length > 0)
          throw new NotificationFailed(`refused for ${rejected.length} of ${to.length} addresses`, false);
      } catch (error) {
        throw toFailed(error, password);
      }
    },
  };
}
