import type { FastifyContextConfig, FastifyRequest } from "fastify";
import type { ErrorCode } from "#contract/errors.ts";
import type { Caller, Operation } from "#contract/operation.ts";
import type { Dispose } from "#kernel/clock.ts";
import type { RequestSpan } from "#telemetry/tracing.ts";
import type { RouteAccess } from "./admission.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface RequestRecord {
  route: FastifyContextConfig | undefined;
  /** As reported by trusted proxies; null where the connection was gone already. */
  remoteAddress: string | null;
  span: RequestSpan | undefined;
  /** Set as soon as the credential is accepted, admitted or not. */
  caller: Caller | undefined;
  isAdmitted: boolean;
  /** Settles with the handler; undefined when it was not called. */
  work: Promise<unknown> | undefined;
  error: { readonly code: ErrorCode; readonly field: string | undefined } | undefined;
  /** Whether it is a success whose body says that the operation failed. */
  isUnsuccessful: boolean;
  /** Whether the answer is that of an earlier request with the same idempotency key. */
  isReplay: boolean;
  /** Keeps the answer for repetitions and continues those that wait; undefined without an idempotency key. */
  endTurn: ((answer: Answer | undefined) => void) | undefined;
  touched: Readonly<Record<string, string>> | undefined;
  forgetBegun: Dispose | undefined;
  isAudited: boolean;
  isLogged: boolean;
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** Absent on paths that have no operation. */
    access?: RouteAccess;
    /** Instead of `access` where it depends on the request; undefined where the path does not exist for it. */
    accessOf?: (request: FastifyRequest) => RouteAccess | undefined;
    endpoint?: string;
    audit?: { readonly name: string; readonly operation: Operation };
  }
  interface FastifyRequest {
    record: RequestRecord;
  }
}

/** All fields from the start, so that every record has one shape. */
export const createRequestRecord = (): RequestRecord => ({
  route: undefined,
  remoteAddress: null,
  span: undefined,
  caller: undefined,
  isAdmitted: false,
  work: undefined,
  error: undefined,
  isUnsuccessful: false,
  isReplay: false,
  endTurn: undefined,
  touched: undefined,
  forgetBegun: undefined,
  isAudited: false,
  isLogged: false,
});

export const isDryRun = ({ query }: FastifyRequest): boolean =>
  typeof query === "object" && query !== null && "dry_run" in query && query.dry_run === "true";
