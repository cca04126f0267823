import type { KeyRecord, KeyStore, TokenRecord } from "#domain/ports/access.ts";

/** Keys and tokens in memory. */
export function createFakeKeyStore(): KeyStore {
  const keys = new Map<string, KeyRecord>();
  const tokens = new Map<string, TokenRecord>();
  const change = (id: string, changes: Partial<KeyRecord>): void => {
    const key = keys.get(id);
    if (key !== undefined) keys.set(id, { ...key, ...changes });
  };
  return {
    keys: () => [...keys.values()].sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)),
    tokens: () => [...tokens.values()],
    insertKey(key) {
      if (keys.has(key.id)) throw new Error(`there is a key ${key.id} already`);
      keys.set(key.id, key);
    },
    revokeKey: (id, revokedAt) => change(id, { revokedAt }),
    insertToken(token) {
      if (tokens.has(token.id)) throw new Error(`there is a token ${token.id} already`);
      tokens.set(token.id, token);
    },
    deleteTokens(ids) {
      for (const id of ids) tokens.delete(id);
    },
    touchKeys(uses) {
      for (const [id, lastUsedAt] of uses) change(id, { lastUsedAt });
    },
  };
}
