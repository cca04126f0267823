import { Parked } from "#contract/approvals.ts";
import type { Caller } from "#contract/operation.ts";
import { invalid } from "#domain/common/error.ts";
import type { GroundedPlan } from "#domain/common/plan.ts";
import type { ApprovalRecord } from "#domain/ports/approvals.ts";
import type { Clock } from "#kernel/clock.ts";
import { canonicalJson } from "#kernel/values.ts";
import type { ApprovalBook } from "./approval-book.ts";
import { storedNeeds } from "./approval-carry-out.ts";
import { type ApprovalRules, approvalRequired, asProposer } from "./approval-rules.ts";
import { toApproval } from "./approval-view.ts";
import type { Need } from "./needs.ts";
import { type PlanTokens, storedLines } from "./plan-tokens.ts";

/** The request header with the reason of a proposal. */
export const proposalReasonHeader = "X-Proposal-Reason";
/** Printable ASCII that begins with a mark: HTTP drops spaces around it. */
export const proposalReasonForm = /^[\x21-\x7e][\x20-\x7e]{0,199}$/;

/** Most characters of the arguments of a call that waits. */
const maxInputChars = 256 * 1024;

/** A call that may have to wait for the approval of others. */
export interface ProposedCall {
  readonly caller: Caller;
  readonly operation: string;
  /** Checked. */
  readonly input: object;
  readonly idempotencyKey: string | undefined;
}

export type ApprovalGate = ReturnType<typeof createApprovalGate>;

/** Has calls wait for the approval of others: those of keys that may only propose, and those for which the settings demand it. */
export function createApprovalGate(ports: {
  readonly rules: ApprovalRules;
  readonly book: Pick<ApprovalBook, "add" | "list" | "get">;
  readonly plans: Pick<PlanTokens, "digestOf" | "digestText">;
  readonly clock: Pick<Clock, "now">;
  readonly createId: () => string;
}) {
  const { rules, book, plans, clock, createId } = ports;
  const { concerns, mayPropose, demands, waitsBecause } = rules;

  const digestText = (input: object): string => plans.digestText(canonicalJson(input));
  const isSameCall = (record: ApprovalRecord, { operation, input }: ProposedCall): boolean =>
    record.operation === operation && record.inputDigest === digestText(input);

  return {
    concerns,
    mayPropose,
    waitsBecause,
    asProposer,
    approvers: (): number => rules.policy().approvers,
    /** @throws DomainError where a call that does not wait comes to need what must be approved. */
    requireNoApproval(need: Need): void {
      if (demands(need)) throw approvalRequired(need);
    },
    /** The approval of an earlier request with this idempotency key. @throws DomainError where that was another call. */
    earlier(call: ProposedCall): Parked | undefined {
      const { idempotencyKey: key, caller } = call;
      if (key === undefined) return undefined;
      const record = book
        .list()
        .find(({ idempotencyKey, proposer }) => idempotencyKey === key && proposer.keyId === caller.keyId);
      if (record === undefined) return undefined;
      if (!isSameCall(record, call)) throw invalid("Idempotency-Key", "Belongs to another request");
      return new Parked(toApproval(record));
    },
    /** Records a call that waits from now on. @throws DomainError `CONFLICT` where too many do. */
    propose(
      call: ProposedCall,
      {
        plan,
        needs,
        reason,
      }: { readonly plan: GroundedPlan; readonly needs: readonly Need[]; readonly reason?: string },
    ): Parked {
      const { caller, operation, input, idempotencyKey = null } = call;
      if (JSON.stringify(input).length > maxInputChars)
        throw invalid("body", `Must have at most ${maxInputChars} characters where the call waits for approval`);
      const { keyId, keyName, credential, expiresAt } = caller;
      const { approvers, expireMs } = rules.policy();
      const now = clock.now();
      const record = book.add({
        id: createId(),
        status: "pending",
        operation,
        input,
        inputDigest: digestText(input),
        needs: storedNeeds(needs),
        plan,
        digest: plans.digestOf(plan),
        compared: storedLines(plan),
        changed: null,
        proposer: { keyId, keyName, credential, granted: caller.granted ?? caller.scopes, expiresAt },
        reason: reason ?? null,
        idempotencyKey,
        createdAt: now,
        expiresAt: now + expireMs,
        required: approvers,
        approvals: [],
        decidedBy: null,
        finishedAt: null,
        override: null,
        operationId: null,
        result: null,
        error: null,
      });
      return new Parked(toApproval(record));
    },
  };
}
