import { Socket } from "node:net";
import type { Readable } from "node:stream";
import type { SchemaObject } from "ajv";
import { build, type Schema } from "fast-json-stringify";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Parked } from "#contract/approvals.ts";
import { operations } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import {
  ByteStream,
  type Context,
  EventStream,
  errorsOf,
  type Handlers,
  type Operation,
  type Operations,
  SerializedJson,
  Versioned,
} from "#contract/operation.ts";
import { Accepted, isUnsuccessful } from "#contract/operation-entry.ts";
import { DomainError } from "#domain/common/error.ts";
import type { Auditor } from "./audit.ts";
import { type ByteStreamPorts, beginByteStream } from "./byte-stream.ts";
import { addVary } from "./compression.ts";
import { appliedPreferences, type ContextPorts, createContext } from "./context.ts";
import { type EntityTags, isNotModified, revalidate } from "./entity-tags.ts";
import { beginEventStream, type EventStreamPorts } from "./event-stream.ts";
import type { PlannedCalls } from "./planned-calls.ts";
import { isDryRun } from "./request-record.ts";
import { createPartCheck, refuseFaults } from "./validation.ts";

/** Makes JSON of an answer by its schema. */
export type Serializer = (answer: unknown) => string;

/** A serializer that is compiled with the first answer: most runs of the service use few of its operations. */
function createSerializer(schema: object): Serializer {
  let compiled: Serializer | undefined;
  return (answer) => {
    compiled ??= build(schema as Schema);
    return compiled(answer);
  };
}

const plainStatus = 200;
const bigAnswerBytes = 64 * 1024;
const nothingLeft = Promise.resolve();

/** A handler as the loop over the table calls it. Parameters of methods are bivariant, so handlers of all inputs are assignable. */
interface AnyHandler {
  call(input: object, context: Context): unknown;
}
type AnyHandlers = Readonly<Record<string, AnyHandler["call"]>>;

const routePath = ({ base, path }: Operation): string => (base === "root" ? path : `${apiBase}${path}`);

const toRouterPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ":$1");

const noMembers: SchemaObject = { type: "object", properties: {}, additionalProperties: false };

/**
 * Probes and scrapes are sent by programs that append parameters of their own, and take none here: refusing one that has no
 * meaning would lose the monitoring, and ignoring it answers no less.
 */
const takesAnyQuery = ({ base }: Operation): boolean => base === "root";

function createInputReader(operation: Operation): (request: FastifyRequest) => object {
  const isMutation = operation.effect !== "read";
  const params = operation.params && createPartCheck("params", operation.params);
  const checkQuery = takesAnyQuery(operation) ? undefined : createPartCheck("query", operation.query ?? noMembers);
  const bodySchema = operation.body ?? (isMutation ? noMembers : undefined);
  const body = bodySchema && createPartCheck("body", bodySchema);
  return (request) => {
    const input = {
      // Its faults come first.
      ...(body && { body: body(request.body) }),
      ...(params && { params: params(request.params) }),
      ...(checkQuery && { query: checkQuery(request.query) }),
    };
    refuseFaults(Object.values(input));
    return input;
  };
}

export type RoutePorts = ContextPorts &
  EventStreamPorts &
  ByteStreamPorts &
  Pick<Auditor, "begins"> & {
    readonly tags: EntityTags;
    readonly planned: PlannedCalls;
  };

const json = "application/json; charset=utf-8";
const acceptedStatus = 202;

const notModifiedStatus = 304;

/** The answer of this version, or undefined for a client that has it: that gets no body. */
function answerOfVersion({ parts, make }: Versioned<unknown>, reply: FastifyReply, tags: EntityTags): unknown {
  const { request } = reply;
  const tag = tags.of(request, parts);
  const isKnown = isNotModified(request.headers["if-none-match"], tag);
  // What throws has no version.
  const answer = isKnown ? undefined : make();
  reply.header("etag", tag).header("cache-control", revalidate);
  if (!isKnown) return answer;
  addVary(reply, "Accept-Encoding");
  reply.code(notModifiedStatus);
  return undefined;
}

/** Names the preferences of the client that decide how long it waits (RFC 7240 §3). */
function applyPreferences(reply: FastifyReply): void {
  const applied = appliedPreferences(reply.request.headers["prefer"]);
  if (applied !== undefined) reply.header("Preference-Applied", applied);
}

/** Node drops the body of an answer to HEAD, but would wait for a stream to end. */
function unlessForHead(body: Readable, { method }: FastifyRequest): Readable | null {
  if (method !== "HEAD") return body;
  body.destroy();
  return null;
}

/** The answer in a form that can be sent: bytes that are JSON already are sent as they are. */
function sendable(
  given: unknown,
  reply: FastifyReply,
  { tags, serialize }: { readonly tags: EntityTags; readonly serialize: Serializer | undefined },
): unknown {
  const answer = given instanceof Versioned ? answerOfVersion(given, reply, tags) : given;
  if (answer === undefined) return undefined;
  if (answer instanceof Accepted) {
    reply.code(acceptedStatus).header("Location", `${apiBase}/operations/${answer.operation.id}`);
    return answer.operation;
  }
  if (answer instanceof Parked) {
    reply.code(acceptedStatus).header("Location", `${apiBase}/approvals/${answer.approval.id}`);
    return answer.approval;
  }
  if (!(answer instanceof SerializedJson)) {
    reply.request.record.isUnsuccessful = isUnsuccessful(answer);
    if (serialize === undefined) return answer;
    reply.type(json);
    return serialize(answer);
  }
  reply.type(json);
  const { buffer, byteOffset, byteLength } = answer.bytes;
  // Big answers are many and short-lived; left to the garbage collector they keep it running.
  if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength && byteLength >= bigAnswerBytes) {
    const { record } = reply.request;
    record.release = () => void buffer.transfer(0);
    reply.raw.once("finish", () => record.release?.());
  }
  // A view, not a copy.
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Starts a stream; the request is at work until its last event or part has left. */
async function startStream(
  stream: EventStream | ByteStream,
  answer: {
    readonly request: FastifyRequest;
    readonly reply: FastifyReply;
    readonly ports: EventStreamPorts & ByteStreamPorts;
  },
): Promise<Readable | null> {
  const { body, ended } = await (stream instanceof ByteStream
    ? beginByteStream(stream, answer)
    : beginEventStream(stream, answer));
  answer.request.record.work = ended;
  return unlessForHead(body, answer.request);
}

const keepAliveProbeMs = 30_000;

/** Disables the idle timeout of a connection until its answer has left. TCP probes find out whether the peer is still there. */
export function allowSilence({ raw: { socket } }: FastifyRequest, reply: FastifyReply, done: () => void): void {
  // An injected request has none.
  if (socket instanceof Socket) {
    const { timeout = 0 } = socket;
    socket.setKeepAlive(true, keepAliveProbeMs);
    socket.setTimeout(0);
    reply.raw.once("close", () => socket.setTimeout(timeout));
  }
  done();
}

/** Answers a request with an error before its connection is closed as idle. */
function answerInTime(operation: Operation, { raw: { socket } }: FastifyRequest, reply: FastifyReply): void {
  const code = errorsOf(operation).includes("UNAVAILABLE") ? "UNAVAILABLE" : "INTERNAL_ERROR";
  reply.raw.once("timeout", () => {
    // The client does not read the answer.
    if (reply.sent) socket.destroy();
    else reply.send(new DomainError(code, "cannot answer in time (try again later)", { retryable: true }));
  });
}

function addOperation(
  app: FastifyInstance,
  name: string,
  operation: Operation,
  handler: AnyHandler["call"],
  ports: RoutePorts,
): void {
  const readInput = createInputReader(operation);
  const { response, status = 200, mediaType, effect } = operation;
  const isRead = effect === "read";
  // A mutation answers its result or a plan, so it has no serializer of its own.
  const isJson = mediaType === undefined && operation.mediaTypes === undefined;
  const serialize = isRead && isJson ? createSerializer(response) : undefined;
  const form = { tags: ports.tags, serialize };
  const respond = (request: FastifyRequest, reply: FastifyReply): unknown => {
    // A plan creates nothing, so it is never 201.
    reply.code(isRead || !isDryRun(request) ? status : plainStatus);
    if (mediaType !== undefined) reply.type(`${mediaType}; version=0.0.4; charset=utf-8`);
    if (operation.outlives && !isDryRun(request)) applyPreferences(reply);
    // RFC 6749 §5.1 wants it beside Cache-Control, which is on every answer.
    if (!isRead) reply.header("Pragma", "no-cache");
    // Answered at once where the handler is synchronous: a promise would cost a turn of the queue.
    const input = readInput(request);
    ports.begins(request);
    const context = createContext(request, reply, ports);
    const answer = isRead
      ? handler(input, context)
      : ports.planned({ name, operation, request, input, context }, handler);
    if (answer instanceof Promise) {
      const work = answer.then((each: unknown) =>
        each instanceof EventStream || each instanceof ByteStream
          ? startStream(each, { request, reply, ports })
          : sendable(each, reply, form),
      );
      request.record.work = work;
      // A mutation is not aborted by a timer.
      if (isRead) answerInTime(operation, request, reply);
      return work;
    }
    request.record.work = nothingLeft;
    reply.send(sendable(answer, reply, form));
    return reply;
  };
  app.route({
    // One route for both: each takes time to add when the service starts.
    method: operation.method === "GET" ? ["GET", "HEAD"] : operation.method,
    url: toRouterPath(routePath(operation)),
    config: { access: operation, endpoint: routePath(operation), audit: { name, operation } },
    handler(request, reply) {
      const { span } = request.record;
      return span === undefined ? respond(request, reply) : span.run(() => respond(request, reply));
    },
  });
}

/** @param table for tests of what no row has. */
export function addOperations(
  app: FastifyInstance,
  handlers: Handlers<typeof operations>,
  ports: RoutePorts,
  table: Operations = operations,
): void {
  const anyHandlers: AnyHandlers = handlers;
  for (const [name, operation] of Object.entries(table)) {
    const handler = anyHandlers[name];
    if (handler === undefined) throw new Error(`cannot serve ${name}: it has no handler`);
    addOperation(app, name, operation, handler, ports);
  }
}
