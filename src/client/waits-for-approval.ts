import type { Approval } from "#contract/approvals.ts";

/** The service has not done it: the call waits until others have approved it. */
export class WaitsForApproval extends Error {
  override readonly name = "WaitsForApproval";
  readonly approval: Approval;

  constructor(approval: Approval) {
    super(`nothing was done yet: the call waits for approval ${approval.id}, until ${approval.expires_at}`);
    this.approval = approval;
  }
}
