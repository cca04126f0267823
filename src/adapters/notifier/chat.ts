import type { OutgoingMessage } from "#domain/ports/notifications.ts";
import type { HttpService } from "./http.ts";
import { webhookUrl } from "./settings.ts";

export interface ChatTarget {
  readonly service: "chat";
  readonly webhookFile: string;
}

/** What chat programs act upon: `&`, `<` and `>` as Slack wants them written. */
const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
const escaped = (text: string): string => text.replaceAll(/[&<>]/g, (character) => entities[character] ?? character);

const asCode = (text: string): string => `\`${escaped(text).replaceAll("`", "'")}\``;

function toText({ title, facts, isGood }: OutgoingMessage): string {
  const lines = facts.map(([name, text]) => `${escaped(name)}: ${asCode(text)}`);
  return [`${isGood ? ":white_check_mark:" : ":warning:"} ${asCode(title)}`, ...lines].join("\n");
}

/** A chat channel behind a webhook, whose address is the secret: it is in the file, and nowhere else. */
export const chatService = ({ webhookFile }: ChatTarget): HttpService => ({
  name: "the webhook",
  request: (message, read) => ({ url: webhookUrl(read(webhookFile)), body: { text: toText(message) } }),
});
