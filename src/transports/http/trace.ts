import type { FastifyRequest } from "fastify";
import { isErrorStatus } from "#contract/errors.ts";
import type { RequestSpan, Tracer } from "#telemetry/tracing.ts";

/** Methods that are label values of their own; others are made up by clients. */
const knownMethods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"]);
const firstServerError = 500;
/** All paths that there are not. */
const unknownRoute = "unmatched";

/**
 * Begins the span of a request where the tracer wants one, by the semantic conventions for HTTP servers. It has the route and not the path, and nothing of
 * query and headers: a client may have put a key into any of them.
 */
export function beginTrace(tracer: Tracer, request: FastifyRequest): RequestSpan | undefined {
  const { route, remoteAddress } = request.record;
  const endpoint = route?.endpoint;
  if (tracer.takes?.(endpoint ?? unknownRoute) === false) return undefined;
  const { method, id, protocol, headers } = request;
  const known = knownMethods.has(method) ? method : undefined;
  const name = known ?? "HTTP";
  return tracer.request(
    endpoint === undefined ? name : `${name} ${endpoint}`,
    {
      "http.request.method": known ?? "_OTHER",
      "http.route": endpoint,
      "url.scheme": protocol,
      "client.address": remoteAddress ?? undefined,
      "http.response.header.x-request-id": [id],
    },
    headers,
  );
}

/** Ends it. That a request was refused is no failure of the service's, so that only its own are marked (RFC 9110 §15.6). */
export function endTrace(span: RequestSpan, status: number): void {
  span.set({ "http.response.status_code": status });
  if (isErrorStatus(status) && status >= firstServerError) span.fail(String(status));
  span.end();
}
