import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { guardedLookup, isLinkLocal } from "#adapters/link-local/index.ts";
import { type Message, NotificationFailed, type Notifier } from "#domain/ports/notifications.ts";
import { failureWords, forbidden, readSecret } from "./settings.ts";

const timeoutMs = 15_000;

/** What chat programs act upon: `&`, `<` and `>` as Slack wants them written. */
const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
const escaped = (text: string): string => text.replaceAll(/[&<>]/g, (character) => entities[character] ?? character);

const asCode = (text: string): string => `\`${escaped(text).replaceAll("`", "'")}\``;

function toChatBody({ title, facts, isGood }: Message): string {
  const lines = facts.map(([name, text]) => `${escaped(name)}: ${asCode(text)}`);
  const text = [`${isGood ? ":white_check_mark:" : ":warning:"} ${asCode(title)}`, ...lines].join("\n");
  return JSON.stringify({ text });
}

const isRetryableStatus = (status: number): boolean => status >= 500 || [408, 425, 429].includes(status);

function parseWebhook(text: string): URL {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw new NotificationFailed("the webhook's file does not hold an address (http or https)", true);
  return url;
}

function post(url: URL, body: string, lookup: LookupFunction, signal: AbortSignal): Promise<number> {
  const send = url.protocol === "https:" ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const request = send(url, {
      method: "POST",
      agent: false,
      lookup,
      signal,
      timeout: timeoutMs,
      headers: {
        "content-type": "application/json; charset=utf-8",
        "content-length": Buffer.byteLength(body),
        "user-agent": "steward",
      },
    });
    request.on("response", (response) => {
      const { statusCode = 0 } = response;
      resolve(statusCode);
      response.destroy();
    });
    request.on("timeout", () => request.destroy(new NotificationFailed("no answer in time", true)));
    request.on("error", reject);
    request.end(body);
  });
}

/** A chat channel behind a webhook, whose address is the secret: it is in the file, and nowhere else. */
export function createChatNotifier(ports: {
  readonly webhookFile: string;
  readonly resolve?: LookupFunction;
}): Notifier {
  const { webhookFile, resolve } = ports;
  const lookup = guardedLookup(forbidden, resolve);

  return {
    to: [],
    async send(message, signal) {
      const url = parseWebhook(readSecret(webhookFile));
      if (isLinkLocal(url.hostname)) throw forbidden();
      const status = await post(url, toChatBody(message), lookup, signal).catch((error: unknown) => {
        if (error instanceof NotificationFailed) throw error;
        throw new NotificationFailed(`the webhook was not reached: ${failureWords(error)}`, true);
      });
      if (status >= 200 && status < 300) return;
      if (status >= 300 && status < 400)
        throw new NotificationFailed(`the webhook answers with a redirect (${status}), which is not followed`, false);
      throw new NotificationFailed(`the webhook answers ${status}`, isRetryableStatus(status));
    },
  };
}
