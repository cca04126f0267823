import { Socket } from "node:net";
import type { Readable } from "node:stream";
import type { SchemaObject } from "ajv";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { operations } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import type { Context, Handlers, Operation } from "#contract/operation.ts";
import { EventStream, errorsOf, SerializedJson } from "#contract/operation.ts";
import { Accepted, isUnsuccessful } from "#contract/operation-entry.ts";
import { DomainError } from "#domain/common/error.ts";
import type { Auditor } from "./audit.ts";
import { type ContextPorts, createContext, respondAsync } from "./context.ts";
import { beginEventStream, type EventStreamPorts } from "./event-stream.ts";
import { isDryRun } from "./request-record.ts";
import { createPartCheck } from "./validation.ts";

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

function createInputReader(operation: Operation): (request: FastifyRequest) => object {
  const isMutation = operation.effect !== "read";
  const noMembers: SchemaObject = { type: "object", properties: {}, additionalProperties: false };
  const params = operation.params && createPartCheck("params", operation.params);
  const query = operation.query && createPartCheck("query", operation.query);
  const bodySchema = operation.body ?? (isMutation ? noMembers : undefined);
  const body = bodySchema && createPartCheck("body", bodySchema);
  return (request) => {
    // A fault of the body is reported first.
    const checked = body && { body: body(request.body) };
    return {
      ...(params && { params: params(request.params) }),
      ...(query && { query: query(request.query) }),
      ...checked,
    };
  };
}

export type RoutePorts = ContextPorts & EventStreamPorts & Pick<Auditor, "begins">;

const acceptedStatus = 202;

/** The answer in a form that can be sent: bytes that are JSON already are sent as they are. */
function sendable(answer: unknown, reply: FastifyReply): unknown {
  if (answer instanceof Accepted) {
    reply.code(acceptedStatus).header("Location", `${apiBase}/operations/${answer.operation.id}`);
    reply.header("Preference-Applied", respondAsync);
    return answer.operation;
  }
  if (!(answer instanceof SerializedJson)) {
    reply.request.record.isUnsuccessful = isUnsuccessful(answer);
    return answer;
  }
  reply.type("application/json; charset=utf-8");
  const { buffer, byteOffset, byteLength } = answer.bytes;
  // Big answers are many and short-lived; left to the garbage collector they keep it running.
  if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength && byteLength >= bigAnswerBytes) {
    reply.raw.once("finish", () => buffer.transfer(0));
  }
  // A view, not a copy.
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Starts a stream; the request is at work until its last event has left. */
async function startEvents(
  events: EventStream,
  answer: { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly ports: EventStreamPorts },
): Promise<Readable> {
  const { body, ended } = await beginEventStream(events, answer);
  answer.request.record.work = ended;
  return body;
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
  const respond = (request: FastifyRequest, reply: FastifyReply): unknown => {
    // A plan creates nothing, so it is never 201.
    reply.code(isRead || !isDryRun(request) ? status : plainStatus);
    if (mediaType !== undefined) reply.type(`${mediaType}; version=0.0.4; charset=utf-8`);
    // RFC 6749 §5.1 wants it beside Cache-Control, which is on every answer.
    if (!isRead) reply.header("Pragma", "no-cache");
    // Answered at once where the handler is synchronous: a promise would cost a turn of the queue.
    const input = readInput(request);
    ports.begins(request);
    const answer = handler(input, createContext(request, reply, ports));
    if (answer instanceof Promise) {
      const work = answer.then((each: unknown) =>
        each instanceof EventStream ? startEvents(each, { request, reply, ports }) : sendable(each, reply),
      );
      request.record.work = work;
      // A mutation is not aborted by a timer.
      if (isRead) answerInTime(operation, request, reply);
      return work;
    }
    request.record.work = nothingLeft;
    reply.send(sendable(answer, reply));
    return reply;
  };
  app.route({
    method: operation.method,
    url: toRouterPath(routePath(operation)),
    config: { access: operation, endpoint: routePath(operation), audit: { name, operation } },
    // A mutation answers its result or a plan, so it has no fixed serializer.
    ...(isRead && mediaType === undefined ? { schema: { response: { [status]: response } } } : {}),
    handler(request, reply) {
      const { span } = request.record;
      return span === undefined ? respond(request, reply) : span.run(() => respond(request, reply));
    },
  });
}

export function addOperations(app: FastifyInstance, handlers: Handlers<typeof operations>, ports: RoutePorts): void {
  const anyHandlers: AnyHandlers = handlers;
  for (const [name, operation] of Object.entries<Operation>(operations)) {
    const handler = anyHandlers[name];
    if (handler === undefined) throw new Error(`cannot serve ${name}: it has no handler`);
    addOperation(app, name, operation, handler, ports);
  }
}
