import type { AuditLog } from "#domain/ports/audit.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { auditEvent } from "./entry.ts";

/** Names of the entries about what a service without rights has root do. */
export const rootRequested = "root.requested";
export const rootUnanswered = "root.unanswered";

/** Member of the target of `service.started` by which a service says that it logs its requests to root. */
export const loggedMember = "root_requests";

/**
 * Logs a request to root before root hears of it. Root records the same in the journal, where the service cannot change it.
 * @param operationId of an operation, whose id the request then has.
 * @returns what logs that nothing is known to have come of it.
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
