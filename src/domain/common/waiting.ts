import { maxOperationWaitMs } from "#contract/operation-entry.ts";
import { DomainError, invalid } from "./error.ts";

const waitUnits: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };

/** How long a request would wait, by its `wait`. @throws DomainError for more than is allowed. */
export function waitMsOf(text: string | undefined): number {
  if (text === undefined) return 0;
  const [, number = "0", unit = "s"] = /^(\d+)(ms|s|m)?$/.exec(text) ?? [];
  const waitMs = Number(number) * (waitUnits[unit] ?? 1000);
  if (waitMs > maxOperationWaitMs) throw invalid("wait", `Must be at most ${maxOperationWaitMs / 1000}s`);
  return waitMs;
}

/** Requests that wait at the same time, and those of one key. */
const maxWaiting = 512;
const maxWaitingOfKey = 64;
const retryAfterSeconds = 5;

/** Limits how many requests wait for a change at the same time. @param remedy for those that are refused. */
export function createWaitingRoom(remedy: string) {
  const perKey = new Map<string, number>();
  let waiting = 0;
  return async <T>(keyId: string, work: () => Promise<T>): Promise<T> => {
    const ofKey = perKey.get(keyId) ?? 0;
    if (waiting >= maxWaiting || ofKey >= maxWaitingOfKey) {
      const whose = waiting >= maxWaiting ? "" : " of this key";
      const message = `cannot wait: too many requests${whose} wait already (${remedy})`;
      throw new DomainError("UNAVAILABLE", message, { retryable: true, retry_after_seconds: retryAfterSeconds });
    }
    waiting += 1;
    perKey.set(keyId, ofKey + 1);
    try {
      return await work();
    } finally {
      waiting -= 1;
      const left = (perKey.get(keyId) ?? 1) - 1;
      if (left === 0) perKey.delete(keyId);
      else perKey.set(keyId, left);
    }
  };
}
