import type { FastifyReply, FastifyRequest } from "fastify";
import type { AuditLog } from "#domain/access/ports.ts";
import type { Logger } from "#telemetry/logger.ts";
import { withoutSecrets } from "./redact.ts";
import { isDryRun } from "./request.ts";

/** What is written down of a mutation, of a call to one that was refused, and of a read that has changed something. */
export function createAuditor({ audit, log }: { readonly audit: AuditLog; readonly log: Logger }) {
  return (request: FastifyRequest, reply: FastifyReply, isClientGone: boolean): void => {
    if (request.route?.audit === undefined) return;
    const { name, operation } = request.route.audit;
    if (operation.effect === "read" && request.touched === undefined) return;
    try {
      audit.record({
        time: new Date().toISOString(),
        request_id: request.id,
        operation: name,
        key_id: request.caller?.keyId ?? null,
        remote_address: request.ip,
        target: {
          ...(operation.params && withoutSecrets(request.params as Record<string, string>)),
          ...request.touched,
        },
        dry_run: isDryRun(request),
        status: reply.statusCode,
        client_gone: isClientGone,
        duration_ms: Math.round(reply.elapsedTime),
      });
    } catch (error) {
      log.error({ err: error, request_id: request.id }, "audit entry lost");
    }
  };
}
