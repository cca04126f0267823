/**
 * `fetch` for calls whose answer may begin after minutes: Node's own gives up after five. The answer is read whole, which
 * the service bounds.
 */
export const patientFetch: typeof globalThis.fetch = async (input, init = {}) => {
  if (input instanceof Request) throw new TypeError("a request is an address and its parts");
  const { body = null } = init;
  if (body !== null && typeof body !== "string") throw new TypeError("the body of a request is text");
  // Loaded on demand: few commands have a use for it.
  const { fetch, getGlobalDispatcher } = await import("undici");
  // With the certificates that the connections of this process are made with.
  const dispatcher = getGlobalDispatcher().compose(
    (dispatch) => (options, handler) => dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler),
  );
  const { method = "GET", signal = null } = init;
  const headers = [...new Headers(init.headers)];
  const answer = await fetch(input, { method, headers, body, signal, redirect: "error", dispatcher });
  const text = await answer.text();
  return new Response(text, { status: answer.status, headers: [...answer.headers] });
};
