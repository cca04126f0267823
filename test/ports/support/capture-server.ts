import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";

/** A request as it came over the wire. */
export interface Captured {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Parsed where there is one. */
  readonly body: unknown;
  /** Resolves when the client has gone away before the answer was whole. */
  readonly gone: Promise<void>;
}

export interface CaptureServer {
  /** Without a slash at its end. */
  readonly url: string;
  readonly port: number;
  readonly requests: readonly Captured[];
}

type Answer = (request: Captured, response: ServerResponse) => unknown;

async function capture(request: IncomingMessage, response: ServerResponse): Promise<Captured> {
  const { promise, resolve } = Promise.withResolvers<void>();
  response.on("close", () => {
    if (!response.writableFinished) resolve();
  });
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  const text = Buffer.concat(chunks).toString("utf8");
  return {
    method: request.method ?? "",
    path: request.url ?? "",
    headers: request.headers,
    body: text === "" ? undefined : JSON.parse(text),
    gone: promise,
  };
}

/** Runs the test with a server on loopback that keeps what it is sent, and whose answers the test makes by hand. */
export async function withCaptureServer(
  answer: Answer,
  test: (server: CaptureServer) => Promise<void>,
  tls?: { readonly cert: string; readonly key: string },
): Promise<void> {
  const requests: Captured[] = [];
  const listener: RequestListener = (request, response) => {
    void capture(request, response).then((captured) => {
      requests.push(captured);
      return answer(captured, response);
    });
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    await test({ url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`, port, requests });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** An answer of JSON. */
export function answerJson(response: ServerResponse, body: unknown, status = 200, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

/** One event of a stream; with a name where the provider gives one. */
export const sse = (data: unknown, event?: string): string =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;

/** A whole stream of events. */
export function answerEvents(response: ServerResponse, events: readonly string[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" }).end(events.join(""));
}
