import type { AuditEntry, AuditLog } from "#domain/access/ports.ts";

export interface FakeAuditLog extends AuditLog {
  readonly entries: readonly AuditEntry[];
}

/** Keeps the entries. */
export function createFakeAuditLog(): FakeAuditLog {
  const entries: AuditEntry[] = [];
  return { entries, record: (entry) => void entries.push(entry) };
}
