import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";
import { createParser } from "eventsource-parser";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { isRecord, isString } from "#kernel/values.ts";
import { asyncapiDocument } from "#transports/http/asyncapi.ts";
import { openapiDocument } from "#transports/http/openapi.ts";
import { at, createSchemaCheck, type Json, parsed } from "./document-schemas.ts";
import { createFrameCheck, type LiveFrame, watchFrames } from "./documented-frames.ts";

/** An answer as it left the service. */
export interface LiveAnswer {
  readonly method: string;
  /** Template of the path; undefined for a path that does not exist. */
  readonly endpoint: string | undefined;
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface Content {
  readonly schema?: Json;
}
interface Answer {
  readonly headers?: Readonly<Record<string, { readonly required?: boolean; readonly schema: Json }>>;
  readonly content?: Readonly<Record<string, Content>>;
}

/** Headers of the connection and of the representation, which HTTP itself defines for every answer. */
const ownedByHttp = new Set([
  ...["connection", "keep-alive", "transfer-encoding", "upgrade", "trailer"],
  ...["date", "content-type", "content-length", "content-encoding"],
]);

const decoders: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
  deflate: inflateSync,
  zstd: zstdDecompressSync,
};

/** Checks that compare answers with an OpenAPI document: status, headers, media type and body, in both directions. */
export function createDocumentCheck(document: Json): (answer: LiveAnswer) => readonly string[] {
  const faultOf = createSchemaCheck(document);
  const resolved = <T>(value: unknown): T | undefined => {
    const reference = at(value, "$ref");
    if (typeof reference !== "string") return value as T | undefined;
    return reference.slice(2).split("/").reduce<unknown>(at, document) as T | undefined;
  };
  const answerOf = ({ method, endpoint, status }: LiveAnswer): Answer | undefined => {
    const verb = method === "HEAD" ? "get" : method.toLowerCase();
    const responses = at(at(at(document["paths"], endpoint ?? ""), verb), "responses");
    return resolved<Answer>(at(responses, String(status)));
  };

  /** A path that does not exist is not an operation, but is refused as operations refuse. */
  const errorOf = ({ body }: LiveAnswer): Answer | undefined => {
    const code = at(at(parsed(body.toString("utf8")), "error"), "code");
    return at(at(document["components"], "responses"), String(code)) as Answer | undefined;
  };

  function headerFaults({ headers }: LiveAnswer, declared: Answer): readonly string[] {
    const known = new Map(Object.entries(declared.headers ?? {}).map(([name, each]) => [name.toLowerCase(), each]));
    const faults: string[] = [];
    for (const [name, value] of Object.entries(headers)) {
      if (ownedByHttp.has(name)) continue;
      const header = resolved<{ readonly schema: Json }>(known.get(name));
      if (header === undefined) {
        faults.push(`header ${name} is not declared`);
        continue;
      }
      const isNumber = header.schema["type"] === "integer";
      const fault = faultOf(header.schema, isNumber ? Number(value) : value);
      if (fault !== undefined) faults.push(`header ${name}: ${fault}`);
    }
    for (const [name, reference] of known) {
      const isRequired = resolved<{ readonly required?: boolean }>(reference)?.required === true;
      if (isRequired && headers[name] === undefined) faults.push(`header ${name} is missing`);
    }
    return faults;
  }

  function eventFaults(schema: unknown, text: string): readonly string[] {
    if (!isRecord(schema)) return ["events are not declared"];
    const faults: string[] = [];
    const parser = createParser({
      onEvent({ event, data }) {
        const fault = faultOf(schema, { event, data: parsed(data) });
        if (fault !== undefined) faults.push(`event ${event}: ${fault}`);
      },
    });
    parser.feed(text);
    return faults;
  }

  function bodyFaults({ method, headers, body }: LiveAnswer, { content = {} }: Answer): readonly string[] {
    const mediaType = headers["content-type"]?.split(";", 1)[0] ?? "";
    if (method === "HEAD" || (mediaType === "" && body.length === 0)) return [];
    const declared = content[mediaType];
    if (declared === undefined) return [`media type ${mediaType} is not declared`];
    const text = (decoders[headers["content-encoding"] ?? ""]?.(body) ?? body).toString("utf8");
    if (mediaType === "text/event-stream") return eventFaults(at(at(declared.schema, "contentSchema"), "items"), text);
    const fault = faultOf(declared.schema ?? {}, mediaType === "application/json" ? parsed(text) : text);
    return fault === undefined ? [] : [`body: ${fault}`];
  }

  return (answer) => {
    const { method, endpoint, status } = answer;
    // HTTP itself defines it for every path.
    if (method === "OPTIONS") return [];
    // Pages for people, and the document itself, are not in it.
    if (endpoint !== undefined && at(document["paths"], endpoint) === undefined) return [];
    const declared = endpoint === undefined ? errorOf(answer) : answerOf(answer);
    const faults =
      declared === undefined
        ? ["the status is not declared"]
        : [...headerFaults(answer, declared), ...bodyFaults(answer, declared)];
    return faults.map((fault) => `${method} ${endpoint ?? "unknown path"}: ${status}: ${fault}`);
  };
}

/** Calls `seen` with each answer as the client gets it, no matter who wrote its headers, and `framed` with each frame of a stream. */
export function watchAnswers(
  app: FastifyInstance,
  seen: (answer: LiveAnswer) => void,
  framed: (frame: LiveFrame) => void = () => undefined,
): void {
  app.addHook("onSend", (request, reply, payload, done) => {
    watchAnswer(request, reply, seen);
    done(null, payload);
  });
  app.addHook("preHandler", (request, reply, done) => {
    const hijack = reply.hijack.bind(reply);
    reply.hijack = () => {
      watchHandshake(request, seen, framed);
      return hijack();
    };
    done();
  });
}

/** The answer that makes a WebSocket of the connection; what follows are frames. */
function watchHandshake(
  request: FastifyRequest,
  seen: (answer: LiveAnswer) => void,
  framed: (frame: LiveFrame) => void,
): void {
  const { socket } = request.raw;
  const write = socket.write.bind(socket);
  socket.write = (...args: readonly unknown[]) => {
    socket.write = write;
    const [statusLine = "", ...lines] = String(args[0]).trimEnd().split("\r\n");
    const headers = lowerCase(Object.fromEntries(lines.map((line) => line.split(/: (.*)/s).slice(0, 2))));
    const [status, endpoint] = [Number(statusLine.split(" ")[1]), endpointOf(request)];
    seen({ method: request.method, endpoint, status, headers, body: Buffer.alloc(0) });
    if (status === 101) watchFrames(socket, endpoint, framed);
    return Reflect.apply(write, socket, args);
  };
}

const lowerCase = (headers: object): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]));

function endpointOf(request: FastifyRequest): string | undefined {
  const { is404, routeOptions } = request;
  if (is404) return undefined;
  return routeOptions.config.endpoint ?? routeOptions.config.routeOf?.(request)?.endpoint;
}

const watched = new WeakSet<object>();

function watchAnswer(request: FastifyRequest, reply: FastifyReply, seen: (answer: LiveAnswer) => void): void {
  const { raw } = reply;
  // An error while an answer is sent makes another one.
  if (watched.has(raw)) return;
  watched.add(raw);
  const chunks: Buffer[] = [];
  let headers: Readonly<Record<string, string>> = {};
  const [writeHead, write, end] = [raw.writeHead.bind(raw), raw.write.bind(raw), raw.end.bind(raw)];
  const keep = (chunk: unknown): void => {
    if (typeof chunk === "string") chunks.push(Buffer.from(chunk));
    // A copy: the memory of an answer may be used again.
    else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
  };
  Object.assign(raw, {
    writeHead(status: number, ...rest: readonly object[]) {
      const given = rest.find((each) => typeof each === "object");
      headers = lowerCase({ ...raw.getHeaders(), ...given });
      return Reflect.apply(writeHead, raw, [status, ...rest]) as unknown;
    },
    write(...args: readonly unknown[]) {
      keep(args[0]);
      return Reflect.apply(write, raw, args) as unknown;
    },
    end(...args: readonly unknown[]) {
      keep(args[0]);
      seen({
        method: request.method,
        endpoint: endpointOf(request),
        status: raw.statusCode,
        // The head of an answer without a body is written with its end.
        headers: raw.headersSent || Object.keys(headers).length > 0 ? headers : lowerCase({ ...raw.getHeaders() }),
        body: Buffer.concat(chunks),
      });
      return Reflect.apply(end, raw, args) as unknown;
    },
  });
}

const check = createDocumentCheck(openapiDocument("1.2.3"));
const checkFrame = createFrameCheck(asyncapiDocument("1.2.3"));
const found: string[] = [];
const listeners = new Set<(answer: LiveAnswer) => void>();

/** Calls a listener with each answer of each service that is held to its documents, from now on. */
export const onAnswer = (listener: (answer: LiveAnswer) => void): void => void listeners.add(listener);

/** What was not found is said alike everywhere, which the document cannot say of one status. */
function notFoundFaults({ method, endpoint, status, headers, body }: LiveAnswer): readonly string[] {
  if (status !== 404 || method === "HEAD" || headers["content-encoding"] !== undefined) return [];
  const details = at(at(parsed(body.toString("utf8")), "error"), "details");
  const isReported = isString(at(details, "field")) && isString(at(details, "issue"));
  return isReported ? [] : [`${method} ${endpoint ?? "unknown path"}: 404: details say neither field nor issue`];
}

/** Compares every answer and frame of the service with the documents that it has of itself; {@link takeFaults} has what differs. */
export function holdToDocument(app: FastifyInstance): void {
  watchAnswers(
    app,
    (answer) => {
      found.push(...check(answer), ...notFoundFaults(answer));
      for (const listener of listeners) listener(answer);
    },
    (frame) => void found.push(...checkFrame(frame)),
  );
}

/** Differences since the last call, each once. */
export const takeFaults = (): readonly string[] => [...new Set(found.splice(0))];
