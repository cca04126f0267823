/**
 * `fetch` for calls whose answer may begin after minutes: Node's own gives up after five. The answer is read whole, which
 * the service bounds.
 */
export const patientFetch: typeof globalThis.fetch = async (input, init = {}) => {
  if (input instanceof Request) throw new TypeError("a request is an address and its parts");
  const { body = null } = init;
  if (body !== null && typeof body !== "string") throw new TypeError("the body of a request is text");
  // Loaded on demand: no other command has a use for it.
  const { Agent, fetch } = await import("undici");
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  try {
    const { method = "GET", signal = null } = init;
    const headers = [...new Headers(init.headers)];
    const answer = await fetch(input, { method, headers, body, signal, redirect: "error", dispatcher });
    const text = await answer.text();
    return new Response(text, { status: answer.status, headers: [...answer.headers] });
  } finally {
    await dispatcher.destroy();
  }
};
