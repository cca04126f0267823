import type { FastifyInstance, FastifyRequest } from "fastify";
import type { ErrorCode } from "#contract/errors.ts";
import type { Caller, Operation } from "#contract/operation.ts";
import type { Dispose } from "#kernel/clock.ts";
import type { RequestSpan } from "#telemetry/tracing.ts";
import type { RouteAccess } from "./admission.ts";

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
    caller: Caller | undefined;
    /** What its route says; undefined for a path that has none. */
    route: FastifyContextConfig | undefined;
    /** Where it came from, as far as trusted proxies say; null where its connection was gone before that could be asked. */
    remoteAddress: string | null;
    /** The handler at work; undefined when it was never called. */
    work: Promise<unknown> | undefined;
    /** Whether log line, metrics and audit entry are written. */
    isRecorded: boolean;
    /** Its span; undefined where nothing is traced. */
    span: RequestSpan | undefined;
    /** Whether guard and admission have let it pass. */
    isLetIn: boolean;
    /** The error that it was answered with; undefined when it was answered with none. */
    fault: { readonly code: ErrorCode; readonly field: string | undefined } | undefined;
    /** Whether its answer is that of an earlier request with the same idempotency key. */
    isReplay: boolean;
    /** Whether the answer is in order and says that what was asked for did not come about. */
    isUnsuccessful: boolean;
    /** Whether it has its entry in the audit log. */
    isAudited: boolean;
    /** Takes back the note that it was begun; undefined where nothing was. */
    forgetBegun: Dispose | undefined;
    /** What the handler named for the audit log. */
    touched: Readonly<Record<string, string>> | undefined;
  }
}

/** Gives every request what is kept about it on its way, in one shape. */
export function decorateRequests(app: FastifyInstance): void {
  app.decorateRequest("caller", undefined);
  app.decorateRequest("route", undefined);
  app.decorateRequest("remoteAddress", null);
  app.decorateRequest("work", undefined);
  app.decorateRequest("isRecorded", false);
  app.decorateRequest("span", undefined);
  app.decorateRequest("isLetIn", false);
  app.decorateRequest("fault", undefined);
  app.decorateRequest("isReplay", false);
  app.decorateRequest("isUnsuccessful", false);
  app.decorateRequest("isAudited", false);
  app.decorateRequest("forgetBegun", undefined);
  app.decorateRequest("touched", undefined);
}

/** Whether a mutation was asked for its plan alone. */
export const isDryRun = ({ query }: FastifyRequest): boolean =>
  typeof query === "object" && query !== null && "dry_run" in query && query.dry_run === "true";
