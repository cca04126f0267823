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
    "`disconnected`: the provider cannot be reached. `error`: the provider refused. `not_configured`: the key is missing.",
  ),
  last_checked_at: NullableTimestamp("When it was last used or probed; null if it never was."),
  last_error: NullableString("Why the status is not `connected`, with secrets redacted; null if it is."),
});
export type Connector = Static<typeof Connector>;

export const ConnectorList = Type.Object({
  default: NullableString("The connector that is used unless another is named; null if there is none."),
  connectors: Type.Array(Connector),
});
export type ConnectorList = Static<typeof ConnectorList>;

export const ConnectorTest = Type.Object({
  success: Type.Boolean({ description: "Whether the provider gave a valid answer." }),
  message: Type.String({ description: "Outcome as a sentence of this service; never contains a secret." }),
  latency_ms: Type.Integer({ description: "Time until the provider answered, in milliseconds." }),
});
export type ConnectorTest = Static<typeof ConnectorTest>;

export const ChatMessage = Strict({
  role: Choice(chatRoles, "Author of the message."),
  content: Type.String({ description: "Text of the message." }),
});
export type ChatMessage = Static<typeof ChatMessage>;

export const ChatInput = Strict({
  connector: Type.Optional(
    Type.String({ maxLength: 128, description: "Connector name; the default connector unless given." }),
  ),
  messages: Type.Array(ChatMessage, {
    minItems: 1,
    description: "Oldest first. Several system messages are kept, in order.",
  }),
  max_tokens: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 200_000, description: "Maximum tokens of the answer." }),
  ),
  temperature: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 2,
      description: "Sampling temperature; with 0 the most likely tokens are chosen.",
    }),
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
    Type.Literal(true, {
      description:
        "True if the provider did not report usage, and the numbers are estimated from the length of the texts.",
    }),
  ),
});
export type TokenUsage = Static<typeof TokenUsage>;

export const ChatAnswer = Type.Object({
  content: Type.String({ description: "Answer of the model." }),
  model: Type.String({ description: "The model as the provider names it in its answer." }),
  usage: TokenUsage,
  connector: Type.String({ description: "The connector that was used." }),
  finish_reason: Choice(
    finishReasons,
    "`stop`: the answer is complete. `length`: `max_tokens` was reached. `content_filter`: the provider withheld the rest.",
  ),
  warnings: Type.Array(Type.String(), {
    description: "Parameters of the request that the model does not accept, such as `temperature`.",
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

export const RunbooksSent = Type.Optional(
  Type.Array(Type.String(), {
    description: "Ids of the runbooks that the model is given as advice, those of the administrator first.",
  }),
);

export const Explanation = Type.Object({
  explanation: Type.String({ description: "Text of the model. It may be wrong, and nothing acts on it." }),
  model: Type.String({ description: "The model as the provider names it." }),
  connector: Type.String({ description: "The connector that was used." }),
  usage: TokenUsage,
  cited: Type.Array(Type.String(), { description: "Cursors of the journal entries that the explanation cites." }),
  invalid_citations: Type.Optional(
    Type.Array(Type.String(), {
      description:
        "Lines that the explanation cites and that do not exist, such as `L99`: do not rely on what they are given for.",
    }),
  ),
  unsupported: Type.Optional(
    Type.Array(Type.String(), { description: "Sentences of the explanation that cite nothing that exists." }),
  ),
  redactions: Type.Integer({ description: "Number of secrets that were redacted before sending." }),
  omitted: Type.Array(Type.String(), {
    description:
      "What was not sent, and why: the key lacks a scope, the size limit was reached, or it could not be read.",
  }),
  runbooks: RunbooksSent,
  check: HealthCheckResult,
});
export type Explanation = Static<typeof Explanation>;

export const ExplanationPreview = Type.Object({
  preview: Type.Literal(true, { description: "True in a preview." }),
  connector: Type.String({ description: "The connector that would be asked." }),
  messages: Type.Array(ChatMessage, { description: "What would be sent." }),
  bytes: Type.Integer({ description: "Length of the messages in UTF-8." }),
  redactions: Type.Integer({ description: "Number of secrets that were redacted." }),
  omitted: Type.Array(Type.String(), { description: "What would not be sent, and why." }),
  runbooks: RunbooksSent,
});
export type ExplanationPreview = Static<typeof ExplanationPreview>;

export const connectors = {
  listConnectors: {
    method: "GET",
    path: "/connectors",
    tag: "Connectors",
    summary: "Language-model connectors",
    description: "No provider is called: each status is that of the last use or probe.",
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
    description: "The provider is not called: the status is that of the last use or probe.",
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
      "Asks the provider for the model, which costs no tokens; if the provider has no such call, asks for an answer of one token. A refusal of the provider is answered with 200 and `success: false`.",
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
      "Sends the messages to the connector and returns the answer of the model. If the provider is down or refuses, the answer is `UNAVAILABLE` with `details.provider_status`.",
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
  connector: Type.String({ maxLength: 128, description: "Connector name; the default connector unless given." }),
  question: Type.String({
    minLength: 1,
    maxLength: 2000,
    description: "A question in addition to what is wrong and what to do.",
  }),
});

/** In the path of the checks, but an operation of the connectors. */
export const explanations = {
  explainCheck: {
    method: "POST",
    path: "/health/checks/{check_id}/explain",
    tag: "Health",
    summary: "Explain a health check with a language model",
    description:
      "Sends the result of the check, its recent history, matching journal entries and the state of its units to a connector, with what else may be its cause: the host, other checks that fail, packages and calls that changed something recently, and, for checks of load, memory and disks, the processes and directories that take most. The runbooks of the check and of the units that it names go with it as advice. Secrets are redacted, and the size is limited. What the key may not read (`logs:read`, `system:read`, `processes:read`, `disk-usage:read`, `packages:read`, `audit:read`) is not sent. `?preview=true` shows what would be sent, and sends nothing. Journal text is passed to the model as data, and nothing acts on the answer.",
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
        Type.Boolean({ default: false, description: "Return what would be sent, and send nothing." }),
      ),
    }),
    body: ExplanationInput,
    response: Type.Union([Explanation, ExplanationPreview]),
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
} as const satisfies Operations;
