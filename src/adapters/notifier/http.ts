import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { guardedLookup, isLinkLocal } from "#adapters/link-local/index.ts";
import type { ChannelSeverity } from "#contract/alerts.ts";
import { NotificationFailed, type Notifier, type OutgoingMessage } from "#domain/ports/notifications.ts";
import { defined } from "#kernel/values.ts";
import { failureWords, forbidden, readSecret } from "./settings.ts";

/** A line for each fact. */
export const factLines = ({ facts }: Pick<OutgoingMessage, "facts">): string =>
  facts.map(([name, text]) => `${name}: ${text}`).join("\n");

export const titleAndFacts = (message: Pick<OutgoingMessage, "title" | "facts">): string =>
  `${message.title}\n${factLines(message)}`;

/** The text in at most so many bytes of UTF-8, no character halved. */
export function clipBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  // A stream keeps back a character that is not complete.
  return `${new TextDecoder().decode(bytes.subarray(0, maxBytes - 3), { stream: true })}…`;
}

export type Urgency = "good" | "warning" | "critical";

/** What is bad and has no severity counts as a warning. */
export const urgencyOf = ({ isGood, severity = "warning" }: Pick<OutgoingMessage, "isGood" | "severity">): Urgency =>
  isGood ? "good" : severity;

const timeoutMs = 15_000;

export interface HttpRequest {
  readonly url: URL;
  /** `POST` unless given. */
  readonly method?: "POST" | "PUT";
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body: unknown;
}

/** Reads the secret in a file. @throws NotificationFailed */
export type ReadSecret = (path: string) => string;

/** Something that takes a message by one request. */
export interface HttpService {
  /** How failures name it: `the Gotify server`. */
  readonly name: string;
  /** @throws NotificationFailed where its secrets cannot be used. */
  readonly request: (message: OutgoingMessage, read: ReadSecret) => HttpRequest;
}

const isRetryableStatus = (status: number): boolean => status >= 500 || [408, 425, 429].includes(status);

/** Without lone surrogates, which strict readers of JSON refuse. */
const wellFormed = (message: OutgoingMessage): OutgoingMessage => ({
  ...message,
  subject: message.subject.toWellFormed(),
  title: message.title.toWellFormed(),
  facts: message.facts.map(([name, text]) => [name.toWellFormed(), text.toWellFormed()] as const),
});

function sendRequest(
  { url, method = "POST", headers, body }: HttpRequest,
  lookup: LookupFunction,
  signal: AbortSignal,
): Promise<number> {
  const send = url.protocol === "https:" ? requestHttps : requestHttp;
  const content = JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const request = send(url, {
      method,
      agent: false,
      lookup,
      signal,
      timeout: timeoutMs,
      headers: {
        "user-agent": "steward",
        ...headers,
        "content-type": "application/json; charset=utf-8",
        "content-length": Buffer.byteLength(content),
      },
    });
    request.on("response", (response) => {
      const { statusCode = 0 } = response;
      resolve(statusCode);
      response.destroy();
    });
    request.on("timeout", () => request.destroy(new NotificationFailed("no answer in time", true)));
    request.on("error", reject);
    request.end(content);
  });
}

/** Sends messages to a service. What is answered besides the status is not read: it may repeat secrets. */
export function createHttpNotifier(ports: {
  readonly service: HttpService;
  readonly severity?: ChannelSeverity | undefined;
  readonly resolve?: LookupFunction | undefined;
}): Notifier {
  const { service, severity, resolve } = ports;
  const { name } = service;
  const lookup = guardedLookup(forbidden, resolve);

  return {
    to: [],
    ...defined({ severity }),
    async send(message, signal) {
      const request = service.request(wellFormed(message), readSecret);
      if (isLinkLocal(request.url.hostname)) throw forbidden();
      const status = await sendRequest(request, lookup, signal).catch((error: unknown) => {
        if (error instanceof NotificationFailed) throw error;
        throw new NotificationFailed(`${name} was not reached: ${failureWords(error)}`, true);
      });
      if (status >= 200 && status < 300) return;
      if (status >= 300 && status < 400)
        throw new NotificationFailed(`${name} answers with a redirect (${status}), which is not followed`, false);
      throw new NotificationFailed(`${name} answers ${status}`, isRetryableStatus(status));
    },
  };
}
