import type { TokenUsage } from "#contract/connectors.ts";
import type { Quota } from "#contract/operation.ts";
import { DomainError } from "#domain/common/error.ts";
import type { ChatCall, ReportedUsage, TokenLedger } from "#domain/ports/connectors.ts";
import { type Clock, toDay } from "#kernel/clock.ts";
import { orReport } from "#kernel/errors.ts";
import { utf8Length } from "#kernel/text.ts";

const dayMs = 24 * 60 * 60 * 1000;
const windowSeconds = dayMs / 1000;
/** Days that the ledger keeps, in case the clock is set back. */
const keptDays = 7;
/** When calls in flight have reserved the rest. */
const busyRetrySeconds = 5;

interface Wanted {
  readonly keyId: string;
  /** Undefined: counted only. */
  readonly limit: number | undefined;
  readonly tokens: number;
  readonly drawsOn: (quota: Quota) => void;
}

export interface Reservation {
  /** What is left of the day, other calls in progress aside; undefined without a limit. */
  readonly remaining: number | undefined;
  /** Counts tokens, and keeps the rest reserved. */
  readonly spend: (tokens: number) => void;
  /** Counts tokens, and gives the rest back. */
  readonly settle: (tokens: number) => void;
}

export type TokenBudgets = ReturnType<typeof createTokenBudgets>;

export function createTokenBudgets(ports: {
  readonly ledger: TokenLedger;
  readonly clock: Pick<Clock, "now">;
  readonly onTrouble: (error: unknown) => void;
}) {
  const { ledger, clock, onTrouble } = ports;
  const reservedBy = new Map<string, number>();
  /** What could not be written: a full disk must not lift a budget. */
  const unwritten = new Map<string, { readonly keyId: string; readonly day: string; tokens: number }>();
  let lastDay = "";

  const nameOf = (keyId: string, day: string): string => `${day} ${keyId}`;
  const addReserved = (keyId: string, tokens: number): void => {
    const sum = (reservedBy.get(keyId) ?? 0) + tokens;
    if (sum > 0) reservedBy.set(keyId, sum);
    else reservedBy.delete(keyId);
  };

  const forgetOldDays = (now: number, day: string): void => {
    if (day === lastDay) return;
    lastDay = day;
    const oldest = toDay(now - keptDays * dayMs);
    for (const [name, each] of unwritten) if (each.day < oldest) unwritten.delete(name);
    orReport(() => ledger.forget(oldest), onTrouble);
  };

  const write = (keyId: string, day: string, tokens: number): void => {
    const name = nameOf(keyId, day);
    const sum = tokens + (unwritten.get(name)?.tokens ?? 0);
    if (sum === 0) return;
    try {
      ledger.add(keyId, day, sum);
      unwritten.delete(name);
    } catch (error) {
      unwritten.set(name, { keyId, day, tokens: sum });
      onTrouble(error);
    }
  };

  const check = (keyId: string, limit: number, now: number, drawsOn: (quota: Quota) => void): number => {
    const day = toDay(now);
    const used = ledger.used(keyId, day) + (unwritten.get(nameOf(keyId, day))?.tokens ?? 0);
    const reserved = reservedBy.get(keyId) ?? 0;
    const resetSeconds = Math.max(1, Math.ceil((dayMs - (now % dayMs)) / 1000));
    const remaining = Math.max(0, limit - used - reserved);
    drawsOn({ name: "tokens", limit, remaining, windowSeconds, resetSeconds });
    if (remaining > 0) return remaining;
    const isBusy = used < limit;
    const retryAfter = isBusy ? Math.min(busyRetrySeconds, resetSeconds) : resetSeconds;
    const state = isBusy ? "calls in progress have reserved the rest" : `${used} are used`;
    throw new DomainError(
      "RATE_LIMITED",
      `too many tokens: ${limit} a day are allowed for this key and ${state} (try again in ${retryAfter} s)`,
      { limit, used, window_seconds: windowSeconds, retry_after_seconds: retryAfter },
    );
  };

  return {
    /**
     * Reserves tokens. A call may start while any are left, so a day ends at most one call over its limit.
     * @param tokens the most that the call may use, which other calls see as used meanwhile.
     * @throws DomainError RATE_LIMITED when the day's tokens are used up.
     */
    reserve: ({ keyId, limit, tokens, drawsOn }: Wanted): Reservation => {
      const now = clock.now();
      forgetOldDays(now, toDay(now));
      const remaining = limit === undefined ? undefined : check(keyId, limit, now, drawsOn);
      addReserved(keyId, tokens);
      let held = tokens;
      let isSettled = false;
      const count = (used: number, released: number): void => {
        held -= released;
        addReserved(keyId, -released);
        write(keyId, toDay(clock.now()), used);
      };
      return {
        remaining,
        spend: (used) => count(used, Math.min(used, held)),
        settle(used) {
          if (isSettled) return;
          isSettled = true;
          count(used, held);
        },
      };
    },
  };
}

/** A rule of thumb for ordinary text and all common models. */
const bytesPerToken = 4;
const tokensPerMessage = 4;

const tokensOf = (bytes: number): number => Math.ceil(bytes / bytesPerToken);

type Asked = Pick<ChatCall, "messages" | "tools" | "exchanges">;

const bytesOfExchanges = ({ exchanges = [] }: Asked): readonly number[] =>
  exchanges.flatMap(({ calls, answers }) => [
    ...calls.map(({ name, input }) => utf8Length(name) + utf8Length(input)),
    ...answers.map(utf8Length),
  ]);

export const estimateInput = (asked: Asked): number =>
  [...asked.messages.map(({ content }) => utf8Length(content)), ...bytesOfExchanges(asked)].reduce(
    (sum, bytes) => sum + tokensPerMessage + tokensOf(bytes),
    asked.tools === undefined ? 0 : tokensOf(utf8Length(JSON.stringify(asked.tools))),
  );

/** Token usage; estimated from the lengths of texts where the provider reports none. */
export function usageOf(reported: ReportedUsage, asked: Asked, outputBytes: number): TokenUsage {
  const { inputTokens, outputTokens } = reported;
  const usage = {
    input_tokens: inputTokens ?? estimateInput(asked),
    output_tokens: outputTokens ?? tokensOf(outputBytes),
  };
  return inputTokens === null || outputTokens === null ? { ...usage, estimated: true } : usage;
}
