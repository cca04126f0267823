import type { FastifyRequest } from "fastify";
import type { Parked } from "#contract/approvals.ts";
import type { Caller, Context, Operation, Planned } from "#contract/operation.ts";
import { type ApprovalGate, proposalReasonForm, proposalReasonHeader } from "#domain/access/approval-gate.ts";
import { mutationNeeds, type Need } from "#domain/access/needs.ts";
import {
  asDryRun,
  demandsPlan,
  type PlannedCall,
  type PlanTokens,
  planChanged,
  planRequired,
  planTokenHeader,
  planUsed,
} from "#domain/access/plan-tokens.ts";
import { heldDetails, heldMessage } from "#domain/access/window-gate.ts";
import { DomainError, invalid } from "#domain/common/error.ts";
import { basisOf, type GroundedPlan, isPlan } from "#domain/common/plan.ts";
import { defined, isRecord } from "#kernel/values.ts";
import { isDryRun } from "./request-record.ts";

interface MutationCall {
  readonly name: string;
  readonly operation: Operation;
  readonly request: FastifyRequest;
  /** Checked. */
  readonly input: object;
  readonly context: Context;
}

type Handle = (input: object, context: Context) => unknown;

const headerName = planTokenHeader.toLowerCase();

function plannedCallOf({ name, input, context }: MutationCall): PlannedCall {
  const { dry_run: _, ...query } = "query" in input && isRecord(input.query) ? input.query : {};
  return { keyId: context.caller?.keyId ?? "", operation: name, input: { ...input, query } };
}

/** Sent twice, it has a comma, which no token has. */
const tokenOf = ({ headers }: FastifyRequest): string | undefined => headers[headerName]?.toString();

/** @throws DomainError for a malformed reason, also where nothing is proposed. */
function proposalReasonOf({ headers, record }: FastifyRequest): string | undefined {
  // In any language, which a header is not.
  if (record.caller?.via !== undefined) return record.caller.via.reason;
  const text = headers[proposalReasonHeader.toLowerCase()]?.toString();
  if (text === undefined || proposalReasonForm.test(text)) return text;
  throw invalid(proposalReasonHeader, "Must be a reason of 1 to 200 printable ASCII characters");
}

/** Planning takes time; nothing is started that nobody waits for any more, so that its plan is good still. @throws DomainError */
function requireAwaited({ context }: MutationCall): void {
  if (!context.signal().aborted) return;
  throw new DomainError("UNAVAILABLE", "cannot carry out the plan: the client has gone, or the service stops", {
    retryable: true,
  });
}

async function plan(call: MutationCall, handle: Handle): Promise<GroundedPlan> {
  const answer = await handle(asDryRun(call.input), call.context);
  if (!isPlan(answer)) throw new Error(`cannot plan ${call.name}: its dry run has no plan`);
  return answer;
}

interface PlannedWithNeeds {
  readonly planned: GroundedPlan;
  readonly needs: readonly Need[];
}

/** The plan of a call as its caller may propose it, and all that it takes. */
async function planWithNeeds(call: MutationCall, caller: Caller, handle: Handle): Promise<PlannedWithNeeds> {
  const { operation, request, context } = call;
  const resource = operation.resource?.(request.params as Record<string, string>);
  const needs: Need[] = [...mutationNeeds(operation, resource)];
  const checkWindows: Context["checkWindows"] = (scope, of) => {
    needs.push({ scope, resource: of });
    if (isDryRun(request)) context.checkWindows(scope, of);
  };
  const planned = await plan({ ...call, context: { ...context, caller, checkWindows } }, handle);
  return { planned, needs };
}

function createIssuer(tokens: Pick<PlanTokens, "issue">, approvals: Pick<ApprovalGate, "approvers">) {
  /** A plan as it is shown: with its token, and with what the call would wait for. */
  return (planned: GroundedPlan, call: MutationCall, reason?: string): GroundedPlan => {
    const { held } = call.request.record;
    const waits = {
      ...(held !== undefined && { outside_window: { ...heldDetails(held), message: heldMessage(held) } }),
      ...(reason !== undefined && { needs_approval: { approvers: approvals.approvers(), message: reason } }),
    };
    return tokens.issue({ ...planned, ...waits }, plannedCallOf(call));
  };
}

/**
 * Calls mutations: a dry run is answered with a token of its plan, what is sent with one is carried out as planned, and what
 * others have to approve waits for them. Where a plan is demanded, windows come before it, and it before waiting for approval.
 */
export function createPlannedCalls(tokens: PlanTokens, approvals: ApprovalGate) {
  const { digestOf, differenceSince, read, use } = tokens;
  const issue = createIssuer(tokens, approvals);

  const carryOut = async (call: MutationCall, token: string, handle: Handle): Promise<unknown> => {
    const { request, context, input, operation } = call;
    const planned = plannedCallOf(call);
    const by = context.idempotencyKey() ?? request.id;
    const presented = read(token, planned, by);
    // An operation is found by its idempotency key; any other mutation would be carried out a second time.
    if (presented.isRepeated && operation.outlives !== true) throw planUsed();
    const now = await plan(call, handle);
    const isChanged = digestOf(now) !== presented.digest;
    const refusal = () => planChanged(issue(now, call), differenceSince(presented, now));
    if (isChanged && !presented.isRepeated) throw refusal();
    requireAwaited(call);
    if (!presented.isRepeated) use(presented, by);
    const agreed: Planned = {
      transaction: basisOf(now).transaction,
      requireUnchanged() {
        if (isChanged) throw refusal();
      },
    };
    return handle(input, { ...context, planned: () => agreed });
  };

  const lacksPlan = ({ request, operation, context }: MutationCall): boolean =>
    tokenOf(request) === undefined && demandsPlan(context.caller, operation);
  const refuseUnplanned = async (call: MutationCall, handle: Handle): Promise<never> => {
    throw planRequired(issue(await plan(call, handle), call));
  };

  const callNow = (call: MutationCall, handle: Handle): unknown => {
    const token = tokenOf(call.request);
    if (token !== undefined) return carryOut(call, token, handle);
    return lacksPlan(call) ? refuseUnplanned(call, handle) : handle(call.input, call.context);
  };

  /** Uses up the token of a call that waits from now on. */
  const usePlan = (call: MutationCall, now: GroundedPlan, reason: string): void => {
    const token = tokenOf(call.request);
    if (token === undefined) return;
    const planned = plannedCallOf(call);
    const by = call.context.idempotencyKey() ?? call.request.id;
    const presented = read(token, planned, by);
    if (digestOf(now) !== presented.digest)
      throw planChanged(issue(now, call, reason), differenceSince(presented, now));
    if (!presented.isRepeated) use(presented, by);
  };

  const withoutApproval = (call: MutationCall): MutationCall => {
    const checkWindows: Context["checkWindows"] = (scope, resource) => {
      approvals.requireNoApproval({ scope, resource });
      call.context.checkWindows(scope, resource);
    };
    return { ...call, context: { ...call.context, checkWindows } };
  };

  /** A call that others may have to approve. */
  const callOrPark = async (call: MutationCall, caller: Caller, handle: Handle): Promise<unknown> => {
    const { name: operation, request, input, context } = call;
    const proposed = { caller, operation, input, idempotencyKey: context.idempotencyKey() };
    const isDry = isDryRun(request);
    const reason = proposalReasonOf(request);
    const parked = (answer: Parked): Parked => {
      context.touched({ approval: answer.approval.id, proposed: "true" });
      return answer;
    };
    const earlier = isDry ? undefined : approvals.earlier(proposed);
    if (earlier !== undefined) return parked(earlier);
    const { planned, needs } = await planWithNeeds(call, approvals.asProposer(caller), handle);
    const message = approvals.waitsBecause(caller, needs);
    if (isDry) return issue(planned, call, message);
    if (message === undefined) return callNow(withoutApproval(call), handle);
    // Anyone who proposes something is to know what it is, too.
    if (lacksPlan(call)) throw planRequired(issue(planned, call, message));
    requireAwaited(call);
    usePlan(call, planned, message);
    return parked(approvals.propose(proposed, { plan: planned, needs, ...defined({ reason }) }));
  };

  /** The answer of the handler; a promise only where there is a plan, or the handler's is one. */
  return (call: MutationCall, handle: Handle): unknown => {
    const { caller } = call.context;
    // Anyone who approves a call has all that it takes, and it is counted as that.
    if (approvals.concerns(caller) && call.operation.doesMore !== "approved") return callOrPark(call, caller, handle);
    proposalReasonOf(call.request);
    if (isDryRun(call.request)) return plan(call, handle).then((each) => issue(each, call));
    return callNow(call, handle);
  };
}

export type PlannedCalls = ReturnType<typeof createPlannedCalls>;
