import { type Listener, type Listeners, NetworkUnavailable } from "#domain/ports/network-state.ts";

export interface FakeListeners extends Listeners {
  found: readonly Listener[];
  isMissing: boolean;
}

export function createFakeListeners(found: readonly Listener[] = []): FakeListeners {
  const fake: FakeListeners = {
    found,
    isMissing: false,
    async list() {
      await Promise.resolve();
      if (fake.isMissing) throw new NetworkUnavailable("ss is not installed", { missing: "ss", retryable: false });
      return fake.found;
    },
  };
  return fake;
}
