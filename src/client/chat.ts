import { EventSourceParserStream } from "eventsource-parser/stream";
import { type ChatAnswer, ChatDelta, type ChatInput } from "#contract/connectors.ts";
import { operations } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import { parseAs } from "./answer.ts";
import { ApiError } from "./errors.ts";
import { addressOf } from "./http.ts";
import { readApiError, toApiError } from "./index.ts";

export interface ChatOptions {
  readonly url: string;
  readonly key?: string | undefined;
  readonly request: Omit<ChatInput, "stream">;
  readonly fetch?: typeof globalThis.fetch;
  readonly signal?: AbortSignal;
}

/** A piece of the answer; `done` has the answer without its text. */
export type ChatEvent =
  | { readonly event: "delta"; readonly content: string }
  | { readonly event: "done"; readonly answer: ChatAnswer };

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
 * Streams the answer of a model. Runs in Node and in browsers.
 * @throws ApiError when the service refuses, or the answer breaks off; errors of `fetch` when it cannot be reached.
 */
export async function* streamChat(options: ChatOptions): AsyncGenerator<ChatEvent> {
  const { url, key, request, fetch = globalThis.fetch, signal } = options;
  const response = await fetch(addressOf(url, `${apiBase}${operations.chat.path}`), {
    method: operations.chat.method,
    redirect: "error",
    headers: { ...(key !== undefined && { "X-API-Key": key }), "Content-Type": "application/json" },
    body: JSON.stringify({ ...request, stream: true }),
    ...(signal && { signal }),
  });
  if (!response.ok || response.body === null) throw await toApiError(response);
  for await (const { event, data } of eventsIn(response.body)) {
    if (event === "error") throw readApiError(response, data);
    if (event === "delta") yield { event, content: (parseAs(ChatDelta, data, response) as ChatDelta).content };
    if (event === "done") {
      yield { event, answer: parseAs(operations.chat.response, data, response) as ChatAnswer };
      return;
    }
  }
  const { status } = response;
  const requestId = response.headers.get("X-Request-Id") ?? undefined;
  throw new ApiError({ code: "UNREADABLE", message: "the answer broke off", status, requestId });
}
