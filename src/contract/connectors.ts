import { type Static, Type } from "typebox";
import { HealthCheckResult } from "./checks.ts";
import { ErrorBody } from "./error-body.ts";
import { DryRunQuery, type Operations } from "./operation.ts";
import { Choice, NullableString, NullableTimestamp, Options, Strict } from "./schema.ts";

/** `disconnected`: unreachable. `error`: it refused. `not_configured`: its key is missing. */
export const connectorStatuses = ["connected", "disconnected", "error", "not_configured"] as const;
export type ConnectorStatus = (typeof connectorStatuses)[number];
const chatRoles = ["system", "user", "assistant"] as const;
/** Why a model stopped: by itself, at `max_tokens`, because the provider held the rest back, or for another reason. */
export const finishReasons = ["stop", "length", "content_filter", "other"] as const;
export type FinishReason = (typeof finishReasons)[number];

const ConnectorName = Type.String({
  minLength: 1,
  maxLength: 128,
  description: "Connector name.",
  examples: ["local"],
});

export const Connector = Type.Object({
  name: Type.String({ description: "Identifier, used in paths and in chat requests." }),
  provider: Type.String({ description: "Display name of the provider." }),
  model: Type.String({ description: "Identifier of the model at its provider." }),
  status: Choice(
    connectorStatuses,
    "`disconnected`: it cannot be reached. `error`: it refused. `not_configured`: its key is missing.",
  ),
  last_checked_at: NullableTimestamp("When it was last used or probed; null before the first time."),
  last_error: NullableString("Why its status is not `connected`, without secrets; null where it is."),
});
export type Connector = Static<typeof Connector>;

export const ConnectorList = Type.Object({
  default: NullableString("The connector that is used unless another is named; null where there is none."),
  connectors: Type.Array(Connector),
});
export type ConnectorList = Static<typeof ConnectorList>;

export const ConnectorTest = Type.Object({
  success: Type.Boolean({ description: "Whether the provider answered as it should." }),
  message: Type.String({ description: "What the provider answered, in the words of this service; never a secret." }),
  latency_ms: Type.Integer({ description: "Time until the answer of the provider." }),
});
export type ConnectorTest = Static<typeof ConnectorTest>;

export const ChatMessage = Strict({
  role: Choice(chatRoles, "Who says it."),
  content: Type.String({ description: "What is said." }),
});
export type ChatMessage = Static<typeof ChatMessage>;

export const ChatInput = Strict({
  connector: Type.Optional(
    Type.String({ maxLength: 128, description: "Connector name; the default connector when left out." }),
  ),
  messages: Type.Array(ChatMessage, {
    minItems: 1,
    description: "Oldest first. Several system messages are kept, in order.",
  }),
  max_tokens: Type.Optional(Type.Integer({ minimum: 1, maximum: 200_000, description: "Most tokens of the answer." })),
  temperature: Type.Optional(
    Type.Number({ minimum: 0, maximum: 2, description: "How freely words are chosen; with 0 the likeliest ones." }),
  ),
  stream: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        "Answer with server-sent events (`text/event-stream`): `delta` events with `{content}`, then one `done` event with this answer, its `content` empty, or one `error` event with an error body.",
    }),
  ),
});
export type ChatInput = Static<typeof ChatInput>;

export const TokenUsage = Type.Object({
  input_tokens: Type.Integer({ description: "Tokens of the messages." }),
  output_tokens: Type.Integer({ description: "Tokens of the answer." }),
  estimated: Type.Optional(
    Type.Literal(true, { description: "The provider did not say: figures made from the length of the texts." }),
  ),
});
export type TokenUsage = Static<typeof TokenUsage>;

export const ChatAnswer = Type.Object({
  content: Type.String({ description: "What the model says." }),
  model: Type.String({ description: "The model as the provider names it in its answer." }),
  usage: TokenUsage,
  connector: Type.String({ description: "The connector that was used." }),
  finish_reason: Choice(
    finishReasons,
    "`stop`: the model came to its end. `length`: `max_tokens` was reached. `content_filter`: its provider held the rest back.",
  ),
  warnings: Type.Array(Type.String(), {
    description: "What of the request the model does not take, such as `temperature`.",
  }),
});
export type ChatAnswer = Static<typeof ChatAnswer>;

export const ChatDelta = Type.Object({ content: Type.String({ description: "The next piece of the text." }) });
export type ChatDelta = Static<typeof ChatDelta>;

export const ChatDeltaEvent = Type.Object({ event: Type.Literal("delta"), data: ChatDelta });
export const ChatDoneEvent = Type.Object({
  event: Type.Literal("done"),
  data: Type.Object(ChatAnswer.properties, { description: "The answer; its `content` is empty." }),
});
export const ChatErrorEvent = Type.Object({ event: Type.Literal("error"), data: ErrorBody });

/** An event of an answer in pieces; `done` and `error` are the last. */
export const ChatEvent = Type.Union([ChatDeltaEvent, ChatDoneEvent, ChatErrorEvent]);

export const Explanation = Type.Object({
  explanation: Type.String({ description: "The model's words: a claim, not a fact. Nothing acts on them." }),
  model: Type.String({ description: "The model as the provider names it." }),
  connector: Type.String({ description: "The connector that was used." }),
  usage: TokenUsage,
  cited: Type.Array(Type.String(), { description: "Cursors of the journal entries that the explanation cites." }),
  redactions: Type.Integer({ description: "Secrets that were taken out of what was sent." }),
  omitted: Type.Array(Type.String(), {
    description: "What was not sent, and why: the key lacks a scope, the size limit was reached, or it cannot be read.",
  }),
  check: HealthCheckResult,
});
export type Explanation = Static<typeof Explanation>;

export const ExplanationPreview = Type.Object({
  preview: Type.Literal(true, { description: "Only a preview has it." }),
  connector: Type.String({ description: "The connector that would be asked." }),
  messages: Type.Array(ChatMessage, { description: "What would be sent." }),
  bytes: Type.Integer({ description: "Length of the messages in UTF-8." }),
  redactions: Type.Integer({ description: "Secrets that were taken out of it." }),
  omitted: Type.Array(Type.String(), { description: "What would not be sent, and why." }),
});
export type ExplanationPreview = Static<typeof ExplanationPreview>;

export const connectors = {
  listConnectors: {
    method: "GET",
    path: "/connectors",
    tag: "Connectors",
    summary: "Language-model connectors",
    description: "Asks no provider: each status is that of the last use or probe.",
    scope: "connectors:read",
    effect: "read",
    response: ConnectorList,
    errors: [],
  },
  getConnector: {
    method: "GET",
    path: "/connectors/{name}",
    tag: "Connectors",
    summary: "One language-model connector",
    description: "Asks no provider: its status is that of the last use or probe.",
    scope: "connectors:read",
    effect: "read",
    params: Type.Object({ name: ConnectorName }),
    response: Connector,
    errors: ["NOT_FOUND"],
  },
  testConnector: {
    method: "POST",
    path: "/connectors/{name}/test",
    tag: "Connectors",
    summary: "Test a connector",
    description:
      "Asks the provider for the model, which costs no tokens where the provider has such a call; else for an answer of one token. A refusal is an answer, with `success: false`.",
    scope: "connectors:test",
    resource: ({ name = "" }) => name,
    effect: "write",
    params: Type.Object({ name: ConnectorName }),
    query: DryRunQuery,
    response: ConnectorTest,
    errors: ["NOT_FOUND"],
  },
  chat: {
    method: "POST",
    path: "/connectors/chat",
    tag: "Connectors",
    summary: "Chat with a language model",
    description:
      "Sends the messages to the connector and answers with what the model says. A provider that is down or refuses is `UNAVAILABLE` with `details.provider_status`.",
    scope: "connectors:chat",
    narrows: "answer",
    effect: "write",
    takesLong: true,
    streams: ChatEvent,
    query: DryRunQuery,
    body: ChatInput,
    response: ChatAnswer,
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
} as const satisfies Operations;

export const ExplanationInput = Options({
  connector: Type.String({ maxLength: 128, description: "Connector name; the default connector when left out." }),
  question: Type.String({
    minLength: 1,
    maxLength: 2000,
    description: "What to ask beside what is wrong and what to do.",
  }),
});

/** In the path of the checks, but an operation of the connectors. */
export const explanations = {
  explainCheck: {
    method: "POST",
    path: "/health/checks/{check_id}/explain",
    tag: "Health",
    summary: "Have a language model explain a health check",
    description:
      "Sends the result of the check, its recent history, matching journal entries and the state of its units to a connector, without secrets and within a limit of size. What the key may not read (`logs:read`, `system:read`) is not sent. `?preview=true` shows what would be sent, and sends nothing. Journal text is data to the model, and nothing that it says is acted on.",
    scope: "connectors:chat",
    alsoNeeds: ["health:read"],
    narrows: "answer",
    effect: "write",
    takesLong: true,
    params: Type.Object({
      check_id: Type.String({
        minLength: 1,
        maxLength: 128,
        description: "Identifier of the check.",
        examples: ["disk_space"],
      }),
    }),
    query: Strict({
      dry_run: DryRunQuery.properties.dry_run,
      preview: Type.Optional(
        Type.Boolean({ default: false, description: "Answer with what would be sent, and send nothing." }),
      ),
    }),
    body: ExplanationInput,
    response: Type.Union([Explanation, ExplanationPreview]),
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
} as const satisfies Operations;
