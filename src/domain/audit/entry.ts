import type { AuditEntry, AuditLog } from "#domain/ports/audit.ts";
import { type Clock, type Dispose, toTimestamp } from "#kernel/clock.ts";

/** Fills in the usual values: those of an event without a call. */
export function auditEvent(
  operation: string,
  now: number,
  rest: Partial<Omit<AuditEntry, "operation" | "time">> = {},
): AuditEntry {
  return {
    time: toTimestamp(now),
    operation,
    outcome: "ok",
    status: null,
    error: null,
    method: null,
    path: null,
    target: {},
    dry_run: false,
    replayed: false,
    key_id: null,
    key_name: null,
    certificate: null,
    remote_address: null,
    request_id: null,
    operation_id: null,
    client_gone: false,
    duration_ms: null,
    count: 1,
    ...rest,
  };
}

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
