import type { ErrorCode } from "#contract/errors.ts";

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
    details: Readonly<Record<string, unknown>> | undefined;
    requestId: string | undefined;
  }) {
    super(answer.message);
    this.code = answer.code;
    this.status = answer.status;
    this.details = answer.details;
    this.requestId = answer.requestId;
  }
}
