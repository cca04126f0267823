import type { ChatMessage, FinishReason } from "#contract/connectors.ts";
import type { ToolOffer } from "#contract/operation.ts";

/** A tool that a model wants to be called. */
export interface ToolCall {
  /** The model's own name for it. */
  readonly id: string;
  readonly name: string;
  /** JSON as the model wrote it, which may be malformed. */
  readonly input: string;
}

/** The tools that a model called at once. */
export interface ToolCalls {
  readonly calls: readonly ToolCall[];
  /** The turn as the provider wants it back, with what else belongs to it; only the provider reads it. */
  readonly turn: unknown;
}

export interface ToolExchange extends ToolCalls {
  /** One for each call, in order. */
  readonly answers: readonly string[];
}

export interface ChatCall {
  /** Oldest first; system messages anywhere among them. */
  readonly messages: readonly ChatMessage[];
  /** What the model may call; a provider that knows of none refuses the call. */
  readonly tools?: readonly ToolOffer[];
  /** What the model has called since the messages, oldest first. */
  readonly exchanges?: readonly ToolExchange[];
  /** Of the answer; undefined for the provider's default. */
  readonly maxTokens: number | undefined;
  readonly temperature: number | undefined;
}

/** As counted by the provider; null where it does not say. */
export interface ReportedUsage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
}

export interface ChatEnd {
  /** As named by the provider. */
  readonly model: string;
  readonly usage: ReportedUsage;
  readonly finishReason: FinishReason;
  /** Parts of the call that the model does not support. */
  readonly warnings: readonly string[];
}

export interface ChatReply extends ChatEnd {
  readonly content: string;
  /** Undefined where the model calls nothing, so that its text is the answer. */
  readonly called?: ToolCalls;
}

/** A piece of an answer; `end` is always the last. */
export type ChatPart = { readonly kind: "text"; readonly text: string } | ({ readonly kind: "end" } & ChatEnd);

export interface ChatProvider {
  /** @throws ProviderFailed; the reason of the signal when it fires. */
  readonly chat: (call: ChatCall, signal: AbortSignal) => Promise<ChatReply>;
  /** Ending the iteration early ends the call. */
  readonly stream: (call: ChatCall, signal: AbortSignal) => AsyncIterable<ChatPart>;
  /** Checks address, key and model; costs no tokens where the provider has such a call. @throws ProviderFailed. */
  readonly probe: (signal: AbortSignal) => Promise<void>;
}

/** `unreachable`: no connection, or it broke off. `refused`: an error. `unreadable`: malformed or too long. `silent`: a timeout. */
export type ProviderFailure = "unreachable" | "refused" | "unreadable" | "silent";

/** The message is for people and has no secret in it. */
export class ProviderFailed extends Error {
  override readonly name = "ProviderFailed";
  readonly failure: ProviderFailure;
  readonly status: number | null;
  /** Whether to try again later: as the provider says, else by the status. */
  readonly isRetryable: boolean;
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    {
      failure,
      isRetryable,
      status = null,
      retryAfterMs = null,
      cause,
    }: Pick<ProviderFailed, "failure" | "isRetryable"> &
      Partial<Pick<ProviderFailed, "status" | "retryAfterMs" | "cause">>,
  ) {
    super(message, { cause });
    this.failure = failure;
    this.status = status;
    this.isRetryable = isRetryable;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A connector from settings, environment or discovery. */
export interface ConnectorDefinition {
  readonly name: string;
  /** Display name of the provider. */
  readonly provider: string;
  readonly model: string;
  /** `missing`: why it cannot be used yet, such as a missing key. */
  readonly access: { readonly provider: ChatProvider } | { readonly missing: string };
  /** Of a call, retries included. */
  readonly timeoutMs: number;
}

/** Tokens, in and out, that a key may use in a day; undefined: no limit. */
export type BudgetOf = (key: { readonly id: string; readonly name: string }) => number | undefined;

export interface ConnectorPlan {
  /** Undefined: the first. */
  readonly default: string | undefined;
  readonly connectors: readonly ConnectorDefinition[];
  readonly budgetOf: BudgetOf;
}

export interface ConnectorDiscovery {
  /** Never throws. */
  readonly find: (signal: AbortSignal) => Promise<readonly ConnectorDefinition[]>;
}

/** Tokens used by keys, by day; survives restarts. */
export interface TokenLedger {
  /** @param day `2026-11-22`, in UTC. */
  readonly used: (keyId: string, day: string) => number;
  readonly add: (keyId: string, day: string, tokens: number) => void;
  readonly forget: (before: string) => void;
}
