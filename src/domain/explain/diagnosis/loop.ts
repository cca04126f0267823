import type { ChatAnswer, ChatMessage, TokenUsage } from "#contract/connectors.ts";
import {
  type DiagnosisBudget,
  type DiagnosisCall,
  type DiagnosisProposal,
  type DiagnosisStep,
  diagnosisLimits,
} from "#contract/diagnosis.ts";
import { errorStatus, isErrorStatus } from "#contract/errors.ts";
import type { Plan, ServerSentEvent, ToolAnswer, ToolOffer, Tools } from "#contract/operation.ts";
import { cleaned, cleanText } from "#domain/common/clean-text.ts";
import { DomainError, invalid } from "#domain/common/error.ts";
import { ProviderFailed, type ToolCall, type ToolCalls, type ToolExchange } from "#domain/ports/connectors.ts";
import { withinTime } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import { utf8Length } from "#kernel/text.ts";
import { canonicalJson, isRecord, parseJsonObject } from "#kernel/values.ts";
import { answerText } from "./answers.ts";
import { writeAnswer, writeLast } from "./prompt.ts";

/** Enough for an answer of 300 words and the reasoning of some models before it. */
const mostTokensOfAnswer = 4096;
const mostArgumentBytes = 4096;
const mostNameChars = 64;
/** Of one call: an answer that takes longer is worth less than the calls that it would leave no time for. */
const callMs = 30_000;

interface Asked {
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly ToolOffer[];
  readonly exchanges?: readonly ToolExchange[];
  readonly maxTokens: number;
}

/** Several calls of one model, within a budget of tokens. */
export interface Talk {
  readonly tokens: number;
  /** The most tokens that a call may use. */
  readonly expected: (asked: Asked) => number;
  readonly ask: (asked: Asked) => Promise<{ readonly answer: ChatAnswer; readonly called: ToolCalls | undefined }>;
}

export interface LoopPorts {
  readonly talk: Talk;
  readonly tools: Tools;
  readonly clock: Pick<Clock, "sleep" | "monotonicMs">;
  readonly signal: AbortSignal;
  /** As the audit log names the model. */
  readonly model: string;
  /** Called with all calls when another one has ended. */
  readonly onCall: (calls: readonly DiagnosisCall[]) => void;
}

/** A provider that takes no calls with tools, in its own words. */
export interface Refused {
  readonly refusal: string;
}

/** What came of asking a model. */
export interface Findings {
  readonly answer: ChatAnswer;
  readonly usage: TokenUsage;
  readonly calls: readonly DiagnosisCall[];
  readonly steps: number;
  readonly proposals: readonly DiagnosisProposal[];
  readonly stoppedBy: DiagnosisBudget | null;
  readonly redactions: number;
}

interface State {
  readonly startedAt: number;
  readonly calls: DiagnosisCall[];
  readonly exchanges: ToolExchange[];
  /** The answers as they were sent, of all exchanges. */
  readonly answered: string[];
  readonly proposals: Map<string, DiagnosisProposal>;
  usage: TokenUsage;
  steps: number;
  redactions: number;
}

const noUsage: TokenUsage = { input_tokens: 0, output_tokens: 0 };

const sumOf = (one: TokenUsage, other: TokenUsage): TokenUsage => ({
  input_tokens: one.input_tokens + other.input_tokens,
  output_tokens: one.output_tokens + other.output_tokens,
  ...((one.estimated ?? other.estimated) && { estimated: true }),
});

/** A model was offered tools and its provider refused the call, most likely for that. */
const refusals: readonly (number | null)[] = [400, 404, 405, 413, 422, 501];

/** Why a provider would not have a call with tools; undefined for other errors. */
function toolRefusal(error: unknown): string | undefined {
  const cause = error instanceof DomainError ? error.cause : undefined;
  if (!(cause instanceof ProviderFailed) || cause.failure !== "refused") return undefined;
  const isReported = /\btools?\b|\bfunctions?\b/i.test(cause.message);
  return isReported || refusals.includes(cause.status) ? cause.message : undefined;
}

/** Which budget has no space for another call. */
function callsOver({ calls, startedAt }: State, { clock }: LoopPorts): DiagnosisBudget | null {
  if (calls.length >= diagnosisLimits.calls) return "calls";
  return clock.monotonicMs() - startedAt >= diagnosisLimits.timeMs ? "time" : null;
}

/** Which budget has no space for another step with an answer after it. */
function spent(state: State, ports: LoopPorts, next: Asked): DiagnosisBudget | null {
  const { talk } = ports;
  const used = state.usage.input_tokens + state.usage.output_tokens;
  return callsOver(state, ports) ?? (used + 2 * talk.expected(next) > talk.tokens ? "tokens" : null);
}

const errorOf = ({ code, message, details }: DomainError): ToolAnswer => ({
  status: errorStatus[code],
  body: { error: { code, message, ...(details && { details }) } },
});

/** @throws DomainError for what is no JSON object, or far longer than any input. */
function argumentsOf({ input }: ToolCall): Readonly<Record<string, unknown>> {
  const bytes = utf8Length(input);
  if (bytes > mostArgumentBytes) throw invalid("arguments", `Must be of at most ${mostArgumentBytes} bytes`);
  const given = input.trim() === "" ? {} : parseJsonObject(input);
  if (given === undefined) throw invalid("arguments", "Must be a JSON object");
  return given;
}

/** The answer to a call; refusals are answers. @throws the reason of the signal, and what is no error of the call. */
async function carry(call: ToolCall, { tools, clock, signal, model }: LoopPorts): Promise<ToolAnswer> {
  try {
    const given = argumentsOf(call);
    return await withinTime(
      clock,
      callMs,
      signal,
      (during) => tools.call(call.name, given, { model, signal: during }),
      (limitMs) => {
        throw new DomainError("UNAVAILABLE", `no answer within ${limitMs / 1000} s`, { retryable: true });
      },
    );
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof DomainError) return errorOf(error);
    throw error;
  }
}

function proposalOf(operation: string, { status, body, planned }: ToolAnswer): DiagnosisProposal | undefined {
  if (planned === undefined || body === undefined || isErrorStatus(status)) return undefined;
  const { plan_token: token = null, plan_expires_at: expiresAt = null, ...plan } = body as unknown as Plan;
  // It is the caller of this operation who answers for what is carried out.
  if (plan.dry_run !== true) throw new Error(`cannot propose ${operation}: what was asked for was not a plan`);
  if (plan.steps.length === 0) return undefined;
  return {
    operation,
    arguments: planned.arguments,
    reason: planned.reason,
    plan,
    plan_token: token,
    expires_at: expiresAt,
  };
}

const codeIn = ({ status, body }: ToolAnswer): string | null => {
  const error = isErrorStatus(status) ? body?.["error"] : undefined;
  return isRecord(error) && typeof error["code"] === "string" ? error["code"] : null;
};

const step = (data: DiagnosisStep): ServerSentEvent => ({ event: "step", data });

/** Makes one call, and gives its steps. @returns the answer as the model gets it. */
async function* carryOut(wanted: ToolCall, state: State, ports: LoopPorts): AsyncGenerator<ServerSentEvent, string> {
  const id = `C${state.calls.length + 1}`;
  // The provider decides how long it is, and no operation has a longer one.
  const call = { ...wanted, name: wanted.name.slice(0, mostNameChars) };
  const operation = cleanText(call.name);
  const shown = cleaned(parseJsonObject(call.input.slice(0, mostArgumentBytes)) ?? {}) as DiagnosisCall["arguments"];
  const started = { id, operation, arguments: shown };
  yield step({ ...started, error_code: null, status: null, bytes: null, duration_ms: null });
  const startedAt = ports.clock.monotonicMs();
  const answer = await carry(call, ports);
  const given = state.calls.reduce((sum, { bytes }) => sum + bytes, 0);
  const { text, redactions } = answerText(answer.body, given);
  const proposal = proposalOf(operation, answer);
  if (proposal !== undefined) {
    const name = canonicalJson([operation, proposal.arguments]);
    // Planned again, the newest plan has the token that is good for longest.
    state.proposals.delete(name);
    state.proposals.set(name, proposal);
  }
  state.redactions += redactions;
  const made: DiagnosisCall = {
    ...started,
    status: answer.status,
    error_code: codeIn(answer),
    ...(answer.planned !== undefined && { planned: true }),
    bytes: utf8Length(text),
    duration_ms: Math.round(ports.clock.monotonicMs() - startedAt),
  };
  state.calls.push(made);
  ports.onCall(state.calls);
  yield step(made);
  return writeAnswer(id, operation, answer.status, text);
}

async function ask(state: State, { talk }: LoopPorts, asked: Asked) {
  const reply = await talk.ask(asked);
  state.steps += 1;
  state.usage = sumOf(state.usage, reply.answer.usage);
  return reply;
}

/** The first time it turns out whether the model can call anything. */
async function askFirst(
  ...[state, ports, asked]: Parameters<typeof ask>
): Promise<Awaited<ReturnType<typeof ask>> | Refused> {
  try {
    return await ask(state, ports, asked);
  } catch (error) {
    const refusal = toolRefusal(error);
    if (refusal === undefined) throw error;
    return { refusal };
  }
}

const findings = (state: State, answer: ChatAnswer, stoppedBy: DiagnosisBudget | null): Findings => ({
  ...{ answer, stoppedBy },
  ...{ usage: state.usage, calls: state.calls, steps: state.steps, redactions: state.redactions },
  proposals: [...state.proposals.values()],
});

/**
 * Lets a model call operations until it answers, or until a budget ends: then it is asked once more, for its answer alone. Calls are
 * made one after another.
 * @returns what it found.
 * @throws DomainError `UNAVAILABLE` when the provider fails.
 */
export async function* look(
  messages: readonly ChatMessage[],
  offered: readonly ToolOffer[],
  ports: LoopPorts,
): AsyncGenerator<ServerSentEvent, Findings | Refused> {
  const startedAt = ports.clock.monotonicMs();
  const state: State = {
    startedAt,
    calls: [],
    exchanges: [],
    answered: [],
    proposals: new Map(),
    usage: noUsage,
    steps: 0,
    redactions: 0,
  };
  const maxTokens = mostTokensOfAnswer;
  for (;;) {
    const next: Asked = { messages, tools: offered, exchanges: [...state.exchanges], maxTokens };
    const stoppedBy = spent(state, ports, next);
    if (stoppedBy !== null) {
      const { answer } = await ask(state, ports, { messages: writeLast(messages, state.answered), maxTokens });
      return findings(state, answer, stoppedBy);
    }
    const reply = await (state.steps === 0 ? askFirst : ask)(state, ports, next);
    if ("refusal" in reply) return reply;
    const { answer, called } = reply;
    if (called === undefined) return findings(state, answer, null);
    const answers: string[] = [];
    for (const call of called.calls) {
      if (callsOver(state, ports) !== null) break;
      answers.push(yield* carryOut(call, state, ports));
    }
    state.answered.push(...answers);
    state.exchanges.push({ ...called, answers });
  }
}

/** Asks a model that can call nothing. */
export async function askOnce(messages: readonly ChatMessage[], { ask: say }: Pick<Talk, "ask">): Promise<Findings> {
  const { answer } = await say({ messages, maxTokens: mostTokensOfAnswer });
  return { answer, usage: answer.usage, calls: [], steps: 1, proposals: [], stoppedBy: null, redactions: 0 };
}
