import { AsyncLocalStorage } from "node:async_hooks";
import type { Caller } from "#contract/operation.ts";

const relayed = new AsyncLocalStorage<Caller>();

/**
 * Makes a call for a caller whom this service has admitted to another transport, and whose request was counted there. Everything else is
 * decided for the call as for any other.
 */
export const relayFor = <T>(caller: Caller, call: () => PromiseLike<T>): Promise<T> =>
  relayed.run(caller, async () => {
    // An injected request begins when its answer is waited for.
    const answer = await call();
    return answer;
  });

/** For whom the call is relayed; undefined for a request that came over a connection. */
export const relayedCaller = (): Caller | undefined => relayed.getStore();
