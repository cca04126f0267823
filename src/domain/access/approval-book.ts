import type { ApprovalStatus } from "#contract/approvals.ts";
import { DomainError } from "#domain/common/error.ts";
import type { ApprovalEvent, ApprovalRecord, ApprovalStore } from "#domain/ports/approvals.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { argumentsOf } from "./approval-view.ts";

const final: readonly ApprovalStatus[] = ["denied", "expired", "cancelled", "done", "failed"];
export const isFinal = (status: ApprovalStatus): boolean => final.includes(status);

/** Calls that wait or run at the same time, and those of one key. */
const maxOpen = 200;
const maxOpenOfKey = 50;
/** Approvals with a final status that are kept, and for how long. */
const keptFinal = 500;
const keptForMs = 30 * 24 * 60 * 60_000;

export type ApprovalBook = ReturnType<typeof createApprovalBook>;

interface BookPorts {
  readonly store: ApprovalStore;
  readonly clock: Pick<Clock, "now" | "monotonicMs">;
  readonly onStatus: (record: ApprovalRecord) => void;
  /** Called once for each event, when the store has it. */
  readonly onEvent: (record: ApprovalRecord, event: ApprovalEvent) => void;
  readonly onTrouble: (error: unknown) => void;
}

interface Pages {
  readonly records: Map<string, ApprovalRecord>;
  /** By the clock that is never set back: until when those of this process can be approved. */
  readonly deadlines: Map<string, number>;
  readonly listeners: Set<Dispose>;
}

/** Removes the oldest approvals with a final status, where there are too many. */
function prune({ records }: Pages, { store, clock, onTrouble }: BookPorts): void {
  const finished = [...records.values()].filter(({ status }) => isFinal(status));
  const oldest = clock.now() - keptForMs;
  const gone = finished
    .sort((one, other) => (other.finishedAt ?? 0) - (one.finishedAt ?? 0))
    .filter(({ finishedAt }, at) => at >= keptFinal || (finishedAt ?? 0) < oldest)
    .map(({ id }) => id);
  if (gone.length === 0) return;
  try {
    store.remove(gone);
    for (const id of gone) records.delete(id);
  } catch (error) {
    onTrouble(error);
  }
}

function requireDiskSpace({ records }: Pages, keyId: string): void {
  const open = [...records.values()].filter(({ status }) => !isFinal(status));
  const own = open.filter(({ proposer }) => proposer.keyId === keyId);
  if (open.length < maxOpen && own.length < maxOpenOfKey) return;
  const whose = own.length >= maxOpenOfKey ? " of this key" : "";
  throw new DomainError(
    "CONFLICT",
    `cannot propose it: too many calls${whose} wait for approval (cancel some, or have them decided)`,
    { reason: "too_many_approvals", retryable: true },
  );
}

function withoutEvent(record: ApprovalRecord): ApprovalRecord {
  const { unaudited: _, ...rest } = record;
  return rest;
}

/** Writes approvals to the store, and enters them once they are there. */
function createWriter({ records, deadlines, listeners }: Pages, ports: BookPorts) {
  const { store, clock, onStatus, onEvent, onTrouble } = ports;
  const unsaved = new Set<string>();
  let revision = [...records.values()].reduce((newest, record) => Math.max(newest, record.revision), 0);

  /** Removes from the store that the audit log may lack the event of an approval. */
  const settle = (id: string): void => {
    const record = records.get(id);
    if (record === undefined || unsaved.has(id)) return;
    try {
      store.save(record);
    } catch (error) {
      onTrouble(error);
    }
  };
  const enter = (record: ApprovalRecord): ApprovalRecord => {
    const before = records.get(record.id)?.status;
    records.set(record.id, record);
    if (record.status !== before) onStatus(record);
    for (const listener of [...listeners]) listener();
    return record;
  };
  /** Enters what the store has. */
  const enterStored = (record: ApprovalRecord): ApprovalRecord => {
    const { unaudited } = record;
    if (unaudited === undefined) return enter(record);
    onEvent(record, unaudited);
    const entered = enter(withoutEvent(record));
    settle(record.id);
    return entered;
  };
  const put = (record: ApprovalRecord): ApprovalRecord => {
    revision += 1;
    const next = { ...record, revision };
    store.save(next);
    return enterStored(next);
  };
  /** Its end has come, whether it can be written now or not. */
  const finish = (record: ApprovalRecord, end: Pick<ApprovalRecord, "status"> & Partial<ApprovalRecord>) => {
    revision += 1;
    const rest = { input: argumentsOf(record.input), compared: null, finishedAt: clock.now(), revision };
    const next = { ...record, ...end, ...rest };
    deadlines.delete(next.id);
    try {
      store.save(next);
      unsaved.delete(next.id);
    } catch (error) {
      unsaved.add(next.id);
      onTrouble(error);
      return enter(next);
    }
    return enterStored(next);
  };
  /** Writes what could not be written. @returns whether all of it is written. */
  const retry = (): boolean => {
    for (const id of unsaved) {
      const record = records.get(id);
      try {
        if (record !== undefined) store.save(record);
      } catch (error) {
        onTrouble(error);
        return false;
      }
      unsaved.delete(id);
      if (record !== undefined) enterStored(record);
    }
    return true;
  };
  return { settle, put, finish, retry };
}

/** All approvals, in memory and in the store. What is put into it is on the disk before it is true. */
export function createApprovalBook(ports: BookPorts) {
  const { store, clock } = ports;
  const stored = store.list();
  const pages: Pages = {
    records: new Map(stored.map((record) => [record.id, withoutEvent(record)])),
    deadlines: new Map(),
    listeners: new Set(),
  };
  const { records, deadlines, listeners } = pages;
  const { settle, put, finish, retry } = createWriter(pages, ports);
  const expire = (record: ApprovalRecord): ApprovalRecord =>
    finish(record, { status: "expired", unaudited: { name: "approval.expired", at: clock.now(), error: null } });
  const isDue = ({ id, status, expiresAt }: ApprovalRecord): boolean =>
    status === "pending" && (clock.now() >= expiresAt || clock.monotonicMs() >= (deadlines.get(id) ?? Infinity));
  const current = (record: ApprovalRecord): ApprovalRecord => (isDue(record) ? expire(record) : record);

  return {
    put,
    finish,
    expire,
    /** With events of earlier processes, of which it is not known whether the audit log has them. */
    left: stored.filter(({ unaudited }) => unaudited !== undefined),
    settle,
    /** @throws DomainError `CONFLICT` where too many wait; HostUnavailable where it cannot be recorded. */
    add(record: Omit<ApprovalRecord, "revision">): ApprovalRecord {
      requireDiskSpace(pages, record.proposer.keyId);
      prune(pages, ports);
      const added = put({ ...record, revision: 0 });
      deadlines.set(added.id, clock.monotonicMs() + (record.expiresAt - record.createdAt));
      return added;
    },
    get(id: string): ApprovalRecord | undefined {
      const record = records.get(id);
      return record && current(record);
    },
    /** Newest first. */
    list: (): readonly ApprovalRecord[] =>
      [...records.values()]
        .map(current)
        .sort((one, other) => other.createdAt - one.createdAt || (other.id < one.id ? -1 : 1)),
    /** Resolves when it is so, inspected with each change, or when the signal fires. */
    until(isSo: () => boolean, signal: AbortSignal): Promise<void> {
      return new Promise((resolve) => {
        const look = (): void => {
          if (!signal.aborted && !isSo()) return;
          listeners.delete(look);
          signal.removeEventListener("abort", look);
          resolve();
        };
        listeners.add(look);
        signal.addEventListener("abort", look);
        look();
      });
    },
    /** Writes what could not be written, and ends what nobody has decided in time. */
    sweep(): void {
      if (!retry()) return;
      for (const record of records.values()) current(record);
    },
  };
}
