import type { OutgoingMessage } from "#domain/ports/notifications.ts";
import type { HttpService } from "./http.ts";
import { webhookUrl } from "./settings.ts";

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
