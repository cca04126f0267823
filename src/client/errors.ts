import type { Approval } from "#contract/approvals.ts";
import type { ErrorCode } from "#contract/errors.ts";

/** The service has not done it: the call waits until others have approved it. */
export class WaitsForApproval extends Error {
  override readonly name = "WaitsForApproval";
  readonly approval: Approval;

  constructor(approval: Approval) {
    super(`nothing was done yet: the call waits for approval ${approval.id}, until ${approval.expires_at}`);
    this.approval = approval;
  }
}

/** The service refused a call, or what answered is not the service (`UNREADABLE`). */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ErrorCode | "UNREADABLE";
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly requestId: string | undefined;

  constructor(answer: {
    code: ErrorCode | "UNREADABLE";
    message: string;
    status: number;
    details?: Readonly<Record<string, unknown>> | undefined;
    requestId?: string | undefined;
  }) {
    super(answer.message);
    this.code = answer.code;
    this.status = answer.status;
    this.details = answer.details;
    this.requestId = answer.requestId;
  }
}

/** Whether the same request may succeed later: the service starts, has too much to do, or something stands in its place. */
export const mayPass = ({ code, status }: ApiError): boolean =>
  ["RATE_LIMITED", "UNAVAILABLE", "INTERNAL_ERROR"].includes(code) || (code === "UNREADABLE" && status >= 400);
