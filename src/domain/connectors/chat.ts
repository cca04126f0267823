import type { ChatMessage, ChatResponse, TokenUsage } from "#contract/connectors.ts";
import type { Caller, Context, ServerSentEvent } from "#contract/operation.ts";
import { DomainError, missingScope } from "#domain/common/error.ts";
import { createTimeLimit, untilAborted } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import type { TokenBudgets } from "./budget.ts";
import type { Connectors } from "./connectors.ts";
import { bytesOf, estimateInput, usageOf } from "./estimate.ts";
import { cutShort, mayHaveCost, noDefault, notConfigured, takenTooSlowly, timeUp, toUnavailable } from "./failure.ts";
import type { ChatEnd, ChatPart, ChatProvider, ConnectorDefinition } from "./ports.ts";
import { ProviderFailed, type ProviderFailure } from "./ports.ts";
import { withRetries } from "./retry.ts";

/** What an answer is thought to take where the call sets no limit. */
const usualOutputTokens = 4096;

/** `cancelled`: the client went away or did not read on, or the service ended. */
export type CallResult = "success" | ProviderFailure | "cancelled" | "internal_error";

/** A call that has ended. */
export interface CallReport {
  readonly connector: string;
  readonly result: CallResult;
  readonly durationMs: number;
  /** Undefined where there was no answer. */
  readonly usage: TokenUsage | undefined;
}

export interface ChatInput {
  /** The default connector when undefined. */
  readonly connector?: string | undefined;
  readonly messages: readonly ChatMessage[];
  readonly maxTokens?: number | undefined;
  readonly temperature?: number | undefined;
}

type ChatContext = Pick<Context, "caller" | "signal" | "touched" | "drawsOn">;

/** A connector that can be talked to. */
export interface ChosenConnector {
  readonly definition: ConnectorDefinition;
  readonly provider: ChatProvider;
}

export interface Chat {
  /**
   * The connector of this name, or the default one.
   * @throws DomainError FORBIDDEN where the caller's scope does not cover it, NOT_FOUND, UNAVAILABLE where there is none or
   * where its key is missing.
   */
  readonly choose: (name: string | undefined, caller: Caller | undefined) => Promise<ChosenConnector>;
  /** @throws DomainError as `choose`, RATE_LIMITED for a budget that is used up, UNAVAILABLE for a provider that fails. */
  readonly ask: (input: ChatInput, context: ChatContext) => Promise<ChatResponse>;
  /** The same in pieces. Throws as `ask` before the first one, and later where the answer breaks off. */
  readonly stream: (input: ChatInput, context: ChatContext) => AsyncIterable<ServerSentEvent>;
}

const toResponse = (end: ChatEnd, connector: string, usage: TokenUsage, content: string): ChatResponse => ({
  content,
  model: end.model,
  usage,
  connector,
  finish_reason: end.finishReason,
  warnings: [...end.warnings],
});

const tokensIn = ({ input_tokens: input, output_tokens: output }: TokenUsage): number => input + output;
const nothingReported = { inputTokens: null, outputTokens: null };

export function createChat(ports: {
  readonly connectors: Connectors;
  readonly budgets: TokenBudgets;
  readonly clock: Clock;
  /** Whether the caller's scope covers a connector. */
  readonly covers: (caller: Caller, connector: string) => boolean;
  readonly onCall: (report: CallReport) => void;
}): Chat {
  const { connectors, budgets, clock, covers, onCall } = ports;

  const choose = async (named: string | undefined, caller: Caller | undefined): Promise<ChosenConnector> => {
    await connectors.ready();
    const name = named ?? connectors.defaultName();
    if (name === null) throw noDefault(connectors.defaultState().name);
    // Before it shows whether there is such a connector.
    if (caller === undefined || !covers(caller, name))
      throw missingScope(`connectors:chat:${name}`, caller?.scopes ?? []);
    const definition = connectors.find(name);
    if (definition === undefined) throw new DomainError("NOT_FOUND", `cannot find connector ${name}`);
    if ("missing" in definition.access) throw notConfigured(definition, definition.access.missing);
    return { definition, provider: definition.access.provider };
  };

  /** What surrounds a call, however its answer comes: budget, time limit, status, metrics. */
  const begin = ({ definition }: ChosenConnector, input: ChatInput, context: ChatContext) => {
    const { caller } = context;
    const { name, timeoutMs } = definition;
    const { messages, maxTokens = usualOutputTokens } = input;
    const inputTokens = estimateInput(messages);
    const reservation = budgets.reserve({
      keyId: caller?.keyId ?? "",
      limit: caller === undefined ? undefined : connectors.budgetOf({ id: caller.keyId, name: caller.keyName }),
      tokens: inputTokens + maxTokens,
      drawsOn: context.drawsOn,
    });
    const outer = context.signal();
    const limit = createTimeLimit(clock, timeoutMs, outer, timeUp);
    const startedAt = clock.monotonicMs();
    /** How long the client has kept the answer waiting. */
    let heldUpMs = 0;
    let lost = 0;
    let isOver = false;

    const finish = (result: CallResult, tokens: number, usage: TokenUsage | undefined): void => {
      if (isOver) return;
      isOver = true;
      limit.end();
      reservation.settle(lost + tokens);
      onCall({ connector: name, result, durationMs: clock.monotonicMs() - startedAt, usage });
    };
    /** What a call that broke off has taken: nobody says, so it is estimated. */
    const brokenOff = (outputBytes: number): number => tokensIn(usageOf(nothingReported, messages, outputBytes));

    return {
      signal: limit.signal,
      /** @throws what the last attempt threw. */
      attempt: <T>(work: () => Promise<T>): Promise<T> =>
        withRetries(work, {
          limit,
          clock,
          onFailed(error) {
            if (mayHaveCost(error)) lost += inputTokens;
          },
        }),
      /** The connector answers, whatever becomes of the call. */
      begun: (): void => connectors.used(definition, undefined),
      succeed(end: ChatEnd, outputBytes: number, content: string): ChatResponse {
        const usage = usageOf(end.usage, messages, outputBytes);
        connectors.used(definition, undefined);
        finish("success", tokensIn(usage), usage);
        return toResponse(end, name, usage, content);
      },
      /** Ends the call. @returns the error for who asked. */
      fail(error: unknown, outputBytes: number): unknown {
        // What the attempts took is known already.
        const tokens = outputBytes === 0 ? 0 : brokenOff(outputBytes);
        if (outer.aborted) {
          finish("cancelled", tokens, undefined);
          return cutShort(name);
        }
        if (!(error instanceof ProviderFailed)) {
          finish("internal_error", tokens, undefined);
          return error;
        }
        // Time that went to waiting for the client says nothing of the provider.
        if (error === limit.signal.reason && heldUpMs > timeoutMs / 2) {
          finish("cancelled", tokens, undefined);
          return takenTooSlowly(name, timeoutMs);
        }
        connectors.used(definition, error);
        finish(error.failure, tokens, undefined);
        return toUnavailable(name, error);
      },
      /** Hands a piece to the client, which takes the next when it has read this one. */
      *hand(event: ServerSentEvent): Generator<ServerSentEvent> {
        const handedAt = clock.monotonicMs();
        yield event;
        heldUpMs += clock.monotonicMs() - handedAt;
      },
      /** Ends a call that nobody wants to the end; one that is over stays as it is. */
      abandon: (outputBytes: number): void => finish("cancelled", brokenOff(outputBytes), undefined),
    };
  };

  const toCall = ({ messages, maxTokens, temperature }: ChatInput) => ({ messages, maxTokens, temperature });

  const ask: Chat["ask"] = async (input, context) => {
    const chosen = await choose(input.connector, context.caller);
    context.touched({ connector: chosen.definition.name });
    const call = begin(chosen, input, context);
    try {
      const reply = await call.attempt(() => chosen.provider.chat(toCall(input), call.signal));
      return call.succeed(reply, bytesOf(reply.content), reply.content);
    } catch (error) {
      throw call.fail(error, 0);
    }
  };

  async function* stream(input: ChatInput, context: ChatContext): AsyncGenerator<ServerSentEvent> {
    const chosen = await choose(input.connector, context.caller);
    context.touched({ connector: chosen.definition.name });
    const call = begin(chosen, input, context);
    let outputBytes = 0;
    let parts: AsyncIterator<ChatPart> | undefined;
    try {
      let part = await call.attempt(() => {
        parts = chosen.provider.stream(toCall(input), call.signal)[Symbol.asyncIterator]();
        return parts.next();
      });
      if (part.done !== true) call.begun();
      for (;;) {
        if (part.done === true || parts === undefined)
          throw new ProviderFailed("the answer broke off", { failure: "unreadable", isRetryable: true });
        if (part.value.kind === "end") {
          yield { event: "done", data: call.succeed(part.value, outputBytes, "") };
          return;
        }
        const { text } = part.value;
        outputBytes += bytesOf(text);
        if (text !== "") yield* call.hand({ event: "delta", data: { content: text } });
        part = await untilAborted(parts.next(), call.signal);
      }
    } catch (error) {
      throw call.fail(error, outputBytes);
    } finally {
      call.abandon(outputBytes);
      // Not waited for: it may be deaf, and its signal has fired.
      void parts?.return?.().catch(() => undefined);
    }
  }

  return { choose, ask, stream };
}
