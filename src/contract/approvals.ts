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
  id: Type.String({ description: "Sorts by the time of creation." }),
  status: Choice(
    approvalStatuses,
    "`pending`: waits for a decision. `approved`: is about to run. `denied`, `expired`, `cancelled`, `done` and `failed` are final.",
  ),
  operation: Type.String({ description: "Name of the operation that was called.", examples: ["applyUpdates"] }),
  arguments: Type.Unsafe<Readonly<Record<string, unknown>>>({
    type: "object",
    additionalProperties: true,
    description: "`params`, `query` and `body` of the call, without secrets.",
  }),
  scopes: Type.Array(Type.String(), { description: "What the call takes; whoever approves has all of them in full." }),
  plan: Type.Object(callPlan, { description: "What it would do, as its dry run says." }),
  plan_digest: Type.String({
    description: "Changes with the plan. Sent with the approval, it is for this plan alone.",
  }),
  changed: Type.Unsafe<{ readonly added: readonly string[]; readonly missing: readonly string[] } | null>({
    type: ["object", "null"],
    properties: {
      added: { type: "array", items: { type: "string" }, description: "Steps that it has and the other had not." },
      missing: { type: "array", items: { type: "string" }, description: "Steps that the other had." },
    },
    required: ["added", "missing"],
    description: "Steps by which the plan differs from the one before, where it had to be made anew; null otherwise.",
  }),
  proposer: Type.Object(party, { description: "Whose call it is, as whom it runs." }),
  reason: NullableString("Why, in the words of the proposer."),
  created_at: Timestamp("When it was proposed."),
  expires_at: Timestamp("Until when it can be approved."),
  approvers: Type.Integer({ minimum: 1, description: "How many others have to approve." }),
  approvals: Type.Array(
    Type.Object({
      ...party,
      reason: NullableString("What they said about it."),
      approved_at: Timestamp("When they approved."),
    }),
    { description: "Who has approved the present plan." },
  ),
  decided_by: NullableParty(
    "Who decided: the last of those who approved, or whoever denied or cancelled it; else null.",
  ),
  decided_at: NullableTimestamp("When; null before."),
  decision: NullableString("What whoever decided said about it."),
  finished_at: NullableTimestamp("When it reached a final status; null before."),
  operation_id: NullableString("The operation that goes on by itself, where there is one."),
  result: Type.Unknown({
    description: "What the call answered; null before. A secret is only in the answer to whoever approved.",
  }),
  error: OperationError,
  revision: Type.Integer({ description: "Grows with each change." }),
});
export type Approval = Static<typeof Approval>;

export const ApprovalList = Type.Object({
  approvals: Type.Array(Approval, { description: "Newest first." }),
  revision: Type.Integer({ description: "For `since`: the newest change of what this key may see." }),
  ...CountedListShape,
});
export type ApprovalList = Static<typeof ApprovalList>;

export const ApprovalInput = Options({
  reason: Reason("What you say about it; in the audit log."),
  plan_digest: Type.String({
    minLength: 1,
    maxLength: 64,
    examples: ["mjAcZmCwLLTx-xRib9lmj6T_IoSnNUfsVVqxu7xhef8"],
    description: "`plan_digest` of the plan that was shown: no other plan is approved.",
  }),
});

export const DecisionInput = Options({ reason: Reason("What you say about it; in the audit log.") });

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
    summary: "Calls that wait for approval, and what became of others",
    description:
      "Those that this key has proposed, or could approve. With `wait` the answer comes with the next change, or after that time; with `since` at once where something has changed since that `revision`, so that nothing is missed between two requests.",
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
      "With `wait` the answer comes when it changes, or after that time: at once for one with a final status.",
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
    summary: "Approve a call; when enough have, it is carried out",
    description:
      "By another key than the proposer's, with all scopes of the call in full. It is planned again: where the plan has changed it waits for a decision again, and the answer is `CONFLICT` with `details.reason` `plan_changed` and the approval. Outside a window it is refused, unless `X-Window-Override` says why not to wait. It runs as the proposer, whose key has to be good still.",
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
    description: "By whoever could approve it. Denying it again answers the same.",
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
    summary: "Take a proposal back",
    description: "By the key that has proposed it. Cancelling it again answers the same.",
    scope: "self",
    effect: "write",
    params: ApprovalId,
    query: DryRunQuery,
    body: DecisionInput,
    response: Approval,
    errors: ["NOT_FOUND", "CONFLICT"],
  },
} as const satisfies Operations;
