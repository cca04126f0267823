import { Worker } from "node:worker_threads";
import { JournalUnavailable, LogQueryRefused } from "#domain/ports/journal.ts";
import { errorMessage } from "#kernel/errors.ts";
import { closeGates, createUnpackGate, endOutsideUnpacking, type UnpackGate } from "./journal-file/unpack-gate.ts";
import type { ThreadFailure, ThreadMemory, ThreadReply, ThreadRequest, ThreadSetup } from "./protocol.ts";
import type { Fault } from "./registry.ts";

/** Heap of one thread: an answer of the largest size takes a part of this. Beyond it the thread ends, not the service. */
const maxHeapMb = 768;
/** What is needed briefly only. Left to itself this part grows to 128 MiB in a thread that follows a busy journal, and stays so. */
const maxYoungHeapMb = 12;

export function fromThreadFailure(failure: ThreadFailure): Error {
  switch (failure.kind) {
    case "refused":
      return new LogQueryRefused(failure.field, failure.issue);
    case "unavailable":
      return new JournalUnavailable(failure.message);
    case "failed":
      return new Error(`the journal's thread failed: ${failure.message}`);
  }
}

export interface Thread {
  readonly send: (request: ThreadRequest) => void;
  /** Asks the thread to give up a request, also while it is at work on it. */
  readonly cancel: (id: number) => void;
  readonly end: () => void;
}

export interface ThreadEvents {
  readonly onReady?: () => void;
  readonly onReply: (reply: Exclude<ThreadReply, { kind: "fault" | "ready" | "help" }>) => void;
  readonly onEnd: (reason: string) => void;
}

export type StartThread = (events: ThreadEvents) => Thread;

/** More threads than there are. */
const maxThreads = 32;
const usage = new Int32Array(new SharedArrayBuffer(maxThreads * Int32Array.BYTES_PER_ELEMENT));
/** Which places of threads are taken. */
const places = Array.from({ length: maxThreads }, () => false);

/** Of the threads that run. */
const openGates = new Set<UnpackGate>();
let isExitWatched = false;
/** Longer than a payload of the largest size takes. */
const maxExitWaitMs = 2_000;

/** Also the end of the process ends threads. */
function watchGate(gate: UnpackGate): void {
  openGates.add(gate);
  if (isExitWatched) return;
  isExitWatched = true;
  process.once("exit", () => closeGates(openGates, maxExitWaitMs));
}

export function createThreadStarter(
  workerData: ThreadSetup,
  onFault: (fault: Fault) => void,
  onHelpWanted: (wanted: Extract<ThreadReply, { kind: "help" }>, signal: AbortSignal) => void = ({ port }) =>
    port.close(),
): StartThread {
  return ({ onReady, onReply, onEnd }) => {
    const place = Math.max(0, places.indexOf(false));
    places[place] = true;
    const cancelled = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const unpackGate = createUnpackGate();
    const memory: ThreadMemory = { cancelled, unpackGate, usage: { usage, place } };
    watchGate(unpackGate);
    const worker = new Worker(new URL("./thread.ts", import.meta.url), {
      workerData: { ...workerData, ...memory } satisfies ThreadSetup & ThreadMemory,
      name: "journal",
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: maxYoungHeapMb },
    });
    let reason = "it ended";
    let helped: AbortController | undefined;
    worker.on("message", (reply: ThreadReply) => {
      if (reply.kind === "fault") onFault(reply.fault);
      else if (reply.kind === "ready") onReady?.();
      else if (reply.kind === "help") {
        helped = new AbortController();
        onHelpWanted(reply, helped.signal);
      } else {
        helped?.abort();
        onReply(reply);
      }
    });
    worker.on("error", (error) => {
      reason = errorMessage(error);
    });
    worker.once("exit", () => {
      places[place] = false;
      openGates.delete(unpackGate);
      Atomics.store(usage, place, 0);
      helped?.abort();
      onEnd(reason);
    });
    worker.unref();
    return {
      send: (request) => worker.postMessage(request, request.kind === "help" ? [request.port] : []),
      cancel: (id) => void Atomics.store(cancelled, 0, id),
      end: () => endOutsideUnpacking(unpackGate, () => void worker.terminate()),
    };
  };
}

type Job = Extract<ThreadRequest, { kind: "query" | "export" | "ask" | "grep" | "learn" | "help" }>;
type JobReply = Extract<ThreadReply, { kind: "answer" | "part" | "answered" | "positions" | "learned" | "helped" }>;

interface Waiting {
  readonly pool: PoolState;
  readonly job: Job;
  readonly isAside: boolean;
  readonly resolve: (reply: JobReply) => void;
  readonly reject: (error: Error) => void;
}

interface Lane {
  readonly thread: Thread;
  isReady: boolean;
  current: Waiting | undefined;
  /** Whether nobody waits for the current job any more. */
  isCancelled: boolean;
  late: NodeJS.Timeout | undefined;
  idle: NodeJS.Timeout | undefined;
}

export interface PoolLimits {
  readonly isForSearches: boolean;
  /** Threads that are at work for it at a time. */
  readonly threads: number;
  readonly waiting: number;
  readonly jobMs: number;
}

export interface CrewLimits {
  /** How long a thread stays for which there is nothing to do. */
  readonly idleMs: number;
  /** Threads that stay however long nothing is asked: a new one has to open and learn to know all files. */
  readonly keptThreads: number;
}

export interface Pool {
  /** @throws LogQueryRefused, JournalUnavailable, Error from the thread. */
  readonly run: (job: Job, signal: AbortSignal) => Promise<JobReply>;
  /**
   * The same in a thread that nothing else needs: it waits for none, and gives up when a job of {@link run} would wait.
   * @throws JournalUnavailable where there is none.
   */
  readonly runAside: (job: Job, signal: AbortSignal) => Promise<JobReply>;
}

/** How long a thread may take to give up a job; then it is ended, and what it has cached is lost. */
const giveUpMs = 200;

const callerGone = "the caller has gone";

/** Threads, and the pools whose jobs they do. */
interface Crew {
  readonly startThread: StartThread;
  readonly limits: CrewLimits;
  readonly lanes: Set<Lane>;
  readonly pools: PoolState[];
  isDisposed: boolean;
}

interface PoolState {
  readonly crew: Crew;
  readonly limits: PoolLimits;
  readonly queue: Waiting[];
}

function settle(crew: Crew, lane: Lane): Waiting | undefined {
  const { current } = lane;
  lane.current = undefined;
  lane.isCancelled = false;
  clearTimeout(lane.late);
  clearTimeout(lane.idle);
  lane.idle = setTimeout(() => {
    if (crew.lanes.size > crew.limits.keptThreads) endLane(crew, lane);
  }, crew.limits.idleMs);
  lane.idle.unref();
  return current;
}

function endLane({ lanes }: Crew, lane: Lane): void {
  clearTimeout(lane.late);
  clearTimeout(lane.idle);
  lanes.delete(lane);
  lane.thread.end();
}

function cancel(lane: Lane, waiting: Waiting): void {
  lane.isCancelled = true;
  lane.thread.cancel(waiting.job.id);
  if (lane.isReady) watch(lane, waiting);
}

function tooLate({ limits }: PoolState): Error {
  return limits.isForSearches
    ? new LogQueryRefused("grep", "Takes too long: simplify the expression or narrow the window")
    : new JournalUnavailable("reading takes too long");
}

/** Ends the job of a thread that has started when its time is over. */
function watch(lane: Lane, waiting: Waiting): void {
  const { pool } = waiting;
  clearTimeout(lane.late);
  const onLate = (): void => {
    if (lane.isCancelled) {
      endLane(pool.crew, lane);
      dispatchAll(pool.crew);
    } else {
      waiting.reject(tooLate(pool));
      cancel(lane, waiting);
    }
  };
  lane.late = setTimeout(onLate, lane.isCancelled ? giveUpMs : pool.limits.jobMs);
  lane.late.unref();
}

function openLane(crew: Crew): Lane {
  const thread = crew.startThread({
    onReady() {
      lane.isReady = true;
      if (lane.current !== undefined) watch(lane, lane.current);
    },
    onReply(reply) {
      const done = settle(crew, lane);
      if (reply.kind === "failure") done?.reject(fromThreadFailure(reply.failure));
      else if (reply.kind !== "entries" && reply.kind !== "unread") done?.resolve(reply);
      dispatchAll(crew);
    },
    onEnd(reason) {
      settle(crew, lane)?.reject(new Error(`the journal's thread ended: ${reason}`));
      endLane(crew, lane);
      if (!crew.isDisposed) dispatchAll(crew);
    },
  });
  const lane: Lane = {
    thread,
    isReady: false,
    current: undefined,
    isCancelled: false,
    late: undefined,
    idle: undefined,
  };
  crew.lanes.add(lane);
  return lane;
}

/** The threads that are at work for a pool. */
const lanesOf = (pool: PoolState): readonly Lane[] =>
  [...pool.crew.lanes].filter(({ current }) => current?.pool === pool);

/** @param isAside leaves the last free thread, which knows the files, to jobs that somebody waits for. */
function freeLane(pool: PoolState, isAside: boolean): Lane | undefined {
  const { crew, limits } = pool;
  if (lanesOf(pool).length >= limits.threads) return undefined;
  const free = [...crew.lanes].filter(({ current }) => current === undefined);
  return isAside && free.length === 1 ? openLane(crew) : (free[0] ?? openLane(crew));
}

function begin(lane: Lane, waiting: Waiting): void {
  clearTimeout(lane.idle);
  lane.current = waiting;
  lane.thread.send(waiting.job);
  if (lane.isReady) watch(lane, waiting);
}

function dispatchAll({ pools }: Crew): void {
  for (const pool of pools) dispatch(pool);
}

function dispatch(pool: PoolState): void {
  while (pool.queue.length > 0) {
    const lane = freeLane(pool, false);
    const waiting = lane === undefined ? undefined : pool.queue.shift();
    if (lane === undefined || waiting === undefined) break;
    begin(lane, waiting);
  }
  const lanes = lanesOf(pool);
  const givingUp = lanes.filter(({ isCancelled }) => isCancelled).length;
  const wanted = Math.max(0, pool.queue.length - givingUp);
  const aside = lanes.flatMap(({ current, isCancelled }) =>
    current?.isAside === true && !isCancelled ? [current] : [],
  );
  for (const waiting of aside.slice(0, wanted)) abandon(waiting, "others wait for the thread");
}

function abandon(waiting: Waiting, why: string): void {
  const { queue, crew } = waiting.pool;
  waiting.reject(new JournalUnavailable(why));
  const index = queue.indexOf(waiting);
  if (index >= 0) queue.splice(index, 1);
  const lane = [...crew.lanes].find(({ current }) => current === waiting);
  if (lane !== undefined) cancel(lane, waiting);
}

function addPool(crew: Crew, limits: PoolLimits): Pool {
  const pool: PoolState = { crew, limits, queue: [] };
  crew.pools.push(pool);
  /** @param place has the job begin, or wait. */
  const start = (
    { job, isAside, signal }: Pick<Waiting, "job" | "isAside"> & { readonly signal: AbortSignal },
    place: (waiting: Waiting) => void,
  ): Promise<JobReply> => {
    if (crew.isDisposed) return Promise.reject(new JournalUnavailable("the service is stopping"));
    if (signal.aborted) return Promise.reject(new JournalUnavailable(callerGone));
    const { promise, resolve, reject } = Promise.withResolvers<JobReply>();
    const waiting: Waiting = { pool, job, isAside, resolve, reject };
    const onAbort = (): void => abandon(waiting, callerGone);
    signal.addEventListener("abort", onAbort, { once: true });
    place(waiting);
    return promise.finally(() => signal.removeEventListener("abort", onAbort));
  };
  return {
    run: (job, signal) =>
      start({ job, isAside: false, signal }, (waiting) => {
        if (pool.queue.length >= limits.waiting) {
          waiting.reject(new JournalUnavailable("too many log queries are waiting (try again later)"));
          return;
        }
        pool.queue.push(waiting);
        dispatch(pool);
      }),
    runAside: (job, signal) =>
      start({ job, isAside: true, signal }, (waiting) => {
        const lane = pool.queue.length === 0 ? freeLane(pool, true) : undefined;
        if (lane === undefined) waiting.reject(new JournalUnavailable("no thread is free"));
        else begin(lane, waiting);
      }),
  };
}

/**
 * Threads that take one job at a time; they are started when they are needed.
 * @returns pools, each with so many of the threads at most: one that is free does the jobs of any.
 */
export function createPools<K extends string>(
  startThread: StartThread,
  limits: CrewLimits,
  ofPools: Readonly<Record<K, PoolLimits>>,
): { readonly pools: Readonly<Record<K, Pool>>; readonly dispose: () => void } {
  const crew: Crew = { startThread, limits, lanes: new Set(), pools: [], isDisposed: false };
  const names = Object.keys(ofPools) as K[];
  return {
    pools: Object.fromEntries(names.map((name) => [name, addPool(crew, ofPools[name])])) as Record<K, Pool>,
    dispose() {
      crew.isDisposed = true;
      for (const { queue } of crew.pools)
        for (const waiting of queue.splice(0)) waiting.reject(new JournalUnavailable("the service is stopping"));
      for (const lane of [...crew.lanes]) endLane(crew, lane);
    },
  };
}
