import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Peer, unknownPeer } from "./gate.ts";
import {
  maxBodyBytes,
  type RefusalKind,
  refusalReply,
  refusalReplyJson,
  type SocketServer,
  type Space,
  type TakeTraces,
  type TraceBody,
  TracesRefused,
  takenReply,
  takenReplyJson,
} from "./receiver.ts";

const formats: Readonly<Record<string, TraceBody["format"]>> = {
  "application/x-protobuf": "protobuf",
  "application/json": "json",
};
const tracesPath = "/v1/traces";
const headMs = 10_000;
const requestMs = 30_000;
const idleMs = 60_000;
const retrySeconds = 5;

interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const statusOf: Readonly<Record<RefusalKind, number>> = {
  malformed: 400,
  too_large: 413,
  overloaded: 503,
  // Not a status that makes exporters send the same again.
  failed: 500,
};

const mediaType = (header: string | undefined): string => (header ?? "").split(";")[0]?.trim().toLowerCase() ?? "";

/** Whether a local program sends: another Host means DNS rebinding by a web page, and pages send `Origin`. */
function isLocal({ headers }: IncomingMessage): boolean {
  if (headers.origin !== undefined) return false;
  const name = (headers.host ?? "localhost").replace(/:\d+$/, "").toLowerCase();
  return name === "localhost" || /^127(\.\d{1,3}){3}$/.test(name) || name === "[::1]";
}

function refusalOf(request: IncomingMessage): Refusal | undefined {
  const { method, url = "", headers } = request;
  if (!isLocal(request)) return { status: 403, message: "only programs on this machine may send traces" };
  if (url.split("?")[0] !== tracesPath) return { status: 404, message: `only ${tracesPath} is received here` };
  if (method !== "POST") return { status: 405, message: "traces are posted", headers: { allow: "POST" } };
  if (formats[mediaType(headers["content-type"])] === undefined)
    return { status: 415, message: "the content type is neither application/x-protobuf nor application/json" };
  if (!["", "identity", "gzip"].includes(headers["content-encoding"] ?? ""))
    return { status: 415, message: "the content encoding is not gzip", headers: { "accept-encoding": "gzip" } };
  if (Number(headers["content-length"] ?? 0) > maxBodyBytes) return tooLarge;
  return undefined;
}

const tooLarge: Refusal = { status: 413, message: `the body is larger than ${maxBodyBytes} bytes` };
const overloaded: Refusal = { status: 503, message: "too many traces at the same time" };

interface Held {
  readonly peer: Peer;
  bytes: number;
}

async function readBody(request: IncomingMessage, space: Space, held: Held): Promise<Uint8Array | Refusal | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      if (held.bytes + chunk.length > maxBodyBytes) return tooLarge;
      if (!space.take(held.peer, chunk.length)) return overloaded;
      held.bytes += chunk.length;
      chunks.push(chunk);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}

function answer(
  response: ServerResponse,
  format: TraceBody["format"],
  reply: Refusal & { body: Buffer | string },
): void {
  const { status, headers = {}, body } = reply;
  response.writeHead(status, {
    "content-type": format === "json" ? "application/json" : "application/x-protobuf",
    "content-length": Buffer.byteLength(body),
    ...(status === 503 && { "retry-after": String(retrySeconds) }),
    // The rest of the body is not read.
    ...(status !== 200 && { connection: "close" }),
    ...headers,
  });
  response.end(body);
}

function sendRefusal(response: ServerResponse, format: TraceBody["format"], refusal: Refusal): void {
  const { message } = refusal;
  answer(response, format, { ...refusal, body: format === "json" ? refusalReplyJson(message) : refusalReply(message) });
}

interface Ports {
  readonly take: TakeTraces;
  readonly space: Space;
}

async function respond(request: IncomingMessage, response: ServerResponse, ports: Ports, held: Held): Promise<void> {
  const { headers } = request;
  const format = formats[mediaType(headers["content-type"])] ?? "json";
  const refusal = refusalOf(request);
  if (refusal !== undefined) return sendRefusal(response, format, refusal);
  const body = await readBody(request, ports.space, held);
  if (body === undefined) return;
  if ("status" in body) return sendRefusal(response, format, body);
  try {
    const taken = await ports.take({
      bytes: body,
      format,
      isGzip: headers["content-encoding"] === "gzip",
      peer: held.peer,
    });
    const reply = format === "json" ? takenReplyJson(taken) : takenReply(taken);
    answer(response, format, { status: 200, message: "", body: reply });
  } catch (error) {
    const { kind, message } =
      error instanceof TracesRefused ? error : new TracesRefused("failed", "cannot keep traces");
    sendRefusal(response, format, { status: statusOf[kind], message });
  }
}

async function receive(request: IncomingMessage, response: ServerResponse, ports: Ports, peer: Peer): Promise<void> {
  const held: Held = { peer, bytes: 0 };
  try {
    await respond(request, response, ports, held);
  } finally {
    ports.space.give(peer, held.bytes);
  }
}

export function createHttpReceiver(ports: Ports): SocketServer {
  const peers = new WeakMap<Socket, Peer>();
  const server = createServer(
    {
      headersTimeout: headMs,
      requestTimeout: requestMs,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: headMs,
    },
    (request, response) => void receive(request, response, ports, peers.get(request.socket) ?? unknownPeer),
  );
  // Node enforces request timeouts only on a server that listens.
  server.emit("listening");
  return {
    accept(socket, peer) {
      peers.set(socket, peer);
      server.emit("connection", socket);
      socket.resume();
    },
    close: () => void server.close(),
  };
}
