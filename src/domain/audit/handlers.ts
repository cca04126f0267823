import type { AuditList, AuditListQuery, audit } from "#contract/audit.ts";
import { auditListLimit } from "#contract/audit.ts";
import type { Handlers } from "#contract/operation.ts";
import { parseTimestamp } from "#contract/schema.ts";
import { DomainError, invalid } from "#domain/common/error.ts";
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

/** @throws DomainError when the text is not RFC 3339. */
function moment(field: "since" | "until", text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const millis = parseTimestamp(text);
  if (millis === undefined) throw invalid(field, "Must be an RFC 3339 time such as 2026-01-31T12:00:00Z");
  return millis;
}

/** @throws DomainError `VALIDATION_ERROR`, `UNAVAILABLE`. */
export async function listEntries(
  log: Pick<AuditLog, "list">,
  query: AuditListQuery,
  signal: AbortSignal,
): Promise<AuditList> {
  const { operation, outcome, cursor, limit = auditListLimit.default } = query;
  const wanted = {
    since: moment("since", query.since),
    until: moment("until", query.until),
    operation,
    keyId: query.key_id,
    outcome,
    limit,
    cursor,
  };
  const page = await onLog(() => log.list(wanted, signal));
  return { entries: [...page.entries], next_cursor: page.nextCursor ?? null, unreadable: page.unreadable };
}

export const auditHandlers = ({ log }: { log: Pick<AuditLog, "list"> }): Handlers<typeof audit> => ({
  listAudit: ({ query }, { signal }) => listEntries(log, query, signal()),
});
