import { type TProperties, Type } from "typebox";
import { type ChannelSeverity, channelSeverities, type NotificationChannel, webhookFields } from "#contract/alerts.ts";
import { Choice, optional, Strict } from "#contract/schema.ts";
import { text } from "./defaults.ts";

const secretFile = (what: string) => text(`File with ${what}; it must not be readable by everybody.`);

/** What a service is sent unless its settings say so. */
export const defaultSeverities = {
  ntfy: "all",
  gotify: "all",
  telegram: "all",
  matrix: "all",
  teams: "all",
  pagerduty: "critical",
  opsgenie: "critical",
  webhook: "all",
} as const satisfies Partial<Record<NotificationChannel, ChannelSeverity>>;

const Service = <T extends TProperties>(name: keyof typeof defaultSeverities, members: T) =>
  Strict({
    ...members,
    severity: Type.Optional(
      Choice(
        channelSeverities,
        `What to send: \`all\`, or only alerts of severity \`critical\` and their resolution; \`${defaultSeverities[name]}\` unless given.`,
      ),
    ),
  });

const WebhookHeader = Strict({
  name: Type.String({
    pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$",
    examples: ["Authorization"],
    description: "Name of the header.",
  }),
  ...optional({
    value: Type.String({
      pattern: "^[\\x20-\\x7e]+$",
      examples: ["ops"],
      description: "Value of the header, if it is not a secret.",
    }),
    value_file: secretFile("its value"),
  }),
});

export const serviceSettings = {
  ntfy: Service("ntfy", {
    ...optional({
      url: text("Address of the server; `https://ntfy.sh` unless given."),
      topic: Type.String({
        pattern: "^[-_A-Za-z0-9]{1,64}$",
        examples: ["steward"],
        description: "Topic, if reading it needs a token.",
      }),
      topic_file: secretFile("the topic, if anybody who knows it can read it"),
      token_file: secretFile("an access token"),
    }),
  }),
  gotify: Service("gotify", {
    url: text("Address of the server."),
    token_file: secretFile("the token of an application"),
  }),
  telegram: Service("telegram", {
    chat_id: Type.Union(
      [
        Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
        Type.String({ pattern: "^(-?[0-9]{1,20}|@[A-Za-z][A-Za-z0-9_]{3,31})$", examples: ["@channel"] }),
      ],
      { examples: [-1001234567890], description: "Id of the chat, or the name of a public one: `@channel`." },
    ),
    token_file: secretFile("the token of the bot"),
    ...optional({
      thread_id: Type.Integer({ minimum: 1, description: "Topic of the chat, if it has topics." }),
      url: text("Address of a Bot API server; `https://api.telegram.org` unless given."),
    }),
  }),
  matrix: Service("matrix", {
    url: text("Address of the home server of the sending user: `https://matrix.example.org`."),
    room: Type.String({
      pattern: "^![^\\s/?#]{1,254}$",
      examples: ["!abc:example.org"],
      description: "Id of a room that the user has joined: `!…`, not an alias.",
    }),
    token_file: secretFile("an access token of the user"),
  }),
  teams: Service("teams", { webhook_url_file: secretFile("the address of the workflow's webhook") }),
  pagerduty: Service("pagerduty", {
    routing_key_file: secretFile("the integration key of the service (Events API v2)"),
    ...optional({ url: text("Address of the API; `https://events.pagerduty.com` unless given.") }),
  }),
  opsgenie: Service("opsgenie", {
    api_key_file: secretFile("the key of an API integration"),
    ...optional({ url: text("Address of the API; `https://api.opsgenie.com` unless given.") }),
  }),
  webhook: Service("webhook", {
    url_file: secretFile("the address"),
    ...optional({
      headers: Type.Array(WebhookHeader, { maxItems: 20, description: "Headers of the request." }),
      template: Type.Unknown({
        description: `The body, a JSON value. In its strings ${webhookFields.map((name) => `\`{${name}}\``).join(", ")} are replaced. All of them and the facts unless given.`,
      }),
    }),
  }),
};
