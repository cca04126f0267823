import type { Socket } from "node:net";
import type { FastifyContextConfig, FastifyRequest } from "fastify";
import type { ErrorCode } from "#contract/errors.ts";
import type { Caller, Operation } from "#contract/operation.ts";
import type { Held } from "#domain/access/window-gate.ts";
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
  /** The connection of the client, also of a relayed call. */
  socket: Socket | undefined;
  /** Of a page elsewhere that the settings admit. Only what such a page sends itself is a credential. */
  foreignOrigin: string | undefined;
  span: RequestSpan | undefined;
  /** Set as soon as the credential is accepted, admitted or not. */
  caller: Caller | undefined;
  isAdmitted: boolean;
  /** Whether it is known to wait for the approval of others. */
  waits: boolean;
  /** The window that would hold back what a dry run plans. */
  held: Held | undefined;
  /** The window that the caller has overridden, and why. */
  override: { readonly window: string; readonly reason: string } | undefined;
  /** Settles with the handler; undefined when it was not called. */
  work: Promise<unknown> | undefined;
  error: { readonly code: ErrorCode; readonly field: string | undefined } | undefined;
  /** Whether it is a success whose body says that the operation failed. */
  isUnsuccessful: boolean;
  /** Whether the answer has a secret that is shown once, beside those of rows that always have one. */
  hasSecret: boolean;
  /** Whether the answer is that of an earlier request with the same idempotency key. */
  isReplay: boolean;
  /** Keeps the answer for repetitions and continues those that wait; undefined without an idempotency key. */
  endTurn: ((answer: Answer | undefined) => void) | undefined;
  touched: Readonly<Record<string, string>> | undefined;
  /** Releases the memory of the answer, once nothing reads it any more. */
  release: Dispose | undefined;
  forgetStarted: Dispose | undefined;
  isAudited: boolean;
  isLogged: boolean;
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** Absent on paths that have no operation. */
    access?: RouteAccess;
    /** Where it depends on the request; undefined where the path does not exist for it. */
    routeOf?: (request: FastifyRequest) => Pick<FastifyContextConfig, "access" | "endpoint"> | undefined;
    endpoint?: string;
    /** Whether its answers may begin later than a connection may be idle; that of its operation unless given. */
    takesLong?: true;
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
  socket: undefined,
  foreignOrigin: undefined,
  span: undefined,
  caller: undefined,
  isAdmitted: false,
  waits: false,
  held: undefined,
  override: undefined,
  work: undefined,
  error: undefined,
  isUnsuccessful: false,
  hasSecret: false,
  isReplay: false,
  endTurn: undefined,
  touched: undefined,
  release: undefined,
  forgetStarted: undefined,
  isAudited: false,
  isLogged: false,
});

export const isDryRun = ({ query }: FastifyRequest): boolean =>
  typeof query === "object" && query !== null && "dry_run" in query && query.dry_run === "true";
