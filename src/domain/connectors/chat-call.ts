import type { ChatAnswer, TokenUsage } from "#contract/connectors.ts";
import type { Context, ServerSentEvent } from "#contract/operation.ts";
import {
  type ChatCall,
  type ChatEnd,
  type ChatProvider,
  type ConnectorDefinition,
  ProviderFailed,
  type ProviderFailure,
} from "#domain/ports/connectors.ts";
import { createTimeLimit, type TimeLimit, untilAborted } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import { estimateInput, type Reservation, type TokenBudgets, usageOf } from "./budget.ts";
import type { Connectors } from "./connectors.ts";
import { cutShort, mayHaveCost, takenTooSlowly, timeUp, toUnavailable } from "./failure.ts";

const maxRetries = 2;
const firstDelayMs = 500;

/** The delay before another attempt; undefined where none is useful. */
function delayBefore(error: unknown, retries: number, remainingMs: number): number | undefined {
  if (!(error instanceof ProviderFailed) || !error.isRetryable || retries >= maxRetries) return undefined;
  const delayMs = Math.max(error.retryAfterMs ?? 0, firstDelayMs * 2 ** retries);
  // Waiting longer than the limit would hide what the provider said.
  return delayMs < remainingMs ? delayMs : undefined;
}

/**
 * Repeats work where the provider says that this may help. @param ports.onFailed called after each failed attempt.
 * @throws the last error, or the reason of the limit's signal.
 */
async function withRetries<T>(
  work: () => Promise<T>,
  ports: {
    readonly limit: TimeLimit;
    readonly clock: Pick<Clock, "sleep">;
    readonly onFailed: (error: unknown) => void;
  },
): Promise<T> {
  const { limit, clock, onFailed } = ports;
  for (let retries = 0; ; retries += 1) {
    try {
      return await untilAborted(work(), limit.signal);
    } catch (error) {
      onFailed(error);
      const delayMs = limit.signal.aborted ? undefined : delayBefore(error, retries, limit.remainingMs());
      if (delayMs === undefined) throw error;
      await clock.sleep(delayMs, limit.signal);
      limit.signal.throwIfAborted();
    }
  }
}

/** Assumed output of a call without a limit. */
const usualOutputTokens = 4096;

/** `cancelled`: the client went away or did not read, or the service stopped. */
export type CallResult = "success" | ProviderFailure | "cancelled" | "internal_error";

export interface CallReport {
  readonly connector: string;
  readonly result: CallResult;
  readonly durationMs: number;
  readonly usage: TokenUsage | undefined;
}

export interface ChatInput extends Pick<ChatCall, "messages" | "tools" | "exchanges"> {
  readonly connector?: string | undefined;
  readonly maxTokens?: number | undefined;
  readonly temperature?: number | undefined;
}

export type ChatContext = Pick<Context, "caller" | "checkWindows" | "signal" | "touched" | "drawsOn">;

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

const toResponse = (end: ChatEnd, connector: string, usage: TokenUsage, content: string): ChatAnswer => ({
  content,
  model: end.model,
  usage,
  connector,
  finish_reason: end.finishReason,
  warnings: [...end.warnings],
});

const tokensIn = ({ input_tokens: input, output_tokens: output }: TokenUsage): number => input + output;
const nothingReported = { inputTokens: null, outputTokens: null };

/** @throws DomainError `RATE_LIMITED` */
export function reserveTokens(
  { connectors, budgets }: Pick<ChatCallPorts, "connectors" | "budgets">,
  tokens: number,
  { caller, drawsOn }: Pick<ChatContext, "caller" | "drawsOn">,
): Reservation {
  const limit = caller && connectors.budgetOf({ id: caller.keyId, name: caller.keyName });
  return budgets.reserve({ keyId: caller?.keyId ?? "", limit, tokens, drawsOn });
}

/** The most that a call may use. */
export const tokensOfCall = ({ maxTokens = usualOutputTokens, ...asked }: ChatInput): number =>
  estimateInput(asked) + maxTokens;

/** @param settle is called with what the call has used, once. */
export function beginCall(
  { connectors, clock, onCall }: ChatCallPorts,
  { definition }: ChosenConnector,
  input: ChatInput,
  context: Pick<ChatContext, "signal">,
  settle: (tokens: number) => void,
) {
  const { name, timeoutMs } = definition;
  const inputTokens = estimateInput(input);
  const outer = context.signal();
  const limit = createTimeLimit(clock, timeoutMs, outer, timeUp);
  const startedAt = clock.monotonicMs();
  /** How long the client has delayed the answer. */
  let heldUpMs = 0;
  let lost = 0;
  let isOver = false;

  const finish = (result: CallResult, tokens: number, usage: TokenUsage | undefined): void => {
    if (isOver) return;
    isOver = true;
    limit.end();
    settle(lost + tokens);
    onCall({ connector: name, result, durationMs: clock.monotonicMs() - startedAt, usage });
  };
  const brokenOff = (outputBytes: number): number => tokensIn(usageOf(nothingReported, input, outputBytes));

  return {
    signal: limit.signal,
    attempt: <T>(work: () => Promise<T>): Promise<T> =>
      withRetries(work, {
        limit,
        clock,
        onFailed(error) {
          if (mayHaveCost(error)) lost += inputTokens;
        },
      }),
    /** The connector works, however the call ends. */
    started: (): void => connectors.used(definition, undefined),
    succeed(end: ChatEnd, outputBytes: number, content: string): ChatAnswer {
      const usage = usageOf(end.usage, input, outputBytes);
      connectors.used(definition, undefined);
      finish("success", tokensIn(usage), usage);
      return toResponse(end, name, usage, content);
    },
    /** Ends the call. @returns the error for the caller. */
    fail(error: unknown, outputBytes: number): unknown {
      // Failed attempts are counted in `lost`.
      const tokens = outputBytes === 0 ? 0 : brokenOff(outputBytes);
      const ended = (result: CallResult, reported: unknown): unknown => {
        finish(result, tokens, undefined);
        return reported;
      };
      if (outer.aborted) return ended("cancelled", cutShort(name));
      if (!(error instanceof ProviderFailed)) return ended("internal_error", error);
      // Waiting for the client says nothing about the provider.
      if (error === limit.signal.reason && heldUpMs > timeoutMs / 2)
        return ended("cancelled", takenTooSlowly(name, timeoutMs));
      connectors.used(definition, error);
      return ended(error.failure, toUnavailable(name, error));
    },
    /** Passes an event on, and measures how long the client takes. */
    *hand(event: ServerSentEvent): Generator<ServerSentEvent> {
      const handedAt = clock.monotonicMs();
      yield event;
      heldUpMs += clock.monotonicMs() - handedAt;
    },
    /** Ends a call that is not read to its end. */
    abandon: (outputBytes: number): void => finish("cancelled", brokenOff(outputBytes), undefined),
  };
}
