import type { Approval, approvals } from "#contract/approvals.ts";
import { approvalListLimit } from "#contract/approvals.ts";
import type { Caller, Context, Handlers, Input } from "#contract/operation.ts";
import { DomainError } from "#domain/common/error.ts";
import { pageOf } from "#domain/common/page.ts";
import { createPlan, type GroundedPlan } from "#domain/common/plan.ts";
import { createWaitingRoom, waitMsOf } from "#domain/common/waiting.ts";
import type { ApprovalParty, ApprovalRecord } from "#domain/ports/approvals.ts";
import type { Clock } from "#kernel/clock.ts";
import { defined } from "#kernel/values.ts";
import { type ApprovalBook, isFinal } from "./approval-book.ts";
import { needsIn, planHasChanged } from "./approval-carry-out.ts";
import type { ApprovalRuns } from "./approval-runs.ts";
import { toApproval } from "./approval-view.ts";
import { isWanting, lackOf } from "./needs.ts";
import { allows } from "./scopes.ts";

const callerOf = ({ caller }: Pick<Context, "caller">): Caller => {
  if (caller === undefined) throw new DomainError("UNAUTHORIZED", "cannot answer: a key is needed");
  return caller;
};

const lacks = ({ scopes }: Caller, record: ApprovalRecord) => needsIn(record).find((need) => isWanting(scopes, need));
const isOwn = ({ keyId }: Caller, { proposer }: ApprovalRecord): boolean => proposer.keyId === keyId;
/** Those that the key has proposed, or could approve. */
const maySee = (caller: Caller, record: ApprovalRecord): boolean =>
  isOwn(caller, record) || lacks(caller, record) === undefined;

const decided = (record: ApprovalRecord): DomainError =>
  new DomainError("CONFLICT", `cannot decide about it: it is ${record.status} already`, {
    reason: "decided",
    approval: toApproval(record),
    retryable: false,
  });

const refusedApprover = (message: string): DomainError =>
  new DomainError("FORBIDDEN", message, { reason: "another_key_needed" });

/** @throws DomainError `FORBIDDEN` for anyone who may not decide about it. */
function requireApprover(caller: Caller, record: ApprovalRecord, doing: "approve" | "deny"): void {
  if (isOwn(caller, record))
    throw refusedApprover(
      `cannot ${doing} it: this key has proposed it, so another has to (POST …/cancel takes it back)`,
    );
  const missing = lacks(caller, record);
  if (missing !== undefined) throw lackOf(caller, missing);
}

const named = ({ id, operation, proposer }: ApprovalRecord): string =>
  `approval ${id} of ${operation}, proposed by key ${proposer.keyId} (${proposer.keyName})`;

/** What the audit log has of each decision, refused or not. */
const targetOf = ({ operation, proposer }: ApprovalRecord, reason: string | undefined) => ({
  operation,
  proposed_by: proposer.keyId,
  ...defined({ reason }),
});

/** What an approval would do: all that the plan of the call says. */
const approvalPlan = (record: ApprovalRecord, isLast: boolean): GroundedPlan => {
  const left = record.required - record.approvals.length - 1;
  const first = `approve ${named(record)}`;
  if (!isLast)
    return createPlan([`${first}; ${left} more have to`], {}, { digested: [record.id, record.digest, first] });
  const { plan_token: _, plan_expires_at: __, needs_approval: ___, outside_window: ____, ...plan } = record.plan;
  return createPlan(
    [first, ...plan.steps],
    { ...plan, dry_run: true },
    { digested: [record.id, record.digest, first] },
  );
};

interface Ports {
  readonly book: ApprovalBook;
  readonly runs: Pick<ApprovalRuns, "approve">;
  readonly clock: Pick<Clock, "now" | "sleep">;
  /** Whether a credential has expired or been revoked since it was admitted. */
  readonly hasEnded: (caller: Caller) => boolean;
  /** Fires when the service stops: anyone who waits is answered. */
  readonly stopping: AbortSignal;
}

/** Waits for a change, or until the time is over; one that goes away frees its place. */
function createWait({ book, clock, hasEnded, stopping }: Ports) {
  const space = createWaitingRoom("ask without `wait`");
  return async (caller: Caller, waitMs: number, context: Pick<Context, "signal">, isChanged: () => boolean) => {
    if (waitMs === 0 || isChanged()) return;
    await space(caller.keyId, async () => {
      const over = new AbortController();
      const ended = AbortSignal.any([context.signal(), stopping, over.signal]);
      void clock.sleep(waitMs, ended).then(() => over.abort());
      await book.until(() => isChanged() || hasEnded(caller), ended).finally(() => over.abort());
    });
    if (hasEnded(caller))
      throw new DomainError("UNAUTHORIZED", "the credential expired or was revoked before the answer was there");
  };
}

function findersOf({ book }: Pick<Ports, "book">) {
  const find = (id: string, caller: Caller): ApprovalRecord => {
    const record = book.get(id);
    if (record === undefined || !maySee(caller, record))
      throw new DomainError("NOT_FOUND", `cannot find approval ${id}`, { id });
    return record;
  };
  return {
    find,
    /** @throws DomainError for one that is decided, or that the caller may not approve. */
    toApprove: (id: string, caller: Caller): ApprovalRecord => {
      const record = find(id, caller);
      requireApprover(caller, record, "approve");
      if (record.status !== "pending") throw decided(record);
      if (record.approvals.some(({ keyId }) => keyId === caller.keyId))
        throw refusedApprover("cannot approve it twice: another key has to approve it as well");
      return record;
    },
  };
}

function approveBy({ book, runs, clock }: Ports, { find, toApprove }: ReturnType<typeof findersOf>) {
  return async ({ params: { id }, body, query }: Input<typeof approvals.approve>, context: Context) => {
    const caller = callerOf(context);
    const target = targetOf(find(id, caller), body.reason);
    context.touched(target);
    const record = toApprove(id, caller);
    const isLast = record.approvals.length + 1 >= record.required;
    if (isLast) for (const { scope, resource } of needsIn(record)) context.checkWindows(scope, resource);
    const reason = context.windowOverride();
    const override = allows(caller.scopes, "windows:override") ? reason : undefined;
    if (body.plan_digest !== undefined && body.plan_digest !== record.digest) throw planHasChanged(record);
    if (query.dry_run) return approvalPlan(record, isLast);
    const { keyId, keyName } = caller;
    const party: ApprovalParty = { keyId, keyName, reason: body.reason ?? null, at: clock.now() };
    if (!isLast) return toApproval(book.put({ ...record, approvals: [...record.approvals, party] }));
    const { afterReply } = context;
    const ended = await runs.approve(record, party, { override, stillMay: () => toApprove(id, caller), afterReply });
    if (ended.record.operationId !== null) context.touched({ ...target, operation_id: ended.record.operationId });
    if (!ended.hasSecret) return toApproval(ended.record);
    context.answerIsSecret();
    return toApproval(ended.record, ended.result);
  };
}

/** Handlers of approvals. A key sees what it has proposed, and what it could approve. */
export function approvalHandlers(ports: Ports): Handlers<typeof approvals> {
  const { book, clock } = ports;
  const finders = findersOf(ports);
  const { find } = finders;
  const wait = createWait(ports);
  const seenBy = (caller: Caller): readonly ApprovalRecord[] => book.list().filter((record) => maySee(caller, record));
  const newest = (records: readonly ApprovalRecord[]): number =>
    records.reduce((most, { revision }) => Math.max(most, revision), 0);

  const end = (
    record: ApprovalRecord,
    status: "denied" | "cancelled",
    { caller, reason, isDryRun }: { caller: Caller; reason: string | undefined; isDryRun: boolean },
  ): Approval | GroundedPlan => {
    if (record.status === status && !isDryRun) return toApproval(record);
    if (record.status !== "pending") throw decided(record);
    const doing = status === "denied" ? "deny" : "cancel";
    if (isDryRun) return createPlan([`${doing} ${named(record)}`]);
    const { keyId, keyName } = caller;
    const decidedBy = { keyId, keyName, reason: reason ?? null, at: clock.now() };
    return toApproval(book.finish(record, { status, decidedBy }));
  };

  return {
    async listApprovals({ query }, context) {
      const { status, limit = approvalListLimit.default, cursor, since, wait: text } = query;
      const caller = callerOf(context);
      const before = since ?? newest(seenBy(caller));
      await wait(caller, waitMsOf(text), context, () => newest(seenBy(caller)) !== before);
      const seen = seenBy(caller);
      const found = status === undefined ? seen : seen.filter((record) => record.status === status);
      const { items, shape } = pageOf(found, { limit, cursor }, ({ id }) => id);
      return { approvals: items.map((record) => toApproval(record)), revision: newest(seen), ...shape };
    },
    async getApproval({ params: { id }, query }, context) {
      const caller = callerOf(context);
      const { revision } = find(id, caller);
      const before = query.since ?? revision;
      const isChanged = (): boolean => {
        const now = book.get(id);
        return now === undefined || isFinal(now.status) || now.revision !== before;
      };
      await wait(caller, waitMsOf(query.wait), context, isChanged);
      return toApproval(find(id, caller));
    },
    approve: approveBy(ports, finders),
    deny({ params: { id }, query, body }, context) {
      const caller = callerOf(context);
      const record = find(id, caller);
      context.touched(targetOf(record, body.reason));
      requireApprover(caller, record, "deny");
      return end(record, "denied", { caller, reason: body.reason, isDryRun: query.dry_run ?? false });
    },
    cancelApproval({ params: { id }, query, body }, context) {
      const caller = callerOf(context);
      const record = find(id, caller);
      context.touched(targetOf(record, body.reason));
      if (!isOwn(caller, record)) throw refusedApprover("cannot cancel it: another key has proposed it (POST …/deny)");
      return end(record, "cancelled", { caller, reason: body.reason, isDryRun: query.dry_run ?? false });
    },
  };
}
