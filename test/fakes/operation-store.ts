import { queuedState } from "#domain/operations/state.ts";
import type { Claim, OperationSpec, OperationState, OperationStore } from "#domain/ports/operations.ts";

export interface FakeOperationStore extends OperationStore {
  /** What every write throws while it is set, as a full disk makes it. */
  fault: Error | undefined;
  /** What writing a state alone throws while it is set. */
  stateFault: Error | undefined;
  /** Whether states cannot be read. */
  isDamaged: boolean;
}

const keptLines = 1000;

/** Operations in memory. What goes in and out is copied, as a disk does it. */
export function createFakeOperationStore(): FakeOperationStore {
  const kept = new Map<
    string,
    { readonly spec: OperationSpec; state: OperationState; claim: Claim | undefined; readonly log: string[] }
  >();
  const cancelled = new Set<string>();
  const check = (): void => {
    if (fake.fault !== undefined) throw fake.fault;
  };
  const find = (id: string) => {
    const found = kept.get(id);
    if (found === undefined) throw new Error(`there is no operation ${id}`);
    return found;
  };
  const fake: FakeOperationStore = {
    fault: undefined,
    stateFault: undefined,
    isDamaged: false,
    create(spec) {
      check();
      if (kept.has(spec.id)) throw new Error(`there is an operation ${spec.id} already`);
      kept.set(spec.id, { spec: structuredClone(spec), state: queuedState, claim: undefined, log: [] });
    },
    ids: () => [...kept.keys()].sort((a, b) => (a < b ? 1 : -1)),
    read(id) {
      const found = kept.get(id);
      if (found === undefined) return undefined;
      const { spec, state, claim } = found;
      return structuredClone({ spec, state: fake.isDamaged ? undefined : state, claim });
    },
    claim(id, number, process) {
      check();
      const found = find(id);
      if ((found.claim?.number ?? 0) >= number) return false;
      found.claim = { number, process };
      return true;
    },
    write(id, state) {
      check();
      if (fake.stateFault !== undefined) throw fake.stateFault;
      find(id).state = structuredClone(state);
    },
    requestCancel(id) {
      check();
      find(id);
      cancelled.add(id);
    },
    withdrawCancel: (id) => void cancelled.delete(id),
    isCancelRequested: (id) => cancelled.has(id),
    appendLog(id, line) {
      check();
      const { log } = find(id);
      log.push(line);
      if (log.length > keptLines) log.shift();
    },
    tail: (id, lines) => kept.get(id)?.log.slice(-lines) ?? [],
    remove(id) {
      kept.delete(id);
      cancelled.delete(id);
    },
  };
  return fake;
}
