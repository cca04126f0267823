import { type AuditList, type AuditListQuery, type audit, auditListLimit } from "#contract/audit.ts";
import type { Handlers } from "#contract/operation.ts";
import { DomainError, invalid, readTime } from "#domain/common/error.ts";
import { type AuditLog, AuditQueryRefused, AuditUnavailable } from "#domain/ports/audit.ts";

async function onLog<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AuditQueryRefused) throw invalid(error.field, error.message);
    if (!(error instanceof AuditUnavailable)) throw error;
    const details = { missing: "audit", retryable: true };
    throw new DomainError("UNAVAILABLE", `cannot read the audit log: ${error.message}`, details, error);
  }
}

/** @throws DomainError `VALIDATION_ERROR`, `UNAVAILABLE`. */
export async function listEntries(
  log: Pick<AuditLog, "list">,
  query: AuditListQuery,
  signal: AbortSignal,
): Promise<AuditList> {
  const { operation, target, outcome, cursor, limit = auditListLimit.default } = query;
  const wanted = {
    since: query.since === undefined ? undefined : readTime("since", query.since),
    until: query.until === undefined ? undefined : readTime("until", query.until),
    operation,
    keyId: query.key_id,
    target,
    outcome,
    limit,
    cursor,
  };
  const page = await onLog(() => log.list(wanted, signal));
  return { entries: [...page.entries], limit, next_cursor: page.nextCursor ?? null, unreadable: page.unreadable };
}

export const auditHandlers = ({ log }: { log: Pick<AuditLog, "list"> }): Handlers<typeof audit> => ({
  listAudit: ({ query }, { signal }) => listEntries(log, query, signal()),
});
