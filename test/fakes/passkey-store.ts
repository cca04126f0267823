import type { PasskeyRecord, PasskeyStore } from "#domain/ports/sessions.ts";

export interface FakePasskeyStore extends PasskeyStore {
  /** What writing throws while it is set, as a full disk makes it. */
  fault: Error | undefined;
}

/** Passkeys in memory. */
export function createFakePasskeyStore(): FakePasskeyStore {
  const passkeys = new Map<string, PasskeyRecord>();
  const write = (work: () => void): void => {
    if (fake.fault !== undefined) throw fake.fault;
    work();
  };
  const fake: FakePasskeyStore = {
    fault: undefined,
    list: () => [...passkeys.values()],
    put: (passkey) => write(() => passkeys.set(passkey.id, passkey)),
    remove: (id) => write(() => passkeys.delete(id)),
  };
  return fake;
}
