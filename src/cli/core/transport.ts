import { readFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { createSecureContext } from "node:tls";
import type { Agent, Dispatcher } from "undici";
import { WebSocket as Socket } from "ws";
import { errorMessage } from "#kernel/errors.ts";

/** What Node's own `fetch` is made of, with more to set: large, and few calls take it. */
const loadUndici = () => import("undici");

/**
 * `fetch` through another dispatcher.
 * @throws TypeError for a `Request` object, or a body that is not a string.
 */
const fetchThrough =
  (dispatcherOf: () => Promise<Dispatcher>): typeof globalThis.fetch =>
  async (input, init = {}) => {
    if (input instanceof Request) throw new TypeError("expected an address, got a Request");
    const { body = null, method = "GET", signal = null } = init;
    if (body !== null && typeof body !== "string") throw new TypeError("expected a string as the body of a request");
    const { fetch } = await loadUndici();
    const dispatcher = await dispatcherOf();
    const headers = [...new Headers(init.headers)];
    const response = await fetch(input, { method, headers, body, signal, redirect: "error", dispatcher });
    // As it comes: an answer may be events over minutes, or have no end.
    const stream = response.body === null ? null : ReadableStream.from<Uint8Array>(response.body);
    return new Response(stream, { status: response.status, headers: [...response.headers] });
  };

/** `fetch` for calls whose response may begin after minutes: Node's own gives up after five. */
export const patientFetch = fetchThrough(async () => {
  const { getGlobalDispatcher } = await loadUndici();
  return getGlobalDispatcher().compose(
    (dispatch) => (options, handler) => dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler),
  );
});

export interface CertificateOptions {
  readonly cacert?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

export const givenCertificates = (options: CertificateOptions, environment: Environment): CertificateOptions => ({
  cacert: options.cacert ?? environment["STEWARD_CACERT"],
  cert: options.cert ?? environment["STEWARD_CLIENT_CERT"],
  key: options.key ?? environment["STEWARD_CLIENT_KEY"],
});

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new Error(`cannot read ${path}: ${errorMessage(error)}`, { cause: error });
  }
}

/** Undefined where Node's default agent does. */
async function agentWith({ cacert, cert, key }: CertificateOptions): Promise<Agent | undefined> {
  if (key !== undefined && cert === undefined)
    throw new Error("cannot use --key without --cert: it is the key of that");
  if (cacert === undefined && cert === undefined) return undefined;
  const connect = {
    ...(cacert !== undefined && { ca: read(cacert) }),
    // As with curl, both may be in one file.
    ...(cert !== undefined && { cert: read(cert), key: read(key ?? cert) }),
  };
  try {
    createSecureContext(connect);
  } catch (error) {
    const files = [cacert, cert, key].filter((file) => file !== undefined).join(", ");
    throw new Error(`cannot use ${files}: ${errorMessage(error)}`, { cause: error });
  }
  const { Agent } = await loadUndici();
  return new Agent({ connect });
}

/** Makes every connection of this process, also streams, use these. @throws Error when they cannot be read or do not match. */
export async function useCertificates(options: CertificateOptions): Promise<void> {
  const agent = await agentWith(options);
  if (agent === undefined) return;
  const { setGlobalDispatcher } = await loadUndici();
  setGlobalDispatcher(agent);
}

/** `fetch` with these certificates, for a process that asks several hosts. @throws Error as {@link useCertificates}. */
export async function fetchWith(options: CertificateOptions): Promise<typeof globalThis.fetch> {
  const agent = await agentWith(options);
  return agent === undefined ? globalThis.fetch : fetchThrough(() => Promise.resolve(agent));
}

const scheme = "unix:";
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
