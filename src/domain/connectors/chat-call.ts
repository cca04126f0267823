import type { ChatMessage, ChatResponse, TokenUsage } from "#contract/connectors.ts";
import type { Context, ServerSentEvent } from "#contract/operation.ts";
import type { ChatEnd, ChatProvider, ConnectorDefinition } from "#domain/ports/connectors.ts";
import { ProviderFailed, type ProviderFailure } from "#domain/ports/connectors.ts";
import { createTimeLimit } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import type { TokenBudgets } from "./budget.ts";
import { estimateInput, usageOf } from "./budget.ts";
import type { Connectors } from "./connectors.ts";
import { cutShort, mayHaveCost, takenTooSlowly, timeUp, toUnavailable } from "./failure.ts";
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

export type ChatContext = Pick<Context, "caller" | "signal" | "touched" | "drawsOn">;

/** A connector that can be talked to. */
export interface ChosenConnector {
  readonly definition: ConnectorDefinition;
  readonly provider: ChatProvider;
}

export interface ChatCallPorts {
  readonly connectors: Pick<Connectors, "used" | "budgetOf">;
  readonly budgets: TokenBudgets;
  readonly clock: Clock;
  readonly onCall: (report: CallReport) => void;
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

/** What surrounds a call, however its answer comes: budget, time limit, status, metrics. */
export function beginCall(
  { connectors, budgets, clock, onCall }: ChatCallPorts,
  { definition }: ChosenConnector,
  input: ChatInput,
  context: ChatContext,
) {
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
}
