import type { TokenLedger } from "#domain/ports/connectors.ts";

export interface FakeTokenLedger extends TokenLedger {
  /** What every call throws while it is set, as a full disk makes it. */
  fault: Error | undefined;
}

/** Used tokens in memory. */
export function createFakeTokenLedger(): FakeTokenLedger {
  const days = new Map<string, Map<string, number>>();
  const check = (): void => {
    if (fake.fault !== undefined) throw fake.fault;
  };
  const fake: FakeTokenLedger = {
    fault: undefined,
    used(keyId, day) {
      check();
      return days.get(day)?.get(keyId) ?? 0;
    },
    add(keyId, day, tokens) {
      check();
      const used = days.get(day) ?? new Map<string, number>();
      used.set(keyId, (used.get(keyId) ?? 0) + tokens);
      days.set(day, used);
    },
    forget(before) {
      check();
      for (const day of days.keys()) if (day < before) days.delete(day);
    },
  };
  return fake;
}
