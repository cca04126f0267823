import type { FastifyRequest } from "fastify";
import { isErrorStatus } from "#contract/errors.ts";
import type { RequestSpan, Tracer } from "#telemetry/tracing.ts";

/** Other methods are made up by clients, and must not become label values. */
const knownMethods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"]);
const firstServerError = 500;
const unknownRoute = "unmatched";

/**
 * Begins the span of a request by the semantic conventions for HTTP servers. It has the route, and neither path, query nor
 * headers: a client may have put a key there.
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

/** Ends the span. Only server errors are marked as failures (RFC 9110 §15.6). */
export function endTrace(span: RequestSpan, status: number): void {
  span.set({ "http.response.status_code": status });
  if (isErrorStatus(status) && status >= firstServerError) span.fail(String(status));
  span.end();
}
