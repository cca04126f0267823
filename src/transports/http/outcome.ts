import type { FastifyReply, FastifyRequest } from "fastify";
import { isErrorStatus } from "#contract/errors.ts";
import type { Logs } from "#telemetry/logger.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { RequestSpan, Tracer } from "#telemetry/tracing.ts";
import { type AuditorPorts, createAuditor } from "./audit.ts";

/** Other methods are made up by clients, and must not become label values. */
const knownMethods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"]);
const firstServerError = 500;
const unknownRoute = "unmatched";

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
function endTrace(span: RequestSpan, status: number): void {
  span.set({ "http.response.status_code": status });
  if (isErrorStatus(status) && status >= firstServerError) span.fail(String(status));
  span.end();
}

export interface OutcomePorts extends AuditorPorts, Pick<Logs, "requestLog"> {
  readonly metrics: Pick<Metrics, "request">;
}

/** Route label of unknown paths: what clients make up must not become label values. */
const unmatched = "unmatched";

/** Counts an answered request and writes its log line, with the route and never the address: a query may hold a key. */
function logRequest(
  { requestLog, metrics }: Pick<OutcomePorts, "requestLog" | "metrics">,
  { id, method, record }: FastifyRequest,
  { statusCode: status, elapsedTime: durationMs }: FastifyReply,
): void {
  const { route, span, caller, remoteAddress } = record;
  const endpoint = route?.endpoint ?? unmatched;
  metrics.request({ method, endpoint, status, seconds: durationMs / 1000 });
  if (span !== undefined) endTrace(span, status);
  // Successful answers to them are mostly probes and scrapes.
  const isPolled = route?.access?.scope === "public" || route?.access?.openToLoopback === true;
  const level = isPolled && !isErrorStatus(status) ? "debug" : "info";
  requestLog(level, {
    request_id: id,
    trace_id: span?.traceId,
    key_id: caller?.keyId,
    session_id: caller?.session?.id,
    method,
    endpoint,
    status,
    duration_ms: Math.round(durationMs * 1000) / 1000,
    remote_address: remoteAddress,
  });
}

export function createOutcomes(ports: OutcomePorts) {
  const auditor = createAuditor(ports);

  const write = (request: FastifyRequest, reply: FastifyReply, isClientGone: boolean): void => {
    request.record.isLogged = true;
    logRequest(ports, request, reply);
    auditor.ended(request, reply, isClientGone);
  };

  const answered = (request: FastifyRequest, reply: FastifyReply): void => write(request, reply, false);

  /** Records the request of a client that has gone, once its handler is done. */
  const abandoned = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { record } = request;
    // Without a running handler the refusal is recorded as usual.
    if (record.work === undefined) return;
    await Promise.allSettled([record.work]);
    // The framework sets the status of a failure right after.
    await new Promise((resolve) => setImmediate(resolve));
    if (!record.isLogged) write(request, reply, true);
  };

  return { auditor, answered, abandoned };
}
