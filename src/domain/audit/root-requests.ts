import type { AuditLog } from "#domain/ports/audit.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { auditEvent } from "./entry.ts";

/** Operations of entries about requests of a service without rights to root. */
export const rootRequested = "root.requested";
export const rootUnanswered = "root.unanswered";

/** Target member of `service.started`: the service logs its requests to root. */
export const loggedMember = "root_requests";

/**
 * Logs a request before it is sent to root, which records it in the journal, where the service cannot change it.
 * @param operationId is the id of the request too.
 * @returns a function that logs the lack of a result.
 */
export function logRootRequest(
  { log, clock }: { readonly log: Pick<AuditLog, "record">; readonly clock: Pick<Clock, "now"> },
  {
    id,
    request,
    operationId = null,
  }: { readonly id: string; readonly request: string; readonly operationId?: string | null },
): Dispose {
  const about = { target: { id, request }, operation_id: operationId };
  log.record(auditEvent(rootRequested, clock.now(), about));
  return () => log.record(auditEvent(rootUnanswered, clock.now(), { ...about, outcome: "failed" }));
}
