import { NotificationFailed } from "#domain/ports/notifications.ts";
import type { HttpService } from "./http.ts";
import { serviceUrl, toToken } from "./settings.ts";
import { clipBytes, factLines, type Urgency, urgencyOf } from "./text.ts";

export interface NtfyTarget {
  readonly service: "ntfy";
  readonly url: string;
  readonly topic: string | { readonly file: string };
  readonly tokenFile?: string;
}

/** A longer message becomes an attachment. */
const maxMessageBytes = 4096;

const priorities: Readonly<Record<Urgency, number>> = { good: 3, warning: 4, critical: 5 };
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
        priority: priorities[urgency],
        tags: [tags[urgency]],
        // A repetition takes the place of the first; servers before 2.16 show both.
        sequence_id: message.id.replaceAll(/[^-_A-Za-z0-9]/g, "-").slice(0, 64),
      },
    };
  },
});
