import { type Caller, type Context, EventStream, type Operation, type Operations } from "#contract/operation.ts";
import { Accepted, isUnsuccessful, type OperationError, type OperationStatus } from "#contract/operation-entry.ts";
import { DomainError } from "#domain/common/error.ts";
import { basisOf, type GroundedPlan, isPlan } from "#domain/common/plan.ts";
import type { KeyRecord } from "#domain/ports/access.ts";
import type { ApprovalEvent, ApprovalRecord } from "#domain/ports/approvals.ts";
import type { Clock } from "#kernel/clock.ts";
import { defined, isRecord } from "#kernel/values.ts";
import type { ApprovalBook } from "./approval-book.ts";
import { asProposer } from "./approval-rules.ts";
import { toApproval, withoutSecrets } from "./approval-view.ts";
import { mutationNeeds, type Need, needText } from "./needs.ts";
import { asDryRun, changeOf, type PlanTokens, storedLines } from "./plan-tokens.ts";
import { notCovered, scopesOn } from "./scopes.ts";
import { type WindowGate, windowRefusal } from "./window-gate.ts";

type Touched = Readonly<Record<string, string>>;

export interface RunEnd {
  readonly error: OperationError | null;
  readonly isUnsuccessful: boolean;
  readonly touched: Touched;
}

interface KnownOperation {
  readonly spec: { readonly id: string; readonly idempotencyKey: string | null };
  readonly state: { readonly status: OperationStatus; readonly result: unknown; readonly error: OperationError | null };
}

export interface RunPorts {
  readonly book: ApprovalBook;
  readonly table: Operations;
  /** The handler of each row, as it is called over any transport. */
  readonly handlerOf: (name: string) => ((input: object, context: Context) => unknown) | undefined;
  readonly plans: Pick<PlanTokens, "digestOf">;
  readonly findKey: (id: string) => KeyRecord | undefined;
  readonly hostName: () => string;
  readonly windows: Pick<WindowGate, "held">;
  readonly operations: {
    readonly get: (id: string) => KnownOperation | undefined;
    readonly list: () => readonly KnownOperation[];
  };
  /** Notes in the audit log that the call begins. @returns writes how it has ended. */
  readonly audit: (record: ApprovalRecord) => (end: RunEnd) => void;
  readonly clock: Pick<Clock, "now">;
  /** Fires when the service stops. */
  readonly stopping: AbortSignal;
  readonly onTrouble: (error: unknown) => void;
}

const maxResultChars = 64 * 1024;

/** Names the run of an approval, so that an operation that it has started is found again, and not started twice. */
export const runKey = (id: string): string => `approval ${id}`;

export const planHasChanged = (record: ApprovalRecord): DomainError =>
  new DomainError(
    "CONFLICT",
    "cannot approve it: the plan has changed since it was made (`details.approval` has the new one, which waits for a decision)",
    { reason: "plan_changed", approval: toApproval(record), retryable: false },
  );

export const asError = (error: unknown): OperationError =>
  error instanceof DomainError
    ? { code: error.code, message: error.message, ...(error.details && { details: error.details }) }
    : { code: "INTERNAL_ERROR", message: "it failed for a reason that the log of the service has" };

const reasonIn = ({ details }: OperationError): string | undefined => {
  const reason = details?.["reason"];
  return typeof reason === "string" ? reason : undefined;
};

/** An event that the audit log has of an error that no call was answered with. */
export function eventOf(
  name: ApprovalEvent["name"],
  error: OperationError,
  { now }: Pick<Clock, "now">,
): ApprovalEvent {
  return { name, at: now(), error: error.code, ...defined({ reason: reasonIn(error) }) };
}

/** Ends an approval whose call was not carried out, or nobody knows how far. */
export const fail = (
  record: ApprovalRecord,
  error: OperationError,
  { book, clock }: Pick<RunPorts, "book" | "clock">,
): ApprovalRecord =>
  book.finish(record, { status: "failed", error, unaudited: eventOf("approval.failed", error, clock) });

export const failure = (reason: "outcome_unknown" | "answer_lost", message: string): OperationError => ({
  code: "CONFLICT",
  message,
  details: { reason, retryable: false },
});

function resourceOf({ resource }: Operation, input: object): string | undefined {
  const params = "params" in input && isRecord(input.params) ? input.params : {};
  return resource?.(params as Readonly<Record<string, string>>);
}

/** The caller as whom an approved call runs. @throws DomainError where its rights have ended since. */
export function proposerOf(
  { proposer }: ApprovalRecord,
  ports: Pick<RunPorts, "findKey" | "hostName" | "clock">,
): Caller {
  const { keyId, keyName, credential, granted, expiresAt } = proposer;
  const scopes = scopesOn(granted, ports.hostName);
  if (credential === "socket") return asProposer({ keyId, keyName, credential, scopes, granted, expiresAt: null });
  const key = ports.findKey(keyId);
  const gone = (why: string): DomainError =>
    new DomainError("CONFLICT", `cannot carry it out: the key ${keyId} (${keyName}), which has proposed it, ${why}`, {
      reason: "proposer_gone",
      retryable: false,
    });
  if (key === undefined) throw gone("is no longer known");
  if (key.revokedAt !== null) throw gone("was revoked");
  if (key.expiresAt !== null && key.expiresAt <= ports.clock.now()) throw gone("has expired");
  const [missing] = notCovered(key.scopes, granted);
  if (missing !== undefined) throw gone(`lacks the scope ${missing}`);
  return asProposer({ keyId, keyName, credential, scopes, granted, expiresAt: expiresAt ?? key.expiresAt });
}

function contextOf(caller: Caller, { stopping, onTrouble }: RunPorts, own: Partial<Context>): Context {
  return {
    caller,
    signal: () => stopping,
    prefersAsync: () => true,
    prefersWaitMs: () => undefined,
    idempotencyKey: () => undefined,
    windowOverride: () => undefined,
    answerIsSecret: () => undefined,
    checkWindows: () => undefined,
    touched: () => undefined,
    planned: () => undefined,
    drawsOn: () => undefined,
    login() {
      throw new Error("cannot sign in: a call that was approved has no request");
    },
    tools: () => undefined,
    afterReply: (task) => void task().catch(onTrouble),
    ...own,
  };
}

export interface PlanAgain {
  readonly plan: GroundedPlan;
  readonly digest: string;
  readonly needs: ApprovalRecord["needs"];
}

export const storedNeeds = (needs: readonly Need[]): ApprovalRecord["needs"] => {
  const distinct = new Map(needs.map((need) => [needText(need), need]));
  return [...distinct.values()].map(({ scope, resource, isRefinedLater }) => ({
    scope,
    ...(resource !== undefined && { resource }),
    ...(isRefinedLater === true && { isRefinedLater }),
  }));
};

export const needsIn = ({ needs }: Pick<ApprovalRecord, "needs">): readonly Need[] =>
  needs.map((need) => ({ resource: undefined, ...need }));

/** Plans a call again, as its proposer. @throws what the dry run throws. */
export async function planAgain(record: ApprovalRecord, caller: Caller, ports: RunPorts): Promise<PlanAgain> {
  const { operation: name, input } = record;
  const row = ports.table[name];
  const handle = ports.handlerOf(name);
  if (row === undefined || handle === undefined)
    throw new DomainError("CONFLICT", `cannot carry it out: this version has no operation ${name}`);
  const needs: Need[] = [...mutationNeeds(row, resourceOf(row, input))];
  const checkWindows: Context["checkWindows"] = (scope, resource) => void needs.push({ scope, resource });
  const plan = await handle(asDryRun(input), contextOf(caller, ports, { checkWindows }));
  if (!isPlan(plan)) throw new Error(`cannot plan ${name}: its dry run has no plan`);
  return { plan, digest: ports.plans.digestOf(plan), needs: storedNeeds(needs) };
}

export const isSame = (record: ApprovalRecord, { digest, needs }: PlanAgain): boolean =>
  digest === record.digest &&
  needs.every((need) => record.needs.some((each) => needText(each as Need) === needText(need as Need)));

/** The record with the plan of now, which nobody has approved. */
export function replanned(record: ApprovalRecord, again: PlanAgain): ApprovalRecord {
  const { plan, digest, needs } = again;
  const undecided = { status: "pending", approvals: [], decidedBy: null, override: null } as const;
  const changed = changeOf(record, again);
  return { ...record, plan, digest, compared: storedLines(plan), needs, changed, ...undecided };
}

/** The last event of an answer in pieces. */
async function lastOf({ events }: EventStream): Promise<{ readonly result: unknown; readonly hasFailed: boolean }> {
  let last: { readonly event: string; readonly data: object } | undefined;
  for await (const event of events) last = event;
  return { result: last?.data ?? null, hasFailed: last?.event === "error" };
}

/** What is kept of a result. */
function keptResult(result: unknown, { answerIsSecret }: Operation, touched: Touched): unknown {
  if (answerIsSecret === true) return touched;
  const plain = withoutSecrets(result);
  return JSON.stringify(plain ?? null).length <= maxResultChars ? plain : { omitted: "the answer is too long" };
}

export interface Ended {
  readonly record: ApprovalRecord;
  /** With the secrets that are shown once. */
  readonly result: unknown;
  readonly hasSecret: boolean;
}

export type AfterReply = Context["afterReply"];

/** Carries out a call that is recorded as running. */
export async function carryOut(
  record: ApprovalRecord,
  caller: Caller,
  again: PlanAgain,
  ports: RunPorts,
  afterReply: AfterReply | undefined,
): Promise<Ended> {
  const { book, table, handlerOf } = ports;
  const row = table[record.operation] as Operation;
  const handle = handlerOf(record.operation);
  let touched: Touched = {};
  const context = contextOf(caller, ports, {
    idempotencyKey: () => runKey(record.id),
    planned: () => ({ transaction: basisOf(again.plan).transaction, requireUnchanged: () => undefined }),
    touched: (target) => {
      touched = target;
    },
    checkWindows(scope, resource) {
      const need: Need = { scope, resource };
      if (!needsIn(record).some((each) => needText(each) === needText(need)))
        throw new DomainError("CONFLICT", `cannot use ${needText(need)}: nobody has approved that`);
      const held = record.override === null ? ports.windows.held(need) : undefined;
      if (held !== undefined) throw windowRefusal(held);
    },
    ...(afterReply && { afterReply }),
  });
  const audited = ports.audit(record);
  const finish = (error: OperationError | null, isUnsuccessful: boolean, result: unknown): Ended => {
    audited({ error, isUnsuccessful, touched });
    const status = error !== null || isUnsuccessful ? "failed" : "done";
    const kept = error === null ? keptResult(result, row, touched) : null;
    const hasSecret = row.answerIsSecret === true && error === null;
    return { record: book.finish(record, { status, error, result: kept }), result, hasSecret };
  };
  try {
    const answer = await handle?.(record.input, context);
    if (answer instanceof Accepted) {
      audited({ error: null, isUnsuccessful: false, touched });
      const started = book.put({ ...record, operationId: answer.operation.id });
      return { record: followed(started, ports), result: null, hasSecret: false };
    }
    if (!(answer instanceof EventStream)) return finish(null, isUnsuccessful(answer), answer);
    const { result, hasFailed } = await lastOf(answer);
    return finish(null, hasFailed, result);
  } catch (error) {
    if (!(error instanceof DomainError)) ports.onTrouble(error);
    return finish(asError(error), false, null);
  }
}

/** The record with the end of its operation, where that has ended. */
export function followed(
  record: ApprovalRecord,
  { book, operations, clock }: Pick<RunPorts, "book" | "operations" | "clock">,
): ApprovalRecord {
  if (record.status !== "running" || record.operationId === null) return record;
  const operation = operations.get(record.operationId);
  if (operation === undefined) {
    const why = `its operation ${record.operationId} is no longer known, so its outcome is unknown`;
    return fail(record, failure("outcome_unknown", why), { book, clock });
  }
  const { status, result, error } = operation.state;
  if (status !== "done" && status !== "failed") return record;
  const hasFailed = error !== null || status === "failed" || isUnsuccessful(result);
  return book.finish(record, { status: hasFailed ? "failed" : "done", error, result: withoutSecrets(result) });
}
