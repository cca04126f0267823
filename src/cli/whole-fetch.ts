import type { Dispatcher } from "undici";

/** `fetch` by a dispatcher of one's own. The answer is read whole, which the service bounds. */
export const wholeFetch =
  (dispatcherOf: () => Promise<Dispatcher>): typeof globalThis.fetch =>
  async (input, init = {}) => {
    if (input instanceof Request) throw new TypeError("a request is an address and its parts");
    const { body = null } = init;
    if (body !== null && typeof body !== "string") throw new TypeError("the body of a request is text");
    // Loaded on demand: few calls go this way.
    const { fetch } = await import("undici");
    const dispatcher = await dispatcherOf();
    const { method = "GET", signal = null } = init;
    const headers = [...new Headers(init.headers)];
    const answer = await fetch(input, { method, headers, body, signal, redirect: "error", dispatcher });
    const text = await answer.text();
    return new Response(text, { status: answer.status, headers: [...answer.headers] });
  };
