import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Clock, Dispose } from "#kernel/clock.ts";

const lookMs = 60_000;
/** Of a minute in which the thread had hardly anything to do. */
const idleShare = 0.05;
/** Collecting stops the thread for a tenth of a second, so it must be worth that. */
const leastGrowth = 8 * 1024 * 1024;

export interface Heap {
  /** Bytes that the heap has of the system. */
  readonly total: () => number;
  /** Share of the time since the last call in which the thread was at work, 0 to 1. */
  readonly share: () => number;
  /** Collects all garbage, and gives its space back to the system. */
  readonly collect: () => void;
}

/**
 * Node hides the collector behind a flag. It is taken back at once: code that was compiled without it would be compiled again. The flag is
 * that of all threads, so no other one may do this.
 */
function takeCollector(): NodeJS.GCFunction {
  setFlagsFromString("--expose-gc");
  const collector = runInNewContext("gc") as NodeJS.GCFunction;
  setFlagsFromString("--no-expose-gc");
  return collector;
}

/** The heap of this thread: of the first one, before it starts others. */
export function hostHeap(): Heap {
  const collector = takeCollector();
  let last = performance.eventLoopUtilization();
  return {
    total: () => getHeapStatistics().total_heap_size,
    share() {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      return utilization;
    },
    collect() {
      collector({ type: "major", execution: "sync", flavor: "last-resort" });
    },
  };
}

/**
 * Gives back what work has left in the heap, in the first idle minute after it: V8 by itself keeps it for work to come.
 * @returns what ends that.
 */
export function returnHeap(heap: Heap, { every }: Pick<Clock, "every">): Dispose {
  // What the start has made is in use.
  let kept = heap.total();
  return every(lookMs, () => {
    if (heap.share() > idleShare || heap.total() - kept < leastGrowth) return;
    heap.collect();
    kept = heap.total();
  });
}
