import { Worker } from "node:worker_threads";
import { JournalUnavailable, LogQueryRefused } from "#domain/logs/ports.ts";
import type { ThreadFailure, ThreadReply, ThreadRequest, ThreadSetup } from "./protocol.ts";
import type { Fault } from "./registry.ts";

/** Heap of one thread: an answer of the largest size takes a part of this. Beyond it the thread ends, not the service. */
const maxHeapMb = 768;
/** What is needed for a moment only. Left to itself this part grows to 128 MiB in a thread that follows a busy journal, and stays so. */
const maxYoungHeapMb = 32;

/** What a failure in a thread is here. */
export function errorOf(failure: ThreadFailure): Error {
  switch (failure.kind) {
    case "refused":
      return new LogQueryRefused(failure.field, failure.issue);
    case "unavailable":
      return new JournalUnavailable(failure.message);
    case "failed":
      return new Error(`the journal's thread failed: ${failure.message}`);
  }
}

/** A thread of the journal, seen from outside. */
export interface Thread {
  readonly send: (request: ThreadRequest) => void;
  /** 0 until it is up, then growing while it searches. */
  readonly progress: () => number;
  readonly end: () => void;
}

export interface ThreadEvents {
  readonly onReply: (reply: Exclude<ThreadReply, { kind: "fault" }>) => void;
  /** The thread has ended, by itself or not; nothing comes after this. */
  readonly onEnd: (reason: string) => void;
}

/** Starts a thread. It takes no part in keeping the process alive. */
export type StartThread = (events: ThreadEvents) => Thread;

export function createThreadStarter(
  setup: Omit<ThreadSetup, "progress">,
  onFault: (fault: Fault) => void,
): StartThread {
  return ({ onReply, onEnd }) => {
    const progress = new Int32Array(new SharedArrayBuffer(4));
    const workerData: ThreadSetup = { ...setup, progress };
    const worker = new Worker(new URL("./thread.ts", import.meta.url), {
      workerData,
      name: "journal",
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: maxYoungHeapMb },
    });
    let reason = "it ended";
    worker.on("message", (reply: ThreadReply) => {
      if (reply.kind === "fault") onFault(reply.fault);
      else onReply(reply);
    });
    worker.on("error", (error) => {
      reason = error instanceof Error ? error.message : String(error);
    });
    worker.once("exit", () => onEnd(reason));
    worker.unref();
    return {
      send: (request) => worker.postMessage(request),
      progress: () => Atomics.load(progress, 0),
      end: () => void worker.terminate(),
    };
  };
}

/** A request that is answered once. */
type Job = Extract<ThreadRequest, { kind: "query" | "grep" }>;
type JobReply = Extract<ThreadReply, { kind: "answer" | "positions" }>;

export interface JobOptions {
  readonly signal: AbortSignal;
  /** A search may take long, so that one thread is always left to the others. */
  readonly isSearch: boolean;
}

interface Waiting extends JobOptions {
  readonly job: Job;
  readonly resolve: (reply: JobReply) => void;
  readonly reject: (error: Error) => void;
}

interface Lane {
  readonly thread: Thread;
  current: Waiting | undefined;
  /** Ends the thread when it has had nothing to do for long; undefined while it works. */
  idle: NodeJS.Timeout | undefined;
}

export interface PoolLimits {
  readonly threads: number;
  readonly waiting: number;
  /** A search that tests no further message for so long hangs in its expression. */
  readonly stuckMs: number;
  /** The longest that any job may take. */
  readonly jobMs: number;
  /** A thread that was asked nothing for so long is ended: that is what gives its memory back. */
  readonly idleMs: number;
}

export interface Pool {
  /** @throws LogQueryRefused, JournalUnavailable, Error from the thread. */
  readonly run: (job: Job, options: JobOptions) => Promise<JobReply>;
  readonly dispose: () => void;
}

const watchMs = 100;

/** Threads that take one job at a time; they are started when they are needed. */
export function createPool(startThread: StartThread, limits: PoolLimits): Pool {
  const lanes = new Set<Lane>();
  const queue: Waiting[] = [];
  let isDisposed = false;

  const settle = (lane: Lane): Waiting | undefined => {
    const { current } = lane;
    lane.current = undefined;
    clearTimeout(lane.idle);
    lane.idle = setTimeout(() => endLane(lane), limits.idleMs);
    lane.idle.unref();
    return current;
  };

  const endLane = (lane: Lane): void => {
    clearTimeout(lane.idle);
    lanes.delete(lane);
    lane.thread.end();
  };

  const openLane = (): Lane => {
    const thread = startThread({
      onReply(reply) {
        const done = settle(lane);
        if (reply.kind === "failure") done?.reject(errorOf(reply.failure));
        else if (reply.kind !== "entries") done?.resolve(reply);
        dispatch();
      },
      onEnd(reason) {
        settle(lane)?.reject(new Error(`the journal's thread ended: ${reason}`));
        endLane(lane);
        if (!isDisposed) dispatch();
      },
    });
    const lane: Lane = { thread, current: undefined, idle: undefined };
    lanes.add(lane);
    return lane;
  };

  const endJob = (lane: Lane, error: Error): void => {
    settle(lane)?.reject(error);
    endLane(lane);
    dispatch();
  };

  /** Ends a job that hangs: nothing else stops a regular expression. */
  const watch = (lane: Lane, waiting: Waiting): void => {
    let lastProgress = lane.thread.progress();
    let progressAt = performance.now();
    let startedAt = progressAt;
    const timer = setInterval(() => {
      if (lane.current?.job !== waiting.job) return clearInterval(timer);
      const now = performance.now();
      const progress = lane.thread.progress();
      // Until the thread is up its time does not count.
      if (lastProgress === 0) startedAt = now;
      if (progress !== lastProgress) progressAt = now;
      lastProgress = progress;
      const isStuck = waiting.isSearch && progress > 0 && now - progressAt > limits.stuckMs;
      const isLate = now - startedAt > limits.jobMs;
      if (!isStuck && !isLate) return;
      clearInterval(timer);
      const issue = "Takes too long: simplify the expression or narrow the window";
      endJob(
        lane,
        waiting.isSearch ? new LogQueryRefused("grep", issue) : new JournalUnavailable("reading takes too long"),
      );
    }, watchMs);
    timer.unref();
  };

  const searches = (): number => [...lanes].filter(({ current }) => current?.isSearch === true).length;

  const freeLane = (): Lane | undefined =>
    [...lanes].find(({ current }) => current === undefined) ?? (lanes.size < limits.threads ? openLane() : undefined);

  function dispatch(): void {
    for (;;) {
      const maySearch = searches() < Math.max(1, limits.threads - 1);
      const index = queue.findIndex(({ isSearch }) => !isSearch || maySearch);
      if (index < 0) return;
      const lane = freeLane();
      if (lane === undefined) return;
      const [waiting] = queue.splice(index, 1);
      if (waiting === undefined) return;
      clearTimeout(lane.idle);
      lane.current = waiting;
      watch(lane, waiting);
      lane.thread.send(waiting.job);
    }
  }

  return {
    run(job, options) {
      if (isDisposed) return Promise.reject(new JournalUnavailable("the service is stopping"));
      if (queue.length >= limits.waiting) {
        return Promise.reject(new JournalUnavailable("too many log queries are waiting (try again later)"));
      }
      const { promise, resolve, reject } = Promise.withResolvers<JobReply>();
      const waiting: Waiting = { job, ...options, resolve, reject };
      const onAbort = (): void => {
        const index = queue.indexOf(waiting);
        if (index >= 0) queue.splice(index, 1);
        const lane = [...lanes].find(({ current }) => current?.job === job);
        // Nobody waits for a search any more, and it may go on for long; a query is done sooner than a new thread is up.
        if (lane !== undefined && options.isSearch) endJob(lane, new JournalUnavailable("the caller has gone"));
        else reject(new JournalUnavailable("the caller has gone"));
      };
      options.signal.addEventListener("abort", onAbort, { once: true });
      queue.push(waiting);
      dispatch();
      return promise.finally(() => options.signal.removeEventListener("abort", onAbort));
    },
    dispose() {
      isDisposed = true;
      for (const waiting of queue.splice(0)) waiting.reject(new JournalUnavailable("the service is stopping"));
      for (const lane of [...lanes]) endLane(lane);
    },
  };
}
