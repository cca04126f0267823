import type { HttpService } from "./http.ts";
import { serviceUrl, toToken } from "./settings.ts";
import { factLines, type Urgency, urgencyOf } from "./text.ts";

export interface GotifyTarget {
  readonly service: "gotify";
  readonly url: string;
  readonly tokenFile: string;
}

/** From 8 on the app interrupts, from 4 on it makes a sound. */
const priorities: Readonly<Record<Urgency, number>> = { good: 4, warning: 6, critical: 9 };

/** https://gotify.net/docs/pushmsg */
export const gotifyService = ({ url, tokenFile }: GotifyTarget): HttpService => ({
  name: "the Gotify server",
  request: (message, read) => ({
    url: serviceUrl(url, "/message"),
    headers: { "x-gotify-key": toToken(read(tokenFile), tokenFile) },
    body: {
      title: message.title,
      message: factLines(message) || message.title,
      priority: priorities[urgencyOf(message)],
      extras: { "client::display": { contentType: "text/plain" } },
    },
  }),
});
