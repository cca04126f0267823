import { EventSourceParserStream } from "eventsource-parser/stream";
import { apiBase } from "#contract/limits.ts";
import { ApiError } from "./errors.ts";
import { addressOf } from "./http.ts";
import { readApiError, toApiError } from "./index.ts";

export interface EventOptions {
  readonly url: string;
  readonly key?: string | undefined;
  readonly fetch?: typeof globalThis.fetch;
  readonly signal?: AbortSignal;
}

/** The server-sent events of an answer without comments, which keep the connection alive. */
export async function* eventsIn(
  body: ReadableStream<BufferSource>,
): AsyncGenerator<{ readonly event?: string | undefined; readonly data: string }> {
  const reader = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // Ends the call early, at the provider too.
    await reader.cancel();
  }
}

/**
 * The events of an operation that answers in pieces, up to the one called `done`.
 * @param read makes something of an event; undefined for one that is not known.
 * @throws ApiError when the service refuses, or the answer breaks off; errors of `fetch` when it cannot be reached.
 */
export async function* streamEvents<T>(
  { method, path }: { readonly method: string; readonly path: string },
  body: object,
  options: EventOptions,
  read: (event: string, data: string, response: Response) => T | undefined,
): AsyncGenerator<T> {
  const { url, key, fetch = globalThis.fetch, signal } = options;
  const response = await fetch(addressOf(url, `${apiBase}${path}`), {
    method,
    redirect: "error",
    headers: { ...(key !== undefined && { "X-API-Key": key }), "Content-Type": "application/json" },
    body: JSON.stringify({ ...body, stream: true }),
    ...(signal && { signal }),
  });
  if (!response.ok || response.body === null) throw await toApiError(response);
  for await (const { event = "", data } of eventsIn(response.body)) {
    if (event === "error") throw readApiError(response, data);
    const value = read(event, data, response);
    if (value !== undefined) yield value;
    if (event === "done") return;
  }
  const { status } = response;
  const requestId = response.headers.get("X-Request-Id") ?? undefined;
  throw new ApiError({ code: "UNREADABLE", message: "the answer broke off", status, requestId });
}
