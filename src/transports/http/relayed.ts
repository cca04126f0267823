import { AsyncLocalStorage } from "node:async_hooks";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Caller } from "#contract/operation.ts";

/** A call that another transport makes for a caller whom this service has admitted there. */
export interface Relayed {
  readonly caller: Caller;
  /** The connection of the client. */
  readonly socket: Socket;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
  /** Whether the limits of the key have counted it with the request of the client. */
  readonly isCounted: boolean;
}

const current = new AsyncLocalStorage<Relayed>();

/** Makes a call for a caller who is admitted already. Everything else is decided for the call as for any other. */
export const relayFor = <T>(relayed: Relayed, call: () => PromiseLike<T>): Promise<T> =>
  current.run(relayed, async () => {
    // An injected request begins when its answer is waited for.
    const answer = await call();
    return answer;
  });

/** Undefined for a request that came over a connection. */
export const relayedCall = (): Relayed | undefined => current.getStore();

/** Whether the client of the relayed call that is at work has gone. */
export const hasRelayedClientGone = (): boolean => relayedCall()?.signal.aborted === true;

/** Ends the answer to a relayed call when the client has gone, as the end of a connection would. */
export function endWithClient(answer: ServerResponse): void {
  const { signal } = relayedCall() ?? {};
  if (signal === undefined) return;
  const end = (): void => {
    answer.destroy();
  };
  if (signal.aborted) end();
  signal.addEventListener("abort", end, { once: true });
  answer.once("close", () => signal.removeEventListener("abort", end));
}
