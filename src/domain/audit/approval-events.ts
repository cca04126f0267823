import type { ApprovalEvent, ApprovalRecord } from "#domain/ports/approvals.ts";
import type { AuditLog } from "#domain/ports/audit.ts";
import { type Clock, toTimestamp } from "#kernel/clock.ts";
import { defined } from "#kernel/values.ts";
import { auditEvent } from "./entry.ts";
import { isRecorded } from "./operation-ends.ts";

/** Records once what becomes of approvals without a call to the API. */
export function createApprovalEvents({
  log,
  clock,
}: {
  readonly log: Pick<AuditLog, "record" | "list">;
  readonly clock: Pick<Clock, "now">;
}) {
  const record = ({ id, operation, proposer, operationId }: ApprovalRecord, event: ApprovalEvent): void => {
    const { name, error, reason } = event;
    log.record(
      auditEvent(name, clock.now(), {
        outcome: name === "approval.failed" ? "failed" : "refused",
        error,
        target: { approval: id, operation, proposed_by: proposer.keyId, ...defined({ reason }) },
        request_id: id,
        operation_id: operationId,
      }),
    );
  };
  return {
    record,
    /** Records the events of an earlier process that the log lacks. */
    async resume(left: readonly ApprovalRecord[], settle: (id: string) => void, signal: AbortSignal): Promise<void> {
      for (const each of left) {
        const { id, unaudited: event } = each;
        if (event === undefined) continue;
        const entry = { operation: event.name, time: toTimestamp(event.at), request_id: id };
        if (!(await isRecorded(log, entry, signal))) record(each, event);
        settle(id);
      }
    },
  };
}
