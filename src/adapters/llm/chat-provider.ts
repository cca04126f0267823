import type {
  JSONSchema7,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4Warning,
} from "@ai-sdk/provider";
import type { ChatMessage, FinishReason } from "#contract/connectors.ts";
import type { ToolOffer } from "#contract/operation.ts";
import {
  type ChatCall,
  type ChatEnd,
  type ChatPart,
  type ChatProvider,
  ProviderFailed,
  type ReportedUsage,
  type ToolCalls,
  type ToolExchange,
} from "#domain/ports/connectors.ts";
import { lazy } from "#kernel/async.ts";
import { errorMessage, orElse } from "#kernel/errors.ts";
import { defined } from "#kernel/values.ts";
import { brokenOff, ErrorAnswer, fieldOf, notUnderstood, type Party, toProviderFailed } from "./failures.ts";
import type { Access, Asking, ProviderKind } from "./providers.ts";
import { createScreen, screened, scrub } from "./scrub.ts";

const finishReasons: Readonly<Partial<Record<LanguageModelV4FinishReason["unified"], FinishReason>>> = {
  stop: "stop",
  length: "length",
  "content-filter": "content_filter",
};
const toFinishReason = ({ unified }: LanguageModelV4FinishReason): FinishReason => finishReasons[unified] ?? "other";

/** More than any model takes or gives: a greater figure is wrong, and would spoil every sum. */
const mostTokens = 1_000_000_000;
const plausibleTokens = (tokens: number | undefined): number | null =>
  tokens !== undefined && tokens >= 0 && tokens <= mostTokens ? Math.round(tokens) : null;
const toUsage = ({ inputTokens, outputTokens }: LanguageModelV4Usage): ReportedUsage => ({
  inputTokens: plausibleTokens(inputTokens.total),
  outputTokens: plausibleTokens(outputTokens.total),
});

const maxNameLength = 200;
const boundedName = (model: string): string => model.slice(0, maxNameLength);

const toMessage = ({ role, content }: ChatMessage): LanguageModelV4Message =>
  role === "system" ? { role, content } : { role, content: [{ type: "text", text: content }] };

/** Some providers take system messages in one place only. */
function toPrompt(
  messages: readonly ChatMessage[],
  hoistsSystem = false,
): { readonly prompt: LanguageModelV4Prompt; readonly warnings: readonly string[] } {
  if (!hoistsSystem) return { prompt: messages.map(toMessage), warnings: [] };
  const system = messages.filter(({ role }) => role === "system");
  const others = messages.filter(({ role }) => role !== "system");
  const isMoved = system.some((message, at) => messages[at] !== message);
  return {
    prompt: [...system, ...others].map(toMessage),
    warnings: isMoved ? ["system messages were sent before all others: the provider takes them nowhere else"] : [],
  };
}

type Assistant = Extract<LanguageModelV4Message, { readonly role: "assistant" }>;

const toTool = ({ name, description, schema }: ToolOffer) => ({
  type: "function" as const,
  ...{ name, description },
  inputSchema: schema as JSONSchema7,
});

/** A part of a turn with calls as it is sent back; what else there is, as files, no provider needs. */
function toTurnPart(part: LanguageModelV4Content): Assistant["content"] {
  if (part.type !== "text" && part.type !== "reasoning" && part.type !== "tool-call") return [];
  const options = part.providerMetadata && { providerOptions: part.providerMetadata };
  if (part.type !== "tool-call") return [{ type: part.type, text: part.text, ...options }];
  const { type, toolCallId, toolName } = part;
  return [{ type, toolCallId, toolName, input: orElse((): unknown => JSON.parse(part.input), {}), ...options }];
}

function toolCallsIn(content: readonly LanguageModelV4Content[], secrets: readonly string[]): ToolCalls | undefined {
  const calls = content.flatMap((part) =>
    part.type === "tool-call"
      ? [{ id: part.toolCallId, name: screened(part.toolName, secrets), input: screened(part.input, secrets) }]
      : [],
  );
  return calls.length === 0 ? undefined : { calls, turn: content.flatMap(toTurnPart) };
}

const toExchange = ({ calls, turn, answers }: ToolExchange): readonly LanguageModelV4Message[] => [
  { role: "assistant", content: turn as Assistant["content"] },
  {
    role: "tool",
    content: calls.map(({ id, name }, at) => ({
      type: "tool-result",
      ...{ toolCallId: id, toolName: name },
      output: { type: "text", value: answers[at] ?? "" },
    })),
  },
];

const names: Readonly<Record<string, string>> = { maxOutputTokens: "max_tokens" };

export function toSentence(warning: SharedV4Warning): string {
  if (warning.type === "other") return warning.message;
  if (warning.type === "deprecated") return `${warning.setting}: ${warning.message}`;
  const { feature, details = "" } = warning;
  const name = names[feature] ?? feature;
  const [, sent] = /(?:clamped|limited) to (\d+(?:\.\d+)?)/.exec(details) ?? [];
  if (sent !== undefined && warning.type === "compatibility") {
    return `${name} was not given and must be: ${Number(sent)} was sent`;
  }
  if (sent !== undefined) return `the model does not take this ${name}: ${Number(sent)} was sent`;
  if (warning.type === "unsupported") return `the model does not take ${name}: it was left out`;
  return details === "" ? name : `${name}: ${details}`;
}

interface Gathered {
  model: string;
  readonly warnings: string[];
}

function readPart(
  part: LanguageModelV4StreamPart,
  gathered: Gathered,
  modelIn: (raw: unknown) => string | undefined,
): ChatPart | undefined {
  if (part.type === "error") throw part.error;
  if (part.type === "stream-start") gathered.warnings.push(...part.warnings.map(toSentence));
  if (part.type === "response-metadata") gathered.model = part.modelId ?? gathered.model;
  if (part.type === "raw") gathered.model = modelIn(part.rawValue) ?? gathered.model;
  if (part.type === "text-delta" && part.delta !== "") return { kind: "text", text: part.delta };
  if (part.type !== "finish") return undefined;
  const { usage, finishReason } = part;
  return { kind: "end", ...gathered, usage: toUsage(usage), finishReason: toFinishReason(finishReason) };
}

const bearer = (key: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${key}` });

async function get(kind: ProviderKind, access: Access, url: string, signal: AbortSignal): Promise<unknown> {
  const { key } = access;
  const headers = { ...(key !== undefined && (kind.authenticate ?? bearer)(key)), ...access.headers };
  const answer = await access.fetch(url, { headers: { accept: "application/json", ...headers }, signal });
  const text = await answer.text();
  if (!answer.ok) throw new ErrorAnswer(answer.status, answer.headers, text);
  return JSON.parse(text);
}

function modelMissing(party: Party, model: string, offered: readonly string[] = []): never {
  const others = offered.length === 0 ? "" : `; it has ${scrub(offered.slice(0, 5).join(", "), party.secrets)}`;
  throw new ProviderFailed(`${party.provider} has no model ${model} (${party.remedy})${others}`, {
    failure: "refused",
    status: 404,
    isRetryable: false,
  });
}

/** How a library calls a stream that has come to an end without the last event of an answer. */
const endsUnfinished = (error: unknown): boolean =>
  fieldOf(error, "name") === "AI_InvalidResponseDataError" && /without a finish reason/.test(errorMessage(error));

const isRefusedRequest = (error: unknown): boolean => [400, 422].includes(Number(fieldOf(error, "statusCode")));

function callOptions(kind: ProviderKind, access: Access, call: ChatCall, abortSignal: AbortSignal) {
  const { messages, tools, exchanges = [], maxTokens, temperature } = call;
  const { prompt, warnings } = toPrompt(messages, kind.hoistsSystem);
  const options: LanguageModelV4CallOptions = {
    prompt: [...prompt, ...exchanges.flatMap(toExchange)],
    ...(tools !== undefined && { tools: tools.map(toTool) }),
    abortSignal,
    ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(kind.options !== undefined && { providerOptions: { ...kind.options(access) } }),
  };
  return { options, warnings };
}

export function createChatProvider(kind: ProviderKind, access: Access, party: Party): ChatProvider {
  const load = lazy(() => kind.load(access));
  const modelIn = kind.modelIn ?? (() => undefined);

  const shownName = (model: string): string => boundedName(screened(model, party.secrets));

  const failureOf = (error: unknown, signal: AbortSignal): unknown =>
    signal.aborted ? signal.reason : toProviderFailed(error, party, Date.now());

  const optionsOf = (call: ChatCall, signal: AbortSignal) => callOptions(kind, access, call, signal);

  async function generate(call: ChatCall, signal: AbortSignal) {
    const { options, warnings } = optionsOf(call, signal);
    const result = await (await load()).doGenerate(options);
    const end: ChatEnd = {
      model: shownName(modelIn(result.response?.body) ?? result.response?.modelId ?? access.model),
      usage: toUsage(result.usage),
      finishReason: toFinishReason(result.finishReason),
      warnings: [...warnings, ...result.warnings.map(toSentence)],
    };
    const content = result.content.map((part) => (part.type === "text" ? part.text : "")).join("");
    const called = toolCallsIn(result.content, party.secrets);
    return { ...end, content: screened(content, party.secrets), ...defined({ called }) };
  }

  async function* parts(call: ChatCall, signal: AbortSignal): AsyncGenerator<ChatPart> {
    const { options, warnings } = optionsOf(call, signal);
    const asked = { ...options, includeRawChunks: kind.modelIn !== undefined };
    const { stream, response } = await (await load()).doStream(asked);
    const gathered: Gathered = { model: access.model, warnings: [...warnings] };
    const screen = createScreen(party.secrets);
    let isSilent = true;
    for await (const part of stream) {
      if (part.type === "finish" && part.finishReason.unified === "interrupted") break;
      if (part.type === "error" && endsUnfinished(part.error)) break;
      const read = readPart(part, gathered, modelIn);
      if (read === undefined) continue;
      isSilent = false;
      const text = read.kind === "text" ? screen.push(read.text) : screen.end();
      if (text !== "") yield { kind: "text", text };
      if (read.kind === "text") continue;
      yield { ...read, model: shownName(read.model) };
      return;
    }
    // No event, and of another kind than asked for: a page for people, or an answer as a whole.
    const isStream = response?.headers?.["content-type"]?.startsWith("text/event-stream") === true;
    throw isSilent && !isStream ? notUnderstood(party) : brokenOff(party);
  }

  return {
    async chat(call, signal) {
      try {
        return await generate(call, signal);
      } catch (error) {
        throw failureOf(error, signal);
      }
    },
    async *stream(call, signal) {
      const over = new AbortController();
      try {
        yield* parts(call, AbortSignal.any([signal, over.signal]));
      } catch (error) {
        throw failureOf(error, signal);
      } finally {
        over.abort();
      }
    },
    async probe(signal) {
      const asking: Asking = {
        get: (url) => get(kind, access, url, signal),
        modelMissing: (offered) => modelMissing(party, access.model, offered),
        async chat({ maxTokens }) {
          const messages = [{ role: "user" as const, content: "ping" }];
          const ask = (limit: number | undefined) =>
            generate({ messages, maxTokens: limit, temperature: undefined }, signal);
          try {
            await ask(maxTokens);
          } catch (error) {
            // Some models want more than so few tokens, or another name for the limit.
            if (!isRefusedRequest(error)) throw error;
            await ask(undefined);
          }
        },
      };
      try {
        await kind.probe(access, asking);
      } catch (error) {
        throw failureOf(error, signal);
      }
    },
  };
}
