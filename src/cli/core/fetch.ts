import type { Dispatcher } from "undici";

/** What Node's own `fetch` is made of, with more to set: large, and few calls take it. */
export const loadUndici = () => import("undici");

/**
 * `fetch` through another dispatcher. The response is read to its end first; the service bounds its size.
 * @throws TypeError for a `Request` object, or a body that is not a string.
 */
export const fetchThrough =
  (dispatcherOf: () => Promise<Dispatcher>): typeof globalThis.fetch =>
  async (input, init = {}) => {
    if (input instanceof Request) throw new TypeError("expected an address, got a Request");
    const { body = null, method = "GET", signal = null } = init;
    if (body !== null && typeof body !== "string") throw new TypeError("expected a string as the body of a request");
    const { fetch } = await loadUndici();
    const dispatcher = await dispatcherOf();
    const headers = [...new Headers(init.headers)];
    const response = await fetch(input, { method, headers, body, signal, redirect: "error", dispatcher });
    const text = await response.text();
    return new Response(text, { status: response.status, headers: [...response.headers] });
  };

/** `fetch` for calls whose response may begin after minutes: Node's own gives up after five. */
export const patientFetch = fetchThrough(async () => {
  const { getGlobalDispatcher } = await loadUndici();
  return getGlobalDispatcher().compose(
    (dispatch) => (options, handler) => dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler),
  );
});
