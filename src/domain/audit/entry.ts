import type { AuditEntry } from "#domain/ports/audit.ts";
import { toTimestamp } from "#kernel/clock.ts";

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
