import type { Notifier, OutgoingMessage } from "#domain/ports/notifications.ts";

export interface FakeNotifier extends Notifier {
  /** What was taken, in its order. */
  readonly taken: readonly OutgoingMessage[];
  /** How often it was tried. */
  readonly attempts: () => number;
  /** What it throws while it is set; a function is asked each time. */
  fault: Error | ((message: OutgoingMessage) => Error | undefined) | undefined;
}

/** A channel that takes what it is given. */
export function createFakeNotifier(to: readonly string[] = []): FakeNotifier {
  const taken: OutgoingMessage[] = [];
  let attempts = 0;
  const fake: FakeNotifier = {
    to,
    taken,
    attempts: () => attempts,
    fault: undefined,
    send(message, signal) {
      attempts += 1;
      const fault = typeof fake.fault === "function" ? fake.fault(message) : fake.fault;
      if (signal.aborted) return Promise.reject(new Error("asked to stop"));
      if (fault !== undefined) return Promise.reject(fault);
      taken.push(message);
      return Promise.resolve();
    },
  };
  return fake;
}
