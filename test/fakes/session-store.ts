import type { CodeRecord, SessionRecord, SessionStore } from "#domain/ports/sessions.ts";

export interface FakeSessionStore extends SessionStore {
  /** What writing throws while it is set, as a full disk makes it. */
  fault: Error | undefined;
  /** How often something was written. */
  readonly writes: () => number;
}

/** Sessions and codes in memory. */
export function createFakeSessionStore(): FakeSessionStore {
  const sessions = new Map<string, SessionRecord>();
  const codes = new Map<string, CodeRecord>();
  let writes = 0;
  const write = (work: () => void): void => {
    if (fake.fault !== undefined) throw fake.fault;
    writes += 1;
    work();
  };
  const fake: FakeSessionStore = {
    fault: undefined,
    writes: () => writes,
    sessions: () => [...sessions.values()],
    put: (session) => write(() => sessions.set(session.id, session)),
    remove: (ids) =>
      write(() => {
        for (const id of ids) sessions.delete(id);
      }),
    touch: (uses) =>
      write(() => {
        for (const [id, lastUsedAt] of uses) {
          const session = sessions.get(id);
          if (session !== undefined) sessions.set(id, { ...session, lastUsedAt });
        }
      }),
    code: (id) => codes.get(id),
    insertCode: (code) => write(() => codes.set(code.id, code)),
    takeCode(id) {
      if (!codes.has(id)) return false;
      write(() => codes.delete(id));
      return true;
    },
    forgetCodes: (now, keyId, kept) =>
      write(() => {
        for (const { id, expiresAt } of codes.values()) if (expiresAt <= now) codes.delete(id);
        const own = [...codes.values()].filter((code) => code.keyId === keyId);
        own.sort((a, b) => b.expiresAt - a.expiresAt);
        for (const { id } of own.slice(kept)) codes.delete(id);
      }),
  };
  return fake;
}
