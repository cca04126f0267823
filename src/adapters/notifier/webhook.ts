import type { WebhookField } from "#contract/alerts.ts";
import type { OutgoingMessage } from "#domain/ports/notifications.ts";
import { toTimestamp } from "#kernel/clock.ts";
import { fillTemplate } from "#kernel/text.ts";
import { factLines, type HttpService } from "./http.ts";
import { toToken, webhookUrl } from "./settings.ts";

export interface WebhookTarget {
  readonly service: "webhook";
  readonly urlFile: string;
  readonly headers: readonly { readonly name: string; readonly value: string | { readonly file: string } }[];
  /** A JSON value; all fields unless given. */
  readonly template?: unknown;
}

const fieldsOf = (message: OutgoingMessage, host: string): Readonly<Record<WebhookField, string>> => ({
  id: message.id,
  kind: message.kind,
  subject: message.subject,
  host,
  state: message.isGood ? "ok" : "problem",
  severity: message.severity ?? "",
  title: message.title,
  text: factLines(message),
  time: toTimestamp(message.at),
});

const defaultBody = (message: OutgoingMessage, host: string) => ({
  ...fieldsOf(message, host),
  severity: message.severity ?? null,
  facts: message.facts.map(([name, value]) => ({ name, value })),
});

export const webhookService = ({ urlFile, headers, template }: WebhookTarget, host: string): HttpService => ({
  name: "the webhook",
  request: (message, read) => ({
    url: webhookUrl(read(urlFile)),
    headers: Object.fromEntries(
      headers.map(({ name, value }) => [
        name.toLowerCase(),
        typeof value === "string" ? value : toToken(read(value.file), value.file),
      ]),
    ),
    body: template === undefined ? defaultBody(message, host) : fillTemplate(template, fieldsOf(message, host)),
  }),
});
