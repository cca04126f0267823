import { NotificationFailed, type OutgoingMessage } from "#domain/ports/notifications.ts";
import { clipText } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import { clipBytes, factLines, type HttpService, titleAndFacts, type Urgency, urgencyOf } from "./http.ts";
import { serviceUrl, toToken, webhookUrl } from "./settings.ts";

export interface NtfyTarget {
  readonly service: "ntfy";
  readonly url: string;
  readonly topic: string | { readonly file: string };
  readonly tokenFile?: string;
}

/** A longer message becomes an attachment. */
const maxMessageBytes = 4096;

const ntfyPriorities: Readonly<Record<Urgency, number>> = { good: 3, warning: 4, critical: 5 };
/** Shown as emoji. */
const tags: Readonly<Record<Urgency, string>> = {
  good: "white_check_mark",
  warning: "warning",
  critical: "rotating_light",
};

function topicIn(text: string, path: string): string {
  if (/^[-_A-Za-z0-9]{1,64}$/.test(text)) return text;
  throw new NotificationFailed(`cannot use ${path}: it does not hold a topic (letters, digits, _ and -)`, true);
}

/** https://docs.ntfy.sh/publish/#publish-as-json */
export const ntfyService = ({ url, topic, tokenFile }: NtfyTarget): HttpService => ({
  name: "the ntfy server",
  request(message, read) {
    const urgency = urgencyOf(message);
    return {
      url: serviceUrl(url, "/"),
      headers: tokenFile === undefined ? {} : { authorization: `Bearer ${toToken(read(tokenFile), tokenFile)}` },
      body: {
        topic: typeof topic === "string" ? topic : topicIn(read(topic.file), topic.file),
        title: message.title,
        message: clipBytes(factLines(message) || message.title, maxMessageBytes),
        priority: ntfyPriorities[urgency],
        tags: [tags[urgency]],
        // A repetition takes the place of the first; servers before 2.16 show both.
        sequence_id: message.id.replaceAll(/[^-_A-Za-z0-9]/g, "-").slice(0, 64),
      },
    };
  },
});

export interface GotifyTarget {
  readonly service: "gotify";
  readonly url: string;
  readonly tokenFile: string;
}

/** From 8 on the app interrupts, from 4 on it makes a sound. */
const gotifyPriorities: Readonly<Record<Urgency, number>> = { good: 4, warning: 6, critical: 9 };

/** https://gotify.net/docs/pushmsg */
export const gotifyService = ({ url, tokenFile }: GotifyTarget): HttpService => ({
  name: "the Gotify server",
  request: (message, read) => ({
    url: serviceUrl(url, "/message"),
    headers: { "x-gotify-key": toToken(read(tokenFile), tokenFile) },
    body: {
      title: message.title,
      message: factLines(message) || message.title,
      priority: gotifyPriorities[urgencyOf(message)],
      extras: { "client::display": { contentType: "text/plain" } },
    },
  }),
});

export interface MatrixTarget {
  readonly service: "matrix";
  readonly url: string;
  readonly room: string;
  readonly tokenFile: string;
}

/**
 * https://spec.matrix.org/latest/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid. A repetition has the same
 * transaction, so the server takes it once.
 */
export const matrixService = ({ url, room, tokenFile }: MatrixTarget): HttpService => ({
  name: "the Matrix server",
  request: (message, read) => {
    const transaction = encodeURIComponent(`steward-${message.id}`);
    const path = `/_matrix/client/v3/rooms/${encodeURIComponent(room)}/send/m.room.message/${transaction}`;
    return {
      url: serviceUrl(url, path),
      method: "PUT",
      headers: { authorization: `Bearer ${toToken(read(tokenFile), tokenFile)}` },
      // A notice (`m.notice`) would be silent. No mentions: no name in the text calls anybody.
      body: { msgtype: "m.text", body: titleAndFacts(message), "m.mentions": {} },
    };
  },
});

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
      text: clipText(`${signs[urgencyOf(message)]} ${titleAndFacts(message)}`, maxMessageUnits),
      link_preview_options: { is_disabled: true },
      ...defined({ message_thread_id: threadId }),
    },
  }),
});

export interface TeamsTarget {
  readonly service: "teams";
  readonly webhookFile: string;
}

/** Runs of text are shown as they are; the facts of a `FactSet` would be read as Markdown, with links. */
const run = (text: string, style: object = {}) => ({ type: "TextRun", text, ...style });
const line = (...inlines: readonly object[]) => ({ type: "RichTextBlock", inlines });

const toCard = ({ title, facts, isGood }: OutgoingMessage) => ({
  $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
  type: "AdaptiveCard",
  version: "1.4",
  msteams: { width: "Full" },
  body: [
    line(run(title, { size: "Medium", weight: "Bolder", color: isGood ? "Good" : "Attention" })),
    ...facts.map(([name, text]) => line(run(`${name}: `, { isSubtle: true }), run(text))),
  ],
});

/** A workflow of Teams that posts the Adaptive Card which its webhook is sent. Its address is the secret. */
export const teamsService = ({ webhookFile }: TeamsTarget): HttpService => ({
  name: "the workflow of Teams",
  request: (message, read) => ({
    url: webhookUrl(read(webhookFile)),
    body: {
      type: "message",
      attachments: [
        { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content: toCard(message) },
      ],
    },
  }),
});

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
