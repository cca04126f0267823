import type { Caller } from "#contract/operation.ts";
import type { ApprovalParty, ApprovalRecord } from "#domain/ports/approvals.ts";
import {
  type AfterReply,
  asError,
  carryOut,
  type Ended,
  eventOf,
  fail,
  failure,
  followed,
  isSame,
  needsIn,
  type PlanAgain,
  planAgain,
  planHasChanged,
  proposerOf,
  type RunPorts,
  replanned,
  runKey,
} from "./approval-carry-out.ts";
import { windowRefusal } from "./window-gate.ts";

/** What is done about a call whose run an earlier process has started. */
function recovered(record: ApprovalRecord, ports: RunPorts): ApprovalRecord {
  const { book, table, operations } = ports;
  if (record.operationId !== null) return followed(record, ports);
  if (table[record.operation]?.outlives === true) {
    const started = operations.list().find(({ spec }) => spec.idempotencyKey === runKey(record.id));
    // Without its operation nothing of it has been done.
    if (started === undefined) return book.put({ ...record, status: "approved" });
    return followed(book.put({ ...record, operationId: started.spec.id }), ports);
  }
  const error = failure(
    "outcome_unknown",
    "the service ended while it was carried out: it may have been done, or a part of it (look at the host)",
  );
  return fail(record, error, ports);
}

export type ApprovalRuns = ReturnType<typeof createApprovalRuns>;

/** @throws DomainError `CONFLICT` where a window holds the call back that nobody has overridden. */
function requireOpen(record: ApprovalRecord, override: string | null, { windows }: Pick<RunPorts, "windows">): void {
  if (override !== null) return;
  for (const need of needsIn(record)) {
    const held = windows.held(need);
    if (held !== undefined) throw windowRefusal(held);
  }
}

/** Records that a call runs, and carries it out. */
const run = (
  record: ApprovalRecord,
  caller: Caller,
  again: PlanAgain,
  { ports, afterReply }: { readonly ports: RunPorts; readonly afterReply?: AfterReply },
): Promise<Ended> => carryOut(ports.book.put({ ...record, status: "running" }), caller, again, ports, afterReply);

/** Has an approved call wait for a decision again. */
function reopen(record: ApprovalRecord, error: unknown, { book, clock }: Pick<RunPorts, "book" | "clock">): void {
  const unaudited = eventOf("approval.reopened", asError(error), clock);
  book.put({ ...record, status: "pending", approvals: [], decidedBy: null, unaudited });
}

/** Runs what is recorded as approved, and has not started. What cannot be done now waits for another decision. */
async function resume(record: ApprovalRecord, ports: RunPorts): Promise<void> {
  const { book, table, clock } = ports;
  if (clock.now() >= record.expiresAt) return void book.expire(record);
  if (table[record.operation]?.answerIsSecret === true) {
    const why = "the service ended before it was carried out, and nobody would get its answer (propose it again)";
    return void fail(record, failure("answer_lost", why), ports);
  }
  let caller: Caller;
  try {
    caller = proposerOf(record, ports);
  } catch (error) {
    return void fail(record, asError(error), ports);
  }
  const again = await planAgain(record, caller, ports);
  if (!isSame(record, again)) {
    const next = replanned(record, again);
    reopen(next, planHasChanged(next), ports);
    return;
  }
  requireOpen(record, record.override, ports);
  await run(record, caller, again, { ports });
}

/** Whose call it is. A call whose proposer has lost its rights is over. @throws DomainError `CONFLICT` */
function requireProposer(record: ApprovalRecord, ports: RunPorts): Caller {
  try {
    return proposerOf(record, ports);
  } catch (error) {
    fail(record, asError(error), ports);
    throw error;
  }
}

/** Carries out what was approved: once, as who has proposed it, if it is still what was approved. */
export function createApprovalRuns(ports: RunPorts) {
  const { book, windows, onTrouble } = ports;
  const atWork = new Set<string>();

  const working = async <T>(id: string, work: () => Promise<T>): Promise<T> => {
    atWork.add(id);
    try {
      return await work();
    } finally {
      atWork.delete(id);
    }
  };
  const resumeOrReturn = async (record: ApprovalRecord): Promise<void> => {
    try {
      await resume(record, ports);
    } catch (error) {
      onTrouble(error);
      const now = book.get(record.id);
      if (now?.status === "approved") reopen(now, error, ports);
    }
  };
  const look = (): void => {
    book.sweep();
    for (const record of book.list()) {
      if (atWork.has(record.id)) continue;
      if (record.status === "running") followed(record, ports);
      if (record.status === "approved") void working(record.id, () => resumeOrReturn(record)).catch(onTrouble);
    }
  };
  return {
    /**
     * Runs a call with the approval that was missing.
     * @param stillMay has the record as it is now, and throws where it can no longer be approved.
     * @throws DomainError `CONFLICT` where the proposer, the plan or a window does not allow it; it waits for a decision then.
     */
    async approve(
      record: ApprovalRecord,
      party: ApprovalParty,
      given: {
        readonly override: string | undefined;
        readonly stillMay: () => ApprovalRecord;
        readonly afterReply: AfterReply;
      },
    ): Promise<Ended> {
      const isHeld = needsIn(record).some((need) => windows.held(need) !== undefined);
      const override = isHeld ? (given.override ?? null) : null;
      const again = await planAgain(record, requireProposer(record, ports), ports);
      const now = given.stillMay();
      const caller = requireProposer(now, ports);
      if (now.revision !== record.revision) throw planHasChanged(now);
      if (!isSame(now, again)) throw planHasChanged(book.put(replanned(now, again)));
      requireOpen(now, override, ports);
      const approvals = [...now.approvals, party];
      return working(now.id, () => {
        const approved = book.put({ ...now, status: "approved", approvals, decidedBy: party, override });
        return run(approved, caller, again, { ports, afterReply: given.afterReply });
      });
    },
    /** Takes up what an earlier process has left. */
    start(): void {
      for (const record of book.list()) if (record.status === "running") recovered(record, ports);
      look();
    },
    look,
    operationEnded(id: string): void {
      for (const record of book.list()) if (record.operationId === id) followed(record, ports);
    },
  };
}
