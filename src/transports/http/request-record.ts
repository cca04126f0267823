import type { FastifyContextConfig, FastifyRequest } from "fastify";
import type { ErrorCode } from "#contract/errors.ts";
import type { Caller, Operation } from "#contract/operation.ts";
import type { Dispose } from "#kernel/clock.ts";
import type { RequestSpan } from "#telemetry/tracing.ts";
import type { RouteAccess } from "./admission.ts";

/** An answer as it left. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What is known about a request on its way; {@link createRequestRecord} makes one for each. */
export interface RequestRecord {
  /** Its route; undefined for a path that has none. */
  route: FastifyContextConfig | undefined;
  /** Where it came from, as far as trusted proxies say; null where its connection was gone before that could be asked. */
  remoteAddress: string | null;
  /** Undefined where nothing is traced. */
  span: RequestSpan | undefined;
  /** Known as soon as the credential is accepted, admitted or not. */
  caller: Caller | undefined;
  /** Whether it passed the host guard and admission. */
  isAdmitted: boolean;
  /** Settles with the handler; undefined when the handler was never called. */
  work: Promise<unknown> | undefined;
  /** The error it was answered with. */
  error: { readonly code: ErrorCode; readonly field: string | undefined } | undefined;
  /** Whether the answer is a success whose body says that the operation failed. */
  isUnsuccessful: boolean;
  /** Whether its answer is that of an earlier request with the same idempotency key. */
  isReplay: boolean;
  /** Keeps the answer for repetitions and lets those that wait go on; undefined without an idempotency key. */
  endTurn: ((answer: Answer | undefined) => void) | undefined;
  /** What the handler named for the audit log. */
  touched: Readonly<Record<string, string>> | undefined;
  /** Removes the audit log's note that the request was begun. */
  forgetBegun: Dispose | undefined;
  /** Whether its audit entry is written. */
  isAudited: boolean;
  /** Whether log line and metrics are written. */
  isLogged: boolean;
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** Who may use the route; absent on paths that have no operation. */
    access?: RouteAccess;
    /** The same where it depends on the request; undefined where there is no such path for it. */
    accessOf?: (request: FastifyRequest) => RouteAccess | undefined;
    /** Route template, the label of the metrics. */
    endpoint?: string;
    /** The operation, which says whether calls to it go into the audit log. */
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

/** Whether a mutation was asked for its plan alone. */
export const isDryRun = ({ query }: FastifyRequest): boolean =>
  typeof query === "object" && query !== null && "dry_run" in query && query.dry_run === "true";
