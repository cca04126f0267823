import type { KeyStore } from "#domain/ports/access.ts";

/**
 * Reports at once when the store cannot be written any more, and when it can again: its component is probed only every 30 s, and
 * callers with a refused change should see why.
 */
export function watchedStore(store: KeyStore, onTurn: () => void): KeyStore {
  let isWell = true;
  const turn = (isWellNow: boolean): void => {
    if (isWell === isWellNow) return;
    isWell = isWellNow;
    onTurn();
  };
  const watched =
    <Values extends readonly unknown[]>(write: (...values: Values) => void) =>
    (...values: Values): void => {
      try {
        write(...values);
      } catch (error) {
        turn(false);
        throw error;
      }
      turn(true);
    };
  return {
    keys: store.keys,
    tokens: store.tokens,
    insertKey: watched(store.insertKey),
    revokeKey: watched(store.revokeKey),
    insertToken: watched(store.insertToken),
    deleteTokens: watched(store.deleteTokens),
    touchKeys: watched(store.touchKeys),
  };
}
