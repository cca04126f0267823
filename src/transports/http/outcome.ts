import type { FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "#telemetry/logger.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { type AuditorPorts, createAuditor } from "./audit.ts";
import { createRecorder } from "./record.ts";

export interface OutcomePorts extends AuditorPorts {
  readonly requestLog: Logger;
  readonly metrics: Metrics;
}

/** Writes down what became of each request, once: log line, metrics and audit entry. */
export function createOutcomes(ports: OutcomePorts) {
  const record = createRecorder(ports);
  const auditor = createAuditor(ports);

  const writeDown = (request: FastifyRequest, reply: FastifyReply, isClientGone: boolean): void => {
    request.isRecorded = true;
    record(request, reply);
    auditor.ended(request, reply, isClientGone);
  };

  const answered = (request: FastifyRequest, reply: FastifyReply): void => writeDown(request, reply, false);

  /** The client has gone: what its request did is written down all the same, once it is done. */
  const abandoned = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    // Without a handler at work nothing was done, and the answer to what was refused is its own record.
    if (request.work === undefined) return;
    await Promise.allSettled([request.work]);
    // The status of a failure is set by the framework, right after.
    await new Promise((resolve) => setImmediate(resolve));
    if (!request.isRecorded) writeDown(request, reply, true);
  };

  return { auditor, answered, abandoned };
}
