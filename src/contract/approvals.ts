import { type Static, Type } from "typebox";
import { DryRunQuery, type Operations, Plan } from "./operation.ts";
import { OperationError } from "./operation-entry.ts";
import { Choice, CountedListShape, Cursor, NullableString, NullableTimestamp, Options, Timestamp } from "./schema.ts";

export const approvalStatuses = [
  "pending",
  "approved",
  "denied",
  "expired",
  "cancelled",
  "running",
  "done",
  "failed",
] as const;
export type ApprovalStatus = (typeof approvalStatuses)[number];

export const approvalListLimit = { minimum: 1, maximum: 200, default: 50 } as const;

/** Text of people, on one line. */
const Reason = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: 500,
    examples: ["looks right"],
    pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$",
    description,
  });

const party = {
  key_id: Type.String({ description: "Id of the key; `root` over the administrator's socket." }),
  name: Type.String({ description: "Name of the key." }),
};

const NullableParty = (description: string) =>
  Type.Unsafe<{ readonly key_id: string; readonly name: string } | null>({
    type: ["object", "null"],
    properties: { key_id: { type: "string" }, name: { type: "string" } },
    required: ["key_id", "name"],
    description,
  });

const { plan_token: _, plan_expires_at: __, outside_window: ___, needs_approval: ____, ...callPlan } = Plan.properties;

export const Approval = Type.Object({
  id: Type.String({ description: "Id; ids sort by the time of creation." }),
  status: Choice(
    approvalStatuses,
    "`pending`: waits for a decision. `approved`: about to run. `denied`, `expired`, `cancelled`, `done` and `failed` are final.",
  ),
  operation: Type.String({ description: "Name of the operation that was called.", examples: ["applyUpdates"] }),
  arguments: Type.Unsafe<Readonly<Record<string, unknown>>>({
    type: "object",
    additionalProperties: true,
    description: "`params`, `query` and `body` of the call, without secrets.",
  }),
  scopes: Type.Array(Type.String(), {
    description: "Scopes that the call needs; an approver must have all of them, not narrowed.",
  }),
  plan: Type.Object(callPlan, { description: "What the call would do, as its dry run says." }),
  plan_digest: Type.String({
    description: "Digest of the plan. An approval that sends it is for this plan only.",
  }),
  changed: Type.Unsafe<{ readonly added: readonly string[]; readonly missing: readonly string[] } | null>({
    type: ["object", "null"],
    properties: {
      added: { type: "array", items: { type: "string" }, description: "What only the new plan would do." },
      missing: { type: "array", items: { type: "string" }, description: "What only the former plan would have done." },
    },
    required: ["added", "missing"],
    description: "How the plan differs from the former one, if it had to be made again; else null.",
  }),
  proposer: Type.Object(party, { description: "The key that made the call; the call runs with its rights." }),
  reason: NullableString("Reason given by the proposer."),
  created_at: Timestamp("When it was proposed."),
  expires_at: Timestamp("When it expires without enough approvals."),
  approvers: Type.Integer({ minimum: 1, description: "Number of other keys that must approve." }),
  approvals: Type.Array(
    Type.Object({
      ...party,
      reason: NullableString("Reason given by the approver."),
      approved_at: Timestamp("When they approved."),
    }),
    { description: "Keys that have approved the current plan." },
  ),
  decided_by: NullableParty(
    "The key that decided: the last approver, or the one that denied or cancelled it; else null.",
  ),
  decided_at: NullableTimestamp("When it was decided; null before that."),
  decision: NullableString("Reason given with the decision."),
  finished_at: NullableTimestamp("When it reached a final status; null before that."),
  operation_id: NullableString("Id of the operation that the call started; null if there is none."),
  result: Type.Unknown({
    description: "The answer of the call; null before that. A secret is shown only in the answer to the approver.",
  }),
  error: OperationError,
  revision: Type.Integer({ description: "Revision; it increases with each change." }),
});
export type Approval = Static<typeof Approval>;

export const ApprovalList = Type.Object({
  approvals: Type.Array(Approval, { description: "Newest first." }),
  revision: Type.Integer({ description: "Value for `since`: the newest change that this key may see." }),
  ...CountedListShape,
});
export type ApprovalList = Static<typeof ApprovalList>;

export const ApprovalInput = Options({
  reason: Reason("Reason for the decision; it is recorded in the audit log."),
  plan_digest: Type.String({
    minLength: 1,
    maxLength: 64,
    examples: ["mjAcZmCwLLTx-xRib9lmj6T_IoSnNUfsVVqxu7xhef8"],
    description: "`plan_digest` of the plan that was shown; no other plan is approved.",
  }),
});

export const DecisionInput = Options({ reason: Reason("Reason for the decision; it is recorded in the audit log.") });

/** The answer 202 to a mutation that waits for the approval of others. */
export class Parked {
  readonly approval: Approval;

  constructor(approval: Approval) {
    this.approval = approval;
  }
}

const ApprovalId = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 64, description: "Id of the approval." }),
});

const Wait = Type.String({
  pattern: "^\\d{1,9}(?:ms|s|m)?$",
  examples: ["30s"],
  description: "How long to wait for a change, up to `60s`; seconds without a unit.",
});

export const approvals = {
  listApprovals: {
    method: "GET",
    path: "/approvals",
    tag: "Access",
    summary: "Calls that wait for approval, and past ones",
    description:
      "Approvals that this key has proposed or could approve. With `wait` the answer is sent at the next change, or after that time; with `since` at once if something has changed since that `revision`, so that no change is missed between two requests.",
    scope: "self",
    effect: "read",
    takesLong: true,
    query: Options({
      status: Choice(approvalStatuses, "Only approvals in this status."),
      wait: Wait,
      since: Type.Integer({ minimum: 0, description: "`revision` of an earlier answer." }),
      limit: Type.Integer({ ...approvalListLimit, description: "Maximum approvals." }),
      cursor: Cursor,
    }),
    response: ApprovalList,
    errors: [],
  },
  getApproval: {
    method: "GET",
    path: "/approvals/{id}",
    tag: "Access",
    summary: "One approval",
    description:
      "With `wait` the answer is sent when the approval changes, or after that time; at once if its status is final.",
    scope: "self",
    effect: "read",
    takesLong: true,
    params: ApprovalId,
    query: Options({
      wait: Wait,
      since: Type.Integer({ minimum: 0, description: "`revision` of an earlier answer." }),
    }),
    response: Approval,
    errors: ["NOT_FOUND"],
  },
  approve: {
    method: "POST",
    path: "/approvals/{id}/approve",
    tag: "Access",
    summary: "Approve a call; it runs when enough keys have approved",
    description:
      "Needs a key other than the proposer's, with all scopes of the call, not narrowed. The call is planned again: if the plan has changed, it waits for a new decision, and the answer is `CONFLICT` with `details.reason` `plan_changed` and the approval. Outside a window it is refused, unless `X-Window-Override` gives a reason not to wait. The call runs with the rights of the proposer, whose key must still be valid.",
    scope: "self",
    effect: "danger",
    doesMore: "approved",
    params: ApprovalId,
    query: DryRunQuery,
    body: ApprovalInput,
    response: Approval,
    errors: ["NOT_FOUND", "CONFLICT"],
  },
  deny: {
    method: "POST",
    path: "/approvals/{id}/deny",
    tag: "Access",
    summary: "Deny a call",
    description: "Needs a key that could approve it. Denying it again gives the same answer.",
    scope: "self",
    effect: "write",
    params: ApprovalId,
    query: DryRunQuery,
    body: DecisionInput,
    response: Approval,
    errors: ["NOT_FOUND", "CONFLICT"],
  },
  cancelApproval: {
    method: "POST",
    path: "/approvals/{id}/cancel",
    tag: "Access",
    summary: "Withdraw a proposal",
    description: "Needs the key that proposed it. Cancelling it again gives the same answer.",
    scope: "self",
    effect: "write",
    params: ApprovalId,
    query: DryRunQuery,
    body: DecisionInput,
    response: Approval,
    errors: ["NOT_FOUND", "CONFLICT"],
  },
} as const satisfies Operations;
