import type { ApprovalStatus } from "#contract/approvals.ts";
import type { ErrorCode } from "#contract/errors.ts";
import type { Caller, Plan } from "#contract/operation.ts";
import type { OperationError } from "#contract/operation-entry.ts";
import type { Scope } from "#contract/scopes.ts";

/** Anyone who has decided something. Times are epoch milliseconds. */
export interface ApprovalParty {
  readonly keyId: string;
  readonly keyName: string;
  readonly reason: string | null;
  readonly at: number;
}

/** What becomes of an approval without a call to the API, which would have an entry of its own in the audit log. */
export interface ApprovalEvent {
  /** Reopened: it was approved, and waits for a decision again. */
  readonly name: "approval.expired" | "approval.failed" | "approval.reopened";
  readonly at: number;
  readonly error: ErrorCode | null;
  /** `details.reason` of the error. */
  readonly reason?: string;
}

/** A call that waits for the approval of others, or has waited for it, as JSON can keep it. */
export interface ApprovalRecord {
  readonly id: string;
  /** Grows with each change of any record. */
  readonly revision: number;
  readonly status: ApprovalStatus;
  readonly operation: string;
  /** As it was checked; without secrets once the call can no longer run. */
  readonly input: object;
  /** Of the input as it was checked, to recognise a repetition. */
  readonly inputDigest: string;
  readonly needs: readonly { readonly scope: Scope; readonly resource?: string; readonly isRefinedLater?: true }[];
  readonly plan: Plan;
  readonly digest: string;
  /** The lines of the plan that its digest is of, to show what has changed; null once it has ended, or where they are too many. */
  readonly compared?: readonly string[] | null;
  readonly changed: { readonly added: readonly string[]; readonly missing: readonly string[] } | null;
  readonly proposer: {
    readonly keyId: string;
    readonly keyName: string;
    readonly credential: Caller["credential"];
    /** The scopes as they were given, hosts included. */
    readonly granted: readonly string[];
    readonly expiresAt: number | null;
  };
  readonly reason: string | null;
  readonly idempotencyKey: string | null;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly required: number;
  readonly approvals: readonly ApprovalParty[];
  readonly decidedBy: ApprovalParty | null;
  readonly finishedAt: number | null;
  /** The window that anyone who approved has overridden. */
  readonly override: string | null;
  readonly operationId: string | null;
  readonly result: unknown;
  readonly error: OperationError | null;
  /** An event that the audit log may lack. */
  readonly unaudited?: ApprovalEvent;
}

/** Keeps approvals over restarts. What is saved is on the disk when it returns, whole or not at all. */
export interface ApprovalStore {
  /** Oldest first. */
  readonly list: () => readonly ApprovalRecord[];
  /** Adds it, or replaces the one with its id. @throws HostUnavailable where it cannot be kept. */
  readonly save: (record: ApprovalRecord) => void;
  readonly remove: (ids: readonly string[]) => void;
}

/** Seals plan tokens, and remembers which were used. What a restart of the service must not forget is on the disk. */
export interface PlanSeals {
  readonly newId: () => string;
  /** A digest of a text, base64url. */
  readonly digest: (text: string) => string;
  /** An authentication code of a text by a secret of this host, base64url. */
  readonly sign: (text: string) => string;
  /** Compares in constant time. */
  readonly isSigned: (text: string, code: string) => boolean;
  /** Which request has used a plan; undefined while none has. */
  readonly userOf: (id: string) => string | undefined;
  /**
   * Records that a plan is used, before it is carried out.
   * @param by distinguishes the request from others.
   * @param forgetAfter epoch milliseconds.
   * @returns false when it was used already.
   * @throws HostUnavailable when that cannot be recorded.
   */
  readonly use: (id: string, by: string, forgetAfter: number) => boolean;
}
