import { type Static, Type } from "typebox";
import { HealthCheckResult } from "./checks.ts";
import { ChatErrorEvent, ChatMessage, RunbooksSent, TokenUsage } from "./connectors.ts";
import { DryRunQuery, type Operations, Plan } from "./operation.ts";
import { Choice, NullableInteger, NullableString, NullableTimestamp, Options, Strict } from "./schema.ts";

/** `tools`: the model called operations. `one_shot`: it can call none, and answered from the first evidence alone. */
const diagnosisMethods = ["tools", "one_shot"] as const;

/** Which budget has ended the calls of the model. */
const diagnosisBudgets = ["calls", "time", "tokens"] as const;
export type DiagnosisBudget = (typeof diagnosisBudgets)[number];

const Arguments = (description: string) =>
  Type.Unsafe<Readonly<Record<string, unknown>>>({ type: "object", additionalProperties: true, description });

const call = {
  id: Type.String({ description: "`C1` for the first call: the answer cites calls by it.", examples: ["C1"] }),
  operation: Type.String({ description: "Name of the operation.", examples: ["listLogs"] }),
  arguments: Arguments("The arguments that the model gave, without secrets."),
  error_code: NullableString("Code of the error that answered it, such as `FORBIDDEN`; null if none did."),
  planned: Type.Optional(
    Type.Literal(true, {
      description: "Present for an operation that would change something: only its plan was asked for.",
    }),
  ),
};

/** A call of an operation by the model, with the rights of the caller. */
export const DiagnosisCall = Type.Object({
  ...call,
  status: Type.Integer({ description: "HTTP status of its answer: 403 where the caller may not do it." }),
  bytes: Type.Integer({ description: "How much of its answer the model was given, in bytes." }),
  duration_ms: Type.Integer({ description: "Time until it was answered, in milliseconds." }),
});
export type DiagnosisCall = Static<typeof DiagnosisCall>;

/** A call that begins, where `status` is null, or one that has ended. */
export const DiagnosisStep = Type.Object({
  ...call,
  status: NullableInteger("HTTP status of its answer; null when the call begins."),
  bytes: NullableInteger("How much of its answer the model was given, in bytes; null when the call begins."),
  duration_ms: NullableInteger("Time until it was answered, in milliseconds; null when the call begins."),
});
export type DiagnosisStep = Static<typeof DiagnosisStep>;

export const DiagnosisProposal = Type.Object({
  operation: Type.String({
    description: "Name of the operation that the model proposes.",
    examples: ["restartService"],
  }),
  arguments: Arguments("`params`, `query` and `body` of the call that would carry it out."),
  reason: NullableString("Why, in the words of the model; null if it gave none."),
  plan: Plan,
  plan_token: NullableString(
    "Value for `X-Plan-Token` of that call: it then does what this plan says, or is refused. Never sent to the model.",
  ),
  expires_at: NullableTimestamp("When the token expires; null without one. It can be used once."),
});
export type DiagnosisProposal = Static<typeof DiagnosisProposal>;

export const Diagnosis = Type.Object({
  answer: Type.String({ description: "Text of the model. It may be wrong, and nothing acts on it." }),
  model: Type.String({ description: "The model as the provider names it." }),
  connector: Type.String({ description: "The connector that was used." }),
  method: Choice(
    diagnosisMethods,
    "`tools`: the model could call operations. `one_shot`: it cannot, as `reason` says, and answered from the first evidence alone.",
  ),
  reason: NullableString("Why the model was given no operations to call; null if it was."),
  usage: TokenUsage,
  calls: Type.Array(DiagnosisCall, { description: "What the model called, in order." }),
  steps: Type.Integer({ description: "How often the model was asked." }),
  cited: Type.Array(Type.String(), {
    description: "Cursors of the journal entries of the first evidence, and ids of calls, that the answer cites.",
  }),
  invalid_citations: Type.Array(Type.String(), {
    description:
      "Lines and calls that the answer cites and that do not exist, such as `L99`: do not rely on what they are given for.",
  }),
  unsupported: Type.Array(Type.String(), { description: "Sentences of the answer that cite nothing that exists." }),
  proposals: Type.Array(DiagnosisProposal, {
    description: "Changes that the model proposes, as plans. None of them was carried out.",
  }),
  stopped_by: Type.Union([Choice(diagnosisBudgets), Type.Null()], {
    description:
      "The budget that ended the calls of the model, which then answered from what it had: `calls`, `time` or `tokens`; null if it ended them itself.",
  }),
  redactions: Type.Integer({ description: "Number of secrets that were redacted before sending." }),
  omitted: Type.Array(Type.String(), {
    description:
      "What of the first evidence was not sent, and why: the key lacks a scope, the size limit was reached, or it could not be read.",
  }),
  runbooks: RunbooksSent,
  check: Type.Union([HealthCheckResult, Type.Null()], {
    description: "The result of the check that was asked about; null if none was.",
  }),
});
export type Diagnosis = Static<typeof Diagnosis>;

export const DiagnosisTool = Type.Object({
  name: Type.String({ description: "Name of the operation." }),
  description: Type.String({ description: "What the model is given about it." }),
  schema: Arguments("JSON Schema of its arguments."),
});

export const DiagnosisPreview = Type.Object({
  preview: Type.Literal(true, { description: "True in a preview." }),
  connector: Type.String({ description: "The connector that would be asked." }),
  messages: Type.Array(ChatMessage, { description: "What would be sent first." }),
  tools: Type.Array(DiagnosisTool, {
    description: "What the model would be offered to call: empty if it is known to call nothing.",
  }),
  bytes: Type.Integer({ description: "Length of the messages in UTF-8." }),
  redactions: Type.Integer({ description: "Number of secrets that were redacted." }),
  omitted: Type.Array(Type.String(), { description: "What would not be sent, and why." }),
  runbooks: RunbooksSent,
});
export type DiagnosisPreview = Static<typeof DiagnosisPreview>;

export const DiagnosisStepEvent = Type.Object({ event: Type.Literal("step"), data: DiagnosisStep });
export const DiagnosisDoneEvent = Type.Object({ event: Type.Literal("done"), data: Diagnosis });

/** An event of a diagnosis; `done` and `error` are the last. */
export const DiagnosisEvent = Type.Union([DiagnosisStepEvent, DiagnosisDoneEvent, ChatErrorEvent]);

export const DiagnosisInput = Options({
  question: Type.String({ minLength: 1, maxLength: 2000, description: "What to find out." }),
  check: Type.String({
    minLength: 1,
    maxLength: 128,
    description: "Identifier of the check that the question is about, or whose finding is to be explained.",
    examples: ["disk_space"],
  }),
  unit: Type.String({
    minLength: 1,
    maxLength: 256,
    description: "Name of the systemd unit that the question is about, or whose state is to be explained.",
    examples: ["nginx.service"],
  }),
  connector: Type.String({ maxLength: 128, description: "Connector name; the default connector unless given." }),
  stream: Type.Boolean({
    default: false,
    description:
      "Answer with server-sent events (`text/event-stream`): a `step` event when a call of the model begins and one when it has ended, then one `done` event with this answer, or one `error` event with an error body.",
  }),
});
export type DiagnosisInput = Static<typeof DiagnosisInput>;

/** How far a model may look. */
export const diagnosisLimits = { calls: 12, timeMs: 180_000, tokens: 250_000 } as const;

export const diagnoses = {
  diagnose: {
    method: "POST",
    path: "/diagnose",
    tag: "Health",
    summary: "Diagnose the host with a language model",
    description: `The model of a connector is sent the question with first evidence: of a \`check\` what its explanation has, of a \`unit\` its state and journal entries, and the host, checks that fail, and what changed recently. It may then call the operations that MCP offers, up to ${diagnosisLimits.calls} times, for ${diagnosisLimits.timeMs / 60_000} minutes and with ${diagnosisLimits.tokens} tokens, each with the rights of this key and in the audit log. What would change something is only planned: the plans are in \`proposals\`, and nothing is carried out. Give \`question\`, \`check\` or \`unit\`, or several of them; \`check\` needs \`health:read\`. \`?preview=true\` shows what would be sent first, and sends nothing.`,
    scope: "connectors:chat",
    narrows: "answer",
    effect: "write",
    takesLong: true,
    streams: DiagnosisEvent,
    query: Strict({
      dry_run: DryRunQuery.properties.dry_run,
      preview: Type.Optional(
        Type.Boolean({ default: false, description: "Return what would be sent first, and send nothing." }),
      ),
    }),
    body: DiagnosisInput,
    response: Type.Union([Diagnosis, DiagnosisPreview]),
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
} as const satisfies Operations;
