import { NotificationFailed } from "#domain/ports/notifications.ts";
import { defined } from "#kernel/values.ts";
import type { HttpService } from "./http.ts";
import { serviceUrl } from "./settings.ts";
import { clip, titleAndFacts, type Urgency, urgencyOf } from "./text.ts";

export interface TelegramTarget {
  readonly service: "telegram";
  readonly url: string;
  readonly chatId: string | number;
  readonly threadId?: number;
  readonly tokenFile: string;
}

const maxMessageUnits = 4096;

const signs: Readonly<Record<Urgency, string>> = { good: "✅", warning: "⚠️", critical: "🚨" };

function botToken(text: string, path: string): string {
  if (/^[0-9]+:[A-Za-z0-9_-]+$/.test(text)) return text;
  throw new NotificationFailed(`cannot use ${path}: it does not hold the token of a bot`, true);
}

/** https://core.telegram.org/bots/api#sendmessage: without `parse_mode` the text is plain. */
export const telegramService = ({ url, chatId, threadId, tokenFile }: TelegramTarget): HttpService => ({
  name: "Telegram",
  request: (message, read) => ({
    url: serviceUrl(url, `/bot${botToken(read(tokenFile), tokenFile)}/sendMessage`),
    body: {
      chat_id: chatId,
      text: clip(`${signs[urgencyOf(message)]} ${titleAndFacts(message)}`, maxMessageUnits),
      link_preview_options: { is_disabled: true },
      ...defined({ message_thread_id: threadId }),
    },
  }),
});
