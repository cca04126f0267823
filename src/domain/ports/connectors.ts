import type { ChatMessage, FinishReason } from "#contract/connectors.ts";

/** What a model is asked. */
export interface ChatCall {
  /** Oldest first; system messages anywhere among them. */
  readonly messages: readonly ChatMessage[];
  /** Most tokens of the answer; undefined: what the provider takes. */
  readonly maxTokens: number | undefined;
  readonly temperature: number | undefined;
}

/** Tokens as the provider counted them; null where it did not say. */
export interface ReportedUsage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
}

/** How an answer ended. */
export interface ChatEnd {
  /** The model as the provider names it. */
  readonly model: string;
  readonly usage: ReportedUsage;
  readonly finishReason: FinishReason;
  /** What of the call the model does not take. */
  readonly warnings: readonly string[];
}

export interface ChatReply extends ChatEnd {
  readonly content: string;
}

/** A piece of an answer, or how it ended: the last part, always there. */
export type ChatPart = { readonly kind: "text"; readonly text: string } | ({ readonly kind: "end" } & ChatEnd);

/** A language model at its provider. Makes one attempt each time; who calls decides about another one. */
export interface ChatProvider {
  /** @throws ProviderFailed; whatever the signal's reason is when it fires. */
  readonly chat: (call: ChatCall, signal: AbortSignal) => Promise<ChatReply>;
  /** The same in pieces as they come. Ending the iteration early ends the call. */
  readonly stream: (call: ChatCall, signal: AbortSignal) => AsyncIterable<ChatPart>;
  /**
   * Whether the provider would answer: address, key and model. Costs no tokens where the provider has such a call.
   * @throws ProviderFailed.
   */
  readonly probe: (signal: AbortSignal) => Promise<void>;
}

/**
 * `unreachable`: no connection, or it broke off. `refused`: it answered with an error. `unreadable`: it answered with what
 * cannot be understood, or with more than is taken. `silent`: it did not answer, or not on, in time.
 */
export type ProviderFailure = "unreachable" | "refused" | "unreadable" | "silent";

/** The provider did not answer as it should. The message is for people and bears no secret. */
export class ProviderFailed extends Error {
  override readonly name = "ProviderFailed";
  readonly failure: ProviderFailure;
  /** HTTP status of its answer; null where there was none. */
  readonly status: number | null;
  /** Whether the same call may be answered later: what the provider says, else what its status says. */
  readonly isRetryable: boolean;
  /** How long it asked to be left alone. */
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    {
      failure,
      status = null,
      isRetryable,
      retryAfterMs = null,
      cause,
    }: {
      readonly failure: ProviderFailure;
      readonly status?: number | null;
      readonly isRetryable: boolean;
      readonly retryAfterMs?: number | null;
      readonly cause?: unknown;
    },
  ) {
    super(message, { cause });
    this.failure = failure;
    this.status = status;
    this.isRetryable = isRetryable;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A connector as settings, environment or discovery have it. */
export interface ConnectorDefinition {
  readonly name: string;
  /** Display name of the provider. */
  readonly provider: string;
  readonly model: string;
  /** How to talk to it; or why that is not possible yet, such as a missing key. */
  readonly access: { readonly provider: ChatProvider } | { readonly missing: string };
  /** After which a call has failed, retries and all. */
  readonly timeoutMs: number;
}

/** Tokens, in and out together, that a key may use on a day; undefined: no limit. */
export type BudgetOf = (key: { readonly id: string; readonly name: string }) => number | undefined;

/** The connectors that there are. */
export interface ConnectorPlan {
  /** Name of the default; undefined: the first. */
  readonly default: string | undefined;
  readonly connectors: readonly ConnectorDefinition[];
  readonly budgetOf: BudgetOf;
}

/** Finds connectors that nobody wrote down, such as a model server on this machine. */
export interface ConnectorDiscovery {
  /** Never throws: what is not there is not found. */
  readonly find: (signal: AbortSignal) => Promise<readonly ConnectorDefinition[]>;
}

/** Tokens that keys used, by day; outlives the service. */
export interface TokenLedger {
  /** @param day `2026-11-22`, in UTC. */
  readonly used: (keyId: string, day: string) => number;
  readonly add: (keyId: string, day: string, tokens: number) => void;
  /** Forgets days before this one. */
  readonly forget: (before: string) => void;
}
