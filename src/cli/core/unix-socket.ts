import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { WebSocket as Socket } from "ws";

const scheme = "unix:";
/** Host of requests that go over a socket. */
export const unixOrigin = "http://localhost";

/** The path in an address such as `unix:/run/steward/steward.sock`; undefined for other schemes. @throws Error for a bad path. */
export function unixPath(url: string): string | undefined {
  if (!url.startsWith(scheme)) return undefined;
  const path = url.slice(scheme.length).replace(/^\/{2,}/, "/");
  if (!path.startsWith("/") || path.includes("\0"))
    throw new Error(
      `cannot use the address ${JSON.stringify(url)}: expected an absolute path (such as unix:/run/steward/steward.sock)`,
    );
  return path;
}

const noBody = new Set([204, 304]);

function toResponse(answer: IncomingMessage): Response {
  const { statusCode: status, rawHeaders } = answer;
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  // Node's own types of web streams and those of `Response` are the same streams under two names.
  const body =
    status !== undefined && noBody.has(status) ? null : (Readable.toWeb(answer) as unknown as ReadableStream);
  return new Response(body, { ...(status !== undefined && { status }), headers });
}

/** `fetch` over a Unix socket, which Node's own cannot. It has no timeout and follows no redirects. */
export const unixFetch =
  (path: string): typeof globalThis.fetch =>
  async (input, init = {}) => {
    if (input instanceof Request) throw new TypeError("expected an address, got a Request");
    const { body, method = "GET", signal } = init;
    if (body != null && typeof body !== "string") throw new TypeError("expected a string as the body of a request");
    signal?.throwIfAborted();
    const { pathname, search, host } = new URL(input);
    const headers = { host, ...Object.fromEntries(new Headers(init.headers)) };
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const call = request({
        socketPath: path,
        path: `${pathname}${search}`,
        method,
        headers: { ...headers, ...(body != null && { "content-length": Buffer.byteLength(body) }) },
        agent: false,
        ...(signal && { signal }),
      });
      call.once("response", resolve);
      call.once("error", (error) =>
        reject(signal?.aborted ? signal.reason : new TypeError("fetch failed", { cause: error })),
      );
      call.end(body ?? undefined);
    });
    return toResponse(answer);
  };

/** WebSockets over a Unix socket, which Node's own cannot. */
export const unixWebSocket =
  (path: string) =>
  (address: URL): WebSocket => {
    return new Socket(address, { createConnection: () => connect({ path }) }) as unknown as WebSocket;
  };
