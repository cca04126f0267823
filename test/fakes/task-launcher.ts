import type { ProcessIdentity, TaskLauncher } from "#domain/ports/operations.ts";

export interface FakeTaskLauncher extends TaskLauncher {
  /** Ids in the order of their launches. */
  readonly launched: string[];
  /** What every launch fails with while it is set. */
  fault: Error | undefined;
  /** A new process. */
  readonly begin: () => ProcessIdentity;
  /** Ends a process. */
  readonly kill: (process: ProcessIdentity) => void;
}

/** Processes that exist on paper alone; what a launched task does is for the test to do. */
export function createFakeTaskLauncher(): FakeTaskLauncher {
  const alive = new Set<number>();
  let lastPid = 100;
  const fake: FakeTaskLauncher = {
    launched: [],
    fault: undefined,
    launch(id) {
      if (fake.fault !== undefined) return Promise.reject(fake.fault);
      fake.launched.push(id);
      return Promise.resolve();
    },
    isAlive: ({ pid }) => alive.has(pid),
    begin() {
      lastPid += 1;
      alive.add(lastPid);
      return { pid: lastPid, startTicks: lastPid, bootId: "boot" };
    },
    kill: ({ pid }) => void alive.delete(pid),
  };
  return fake;
}
