import type { FastifyReply, FastifyRequest } from "fastify";
import { isErrorStatus } from "#contract/errors.ts";
import type { Logger } from "#telemetry/logger.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { endTrace } from "./trace.ts";

/** Route label of paths that belong to no route: what clients make up must not become label values. */
const unmatched = "unmatched";

/**
 * Counts an answered request and writes its log line. The line has the route, never the address that was
 * asked for: a query may hold a key.
 */
export function createRecorder({ requestLog, metrics }: { requestLog: Logger; metrics: Metrics }) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const { method, route, span } = request;
    const endpoint = route?.endpoint ?? unmatched;
    const { statusCode: status, elapsedTime: durationMs } = reply;
    metrics.request({ method, endpoint, status, seconds: durationMs / 1000 });
    if (span !== undefined) endTrace(span, status);
    // Probes ask all day long, ours among them; an answer to one is news to nobody.
    const level = route?.access?.scope === "public" && !isErrorStatus(status) ? "debug" : "info";
    requestLog[level](
      {
        request_id: request.id,
        trace_id: span?.traceId,
        key_id: request.caller?.keyId,
        method,
        endpoint,
        status,
        duration_ms: Math.round(durationMs * 1000) / 1000,
        remote_address: request.remoteAddress,
      },
      "request",
    );
  };
}
