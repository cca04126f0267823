import type { KeyStore } from "#domain/ports/access.ts";

/**
 * A store that tells at once when it can no longer be written to, and when it can be again: the component that stands for it is
 * probed every 30 s, and whoever was refused a change is to see why.
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
