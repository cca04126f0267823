import type { CheckHistory, StoredRun, StoredState } from "#domain/ports/check-history.ts";

export interface FakeCheckHistory extends CheckHistory {
  /** What every call throws while it is set, as a full disk makes it. */
  fault: Error | undefined;
}

/** Runs of checks in memory. */
export function createFakeCheckHistory(): FakeCheckHistory {
  const states = new Map<string, StoredState>();
  let kept: { readonly checkId: string; readonly run: StoredRun }[] = [];
  const check = (): void => {
    if (fake.fault !== undefined) throw fake.fault;
  };
  const fake: FakeCheckHistory = {
    fault: undefined,
    record(checkId, run, state) {
      check();
      kept.push({ checkId, run });
      states.set(checkId, state);
    },
    state(checkId) {
      check();
      return states.get(checkId);
    },
    runs(checkId, since, limit) {
      check();
      const found = kept
        .filter((each) => each.checkId === checkId && each.run.checkedAt >= since)
        .map(({ run }) => run)
        .sort((a, b) => a.checkedAt - b.checkedAt);
      return { runs: found.slice(-limit), total: found.length };
    },
    forget(before) {
      check();
      kept = kept.filter(({ run }) => run.checkedAt >= before);
    },
  };
  return fake;
}
