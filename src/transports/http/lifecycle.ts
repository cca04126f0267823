import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { DomainError } from "#domain/common/error.ts";
import type { Auditor } from "./audit.ts";
import { type Entrance, pathNotFound } from "./entrance.ts";
import type { IdempotencyHooks } from "./idempotency.ts";
import { createRequestRecord } from "./request-record.ts";
import { allowSilence } from "./routes.ts";

export interface LifecycleSteps {
  readonly entrance: Entrance;
  readonly idempotency: IdempotencyHooks;
  readonly audit: Pick<Auditor, "answering">;
  readonly replyError: (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply;
  readonly answered: (request: FastifyRequest, reply: FastifyReply) => void;
}

/** Only JSON is read; an empty body is no body. */
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

/**
 * The order of a request: each step is a hook, and no other code adds hooks. It has to be called before routes are added, and
 * adds the hooks directly: a registered plugin loads after routes that are added meanwhile, which would have no admission.
 */
export function addLifecycle(app: FastifyInstance, steps: LifecycleSteps): void {
  const { entrance, idempotency, audit, replyError, answered } = steps;

  app.decorateRequest("record");
  app.addHook("onRequest", (request, _, done) => {
    request.record = createRequestRecord();
    done();
  });
  app.addHook("onRequest", entrance.unknownPath);

  // Hooks for each route: looking up the route of a request costs more than admitting it.
  app.addHook("onRoute", (route) => {
    const { audit: audited } = route.config ?? {};
    const isPost = route.method === "POST";
    const isMutation = audited !== undefined && audited.operation.effect !== "read";

    route.onRequest = entrance.ofRoute(route.config ?? {});
    // First: the request may wait for the answer to an earlier one with the same idempotency key.
    if (audited?.operation.takesLong) route.preValidation = allowSilence;
    // After admission: only admitted requests get the answer of an earlier one.
    if (isPost) route.preHandler = idempotency.replay;
    // Then the handler: validation, the audit log's note that the mutation begins, the operation.
    if (isMutation || isPost) {
      route.onSend = [...(isMutation ? [audit.answering] : []), ...(isPost ? [idempotency.keep] : [])];
    }
  });

  app.addHook("onResponse", (request, reply, done) => {
    answered(request, reply);
    done();
  });

  addBodyParser(app);
  app.setErrorHandler(replyError);
  app.setNotFoundHandler(() => {
    throw pathNotFound();
  });
}
