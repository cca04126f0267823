import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { canWait } from "#contract/operation.ts";
import { proposalReasonHeader } from "#domain/access/approval-gate.ts";
import { planTokenHeader } from "#domain/access/plan-tokens.ts";
import { overrideHeader } from "#domain/access/window-gate.ts";
import { addVary } from "./compression.ts";
import { type PathIndex, type PathMethods, pathOf } from "./path-methods.ts";

/** How long a browser may keep what a preflight says, in seconds. */
const keptSeconds = 600;

/**
 * Headers that every request may have besides those that pages may always send (Fetch, "CORS-safelisted request-header"). Many
 * clients send a media type without a body.
 */
const requestHeaders = ["Authorization", "X-API-Key", "Content-Type", "Traceparent", "Tracestate"];

/** Headers of requests that the operations of a path understand. */
function headersOf({ methods, operations }: PathMethods): readonly string[] {
  const goesOn = operations.some(({ outlives }) => outlives === true);
  const isRepeatable = goesOn || operations.some(({ method }) => method === "POST");
  return [
    ...requestHeaders,
    ...(methods.includes("GET") ? ["If-None-Match"] : []),
    ...(isRepeatable ? ["Idempotency-Key"] : []),
    ...(operations.some(({ effect }) => effect !== "read") ? [planTokenHeader, overrideHeader] : []),
    ...(operations.some(canWait) ? [proposalReasonHeader] : []),
    ...(goesOn ? ["Prefer"] : []),
  ];
}

export type Cors = ReturnType<typeof createCors>;

/**
 * Cross-origin requests (WHATWG Fetch, §3.2): pages of the origins in the settings may use the interface with a key that they
 * have themselves, never with what the browser adds.
 * @param exposed headers of answers that such a page may read.
 */
export function createCors(origins: readonly string[], exposed: readonly string[]) {
  const admitted = new Set(origins);
  const exposedList = exposed.join(", ");
  return {
    /** Whether a browser asks, without a key, whether a page may send a request. */
    isPreflight: ({ headers }: FastifyRequest): boolean =>
      headers.origin !== undefined &&
      admitted.has(headers.origin) &&
      headers["access-control-request-method"] !== undefined,

    /** @param origin the admitted origin of the request. */
    answer(reply: FastifyReply, origin: string | undefined): void {
      if (admitted.size === 0) return;
      addVary(reply, "Origin");
      if (origin === undefined) return;
      reply.header("access-control-allow-origin", origin);
      reply.header("access-control-expose-headers", exposedList);
    },

    answerPreflight(reply: FastifyReply, path: PathMethods): void {
      reply.header("access-control-allow-methods", path.methods.join(", "));
      reply.header("access-control-allow-headers", headersOf(path).join(", "));
      reply.header("access-control-max-age", keptSeconds);
    },
  };
}

const noContent = 204;

/** `OPTIONS` on every path: its methods in `Allow`. It needs a key where the path does, but for preflights of admitted origins. */
export function addOptions(app: FastifyInstance, paths: PathIndex, cors: Cors): void {
  app.options(
    "*",
    {
      config: {
        routeOf(request) {
          const path = paths.find(pathOf(request.raw));
          if (path === undefined) return undefined;
          const isOpen = path.isPublic || cors.isPreflight(request);
          return { access: { scope: isOpen ? "public" : "self" }, endpoint: path.endpoint };
        },
      },
    },
    (request, reply) => {
      const path = paths.find(pathOf(request.raw));
      if (path !== undefined) reply.header("allow", path.methods.join(", "));
      if (path !== undefined && cors.isPreflight(request)) cors.answerPreflight(reply, path);
      return reply.code(noContent).send();
    },
  );
}
