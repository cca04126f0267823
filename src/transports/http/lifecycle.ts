import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler } from "fastify";
import { isCompressible } from "#contract/operation.ts";
import { DomainError } from "#domain/common/error.ts";
import type { Auditor } from "./audit.ts";
import type { BasePath } from "./base-path.ts";
import { announceDeprecation } from "./deprecation.ts";
import { type Entrance, pathNotFound } from "./entrance.ts";
import type { IdempotencyHooks } from "./idempotency.ts";
import type { PathIndex } from "./path-methods.ts";
import { createRequestRecord } from "./request-record.ts";
import { allowSilence } from "./routes.ts";
import type { WindowHooks } from "./windows.ts";

export interface LifecycleSteps {
  readonly entrance: Entrance;
  readonly base: Pick<BasePath, "addToAnswers">;
  readonly idempotency: IdempotencyHooks;
  readonly windows: Pick<WindowHooks, "hold">;
  readonly audit: Pick<Auditor, "answering">;
  readonly compression: onSendHookHandler;
  readonly paths: PathIndex;
  readonly replyError: (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply;
  readonly answered: (request: FastifyRequest, reply: FastifyReply) => void;
}

/** Only JSON is read; an empty body is not a body. */
function addBodyParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  const parseJson = app.getDefaultJsonParser("error", "error");
  const isEmpty = ({ headers }: FastifyRequest): boolean => headers["content-length"] === "0";
  app.addContentTypeParser("*", (request, _, done) => {
    if (isEmpty(request)) return done(null, undefined);
    done(
      new DomainError("VALIDATION_ERROR", "cannot accept the request: its body is not JSON (send application/json)", {
        field: "Content-Type",
        issue: "Must be application/json",
      }),
    );
  });
  app.addContentTypeParser<string>("application/json", { parseAs: "string" }, (request, body, done) => {
    if (body === "") done(null, undefined);
    else void parseJson(request, body, done);
  });
}

/** In place of the framework's, which expects a body that 304 does not have. */
const withoutBody: onSendHookHandler<unknown> = (_, reply, payload, done) => {
  if (payload instanceof Readable) payload.destroy();
  else if (typeof payload === "string" || Buffer.isBuffer(payload)) {
    reply.header("content-length", Buffer.byteLength(payload));
  }
  done(null, null);
};

/**
 * The order of a request: each step is a hook, and no other code adds hooks. It must be called before routes are added, and
 * adds the hooks directly: a registered plugin loads after routes that are added meanwhile, which would have no admission.
 */
export function addLifecycle(app: FastifyInstance, steps: LifecycleSteps): void {
  const { entrance, base, idempotency, windows, audit, compression, paths, replyError, answered } = steps;

  app.decorateRequest("record");
  app.addHook("onRequest", (request, _, done) => {
    request.record = createRequestRecord();
    done();
  });
  app.addHook("onRequest", entrance.unknownPath);

  // Hooks for each route: looking up the route of a request costs more than admitting it.
  app.addHook("onRoute", (route) => {
    paths.add(route);
    const { audit: audited, takesLong = audited?.operation.takesLong } = route.config ?? {};
    const isPost = route.method === "POST";
    const isMutation = audited !== undefined && audited.operation.effect !== "read";

    const entering = entrance.ofRoute(route.config ?? {});
    const deprecation = audited?.operation.deprecated;
    // Before admission, so that its errors say it too.
    route.onRequest = deprecation === undefined ? entering : [announceDeprecation(deprecation), entering];
    // First: the request may wait for the answer to an earlier one with the same idempotency key.
    if (takesLong) route.preValidation = allowSilence;
    // After admission: only admitted requests get the answer of an earlier one.
    // Windows hold back what is done again.
    const holding = isMutation ? [windows.hold] : [];
    if (isPost || isMutation) route.preHandler = [...(isPost ? [idempotency.replay] : []), ...holding];
    // Then the handler: validation, the audit log's note that the mutation begins, the operation.
    if (isMutation || isPost) {
      route.onSend = [...(isMutation ? [audit.answering] : []), ...(isPost ? [idempotency.keep] : [])];
    }
    const compressing = audited !== undefined && isCompressible(audited.operation) ? [compression] : [];
    if (route.method === "HEAD") route.onSend = [...compressing, withoutBody];
    else if (compressing.length > 0) route.onSend = compressing;
    // Last: answers are kept as the service itself has them.
    if (base.addToAnswers !== undefined) route.onSend = [...[route.onSend ?? []].flat(), base.addToAnswers];
  });

  app.addHook("onResponse", (request, reply, done) => {
    answered(request, reply);
    done();
  });

  addBodyParser(app);
  app.setErrorHandler(replyError);
  app.setNotFoundHandler((request) => {
    throw pathNotFound(request, paths);
  });
}
