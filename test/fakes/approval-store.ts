import type { ApprovalRecord, ApprovalStore } from "#domain/ports/approvals.ts";

export interface FakeApprovalStore extends ApprovalStore {
  /** What saving throws while it is set, as a full disk makes it. */
  fault: Error | undefined;
  /** Every record that was saved, in order. */
  readonly saved: ApprovalRecord[];
}

/** Approvals in memory. */
export function createFakeApprovalStore(): FakeApprovalStore {
  const records = new Map<string, string>();
  const fake: FakeApprovalStore = {
    fault: undefined,
    saved: [],
    list: () =>
      [...records.values()]
        .map((text) => JSON.parse(text) as ApprovalRecord)
        .sort((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1)),
    save(record) {
      if (fake.fault !== undefined) throw fake.fault;
      fake.saved.push(record);
      records.set(record.id, JSON.stringify(record));
    },
    remove(ids) {
      for (const id of ids) records.delete(id);
    },
  };
  return fake;
}
