import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { LogQuery } from "#domain/ports/journal.ts";
import { type CrewLimits, createPools, type PoolLimits, type ThreadEvents } from "./pool.ts";
import type { ThreadRequest } from "./protocol.ts";

const query: LogQuery = {
  units: undefined,
  since: 0,
  until: 1,
  priority: undefined,
  identifier: undefined,
  boot: undefined,
  grep: undefined,
  cursor: undefined,
  order: "asc",
  limit: 1,
};
const job = (id: number) => ({ id, kind: "query", query }) as const;
const answer = (id: number) => ({ kind: "answer", id, bytes: Uint8Array.of(id) }) as const;
const givenUp = (id: number) =>
  ({ kind: "failure", id, failure: { kind: "unavailable", message: "nobody waits" } }) as const;
const never = new AbortController().signal;

type Asked = Pick<ThreadRequest, "id"> & { readonly kind: ThreadRequest["kind"] | "cancel" };

/** Pools whose threads do nothing by themselves, and write down what they are asked. */
function start({ idleMs = 60_000, keptThreads = 0, ...limits }: Partial<PoolLimits & CrewLimits> = {}) {
  const threads: { readonly events: ThreadEvents; readonly asked: Asked[]; isEnded: boolean }[] = [];
  const ofPool = { isForSearches: false, threads: 1, waiting: 8, jobMs: 60_000, ...limits };
  const { pools, dispose } = createPools(
    (events) => {
      const thread = { events, asked: [] as Asked[], isEnded: false };
      threads.push(thread);
      return {
        send: (request) => void thread.asked.push(request),
        cancel: (id) => void thread.asked.push({ id, kind: "cancel" }),
        end() {
          thread.isEnded = true;
        },
      };
    },
    { idleMs, keptThreads },
    { pool: ofPool, other: ofPool },
  );
  const asked = (): readonly string[] => threads.flatMap((one) => one.asked.map(({ id, kind }) => `${kind} ${id}`));
  return { ...pools, dispose, threads, asked };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("the pool has a thread give up a job whose caller has gone, and reuses the thread", async () => {
  const { pool, threads, asked } = start();
  const gone = new AbortController();
  const first = pool.run(job(1), gone.signal);
  const second = pool.run(job(2), never);
  threads[0]?.events.onReady?.();
  gone.abort();
  await expect(first).rejects.toMatchObject({ name: "JournalUnavailable" });
  expect(asked()).toEqual(["query 1", "cancel 1"]);
  threads[0]?.events.onReply(givenUp(1));
  expect(asked()).toEqual(["query 1", "cancel 1", "query 2"]);
  threads[0]?.events.onReply(answer(2));
  expect(await second).toEqual(answer(2));
  await vi.advanceTimersByTimeAsync(10_000);
  expect([threads.length, threads[0]?.isEnded]).toEqual([1, false]);
});

it("the pool ends a thread that does not give up, and continues with a new one", async () => {
  const { pool, threads, asked } = start();
  const gone = new AbortController();
  const first = pool.run(job(1), gone.signal).catch(() => "refused");
  const second = pool.run(job(2), never);
  threads[0]?.events.onReady?.();
  gone.abort();
  expect(await first).toBe("refused");
  await vi.advanceTimersByTimeAsync(1_000);
  expect([threads[0]?.isEnded, asked()]).toEqual([true, ["query 1", "cancel 1", "query 2"]]);
  threads[1]?.events.onReply(answer(2));
  expect(await second).toEqual(answer(2));
});

it("the pool ends no thread for not giving up while it still starts", async () => {
  const { pool, threads } = start();
  const gone = new AbortController();
  const first = pool.run(job(1), gone.signal).catch(() => "refused");
  gone.abort();
  expect(await first).toBe("refused");
  await vi.advanceTimersByTimeAsync(5_000);
  expect(threads[0]?.isEnded).toBe(false);
  threads[0]?.events.onReady?.();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(threads[0]?.isEnded).toBe(true);
});

it("the pool cancels a job that takes too long", async () => {
  const { pool, threads, asked } = start({ jobMs: 3_000 });
  const late = pool.run(job(1), never).catch((error: unknown) => error);
  threads[0]?.events.onReady?.();
  await vi.advanceTimersByTimeAsync(3_000);
  expect(await late).toMatchObject({ name: "JournalUnavailable", message: "reading takes too long" });
  expect([asked(), threads[0]?.isEnded]).toEqual([["query 1", "cancel 1"], false]);
});

it("the pool starts no job for a caller that has gone, before or in the queue", async () => {
  const { pool, threads, asked } = start();
  await expect(pool.run(job(1), AbortSignal.abort())).rejects.toMatchObject({ name: "JournalUnavailable" });
  expect(threads).toEqual([]);
  const gone = new AbortController();
  const first = pool.run(job(2), never);
  const waiting = pool.run(job(3), gone.signal);
  gone.abort();
  await expect(waiting).rejects.toMatchObject({ name: "JournalUnavailable" });
  threads[0]?.events.onReply(answer(2));
  expect([await first, asked()]).toEqual([answer(2), ["query 2"]]);
});

it("the pool keeps as many idle threads as it is given", async () => {
  const { pool, threads } = start({ threads: 2, keptThreads: 1 });
  const both = [pool.run(job(1), never), pool.run(job(2), never)];
  threads[0]?.events.onReply(answer(1));
  threads[1]?.events.onReply(answer(2));
  await Promise.all(both);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(threads.filter(({ isEnded }) => !isEnded)).toHaveLength(1);
  const third = pool.run(job(3), never);
  expect(threads).toHaveLength(2);
  threads.find(({ isEnded }) => !isEnded)?.events.onReply(answer(3));
  expect(await third).toEqual(answer(3));
});

it("the pool runs a job aside only in a free thread, and cancels it for one that would wait", async () => {
  const { pool, asked, threads } = start({ threads: 2 });
  const first = pool.run(job(1), never);
  const aside = pool.runAside(job(2), never);
  for (const thread of threads) thread.events.onReady?.();
  await expect(pool.runAside(job(3), never)).rejects.toMatchObject({ name: "JournalUnavailable" });
  const second = pool.run(job(4), never);
  await expect(aside).rejects.toMatchObject({ name: "JournalUnavailable", message: "others wait for the thread" });
  expect(asked()).toEqual(["query 1", "query 2", "cancel 2"]);
  const third = pool.run(job(5), never);
  expect(asked()).toEqual(["query 1", "query 2", "cancel 2"]);
  threads[1]?.events.onReply(givenUp(2));
  threads[1]?.events.onReply(answer(4));
  threads[1]?.events.onReply(answer(5));
  threads[0]?.events.onReply(answer(1));
  expect(await Promise.all([first, second, third])).toEqual([answer(1), answer(4), answer(5)]);
  expect(asked()).toEqual(["query 1", "query 2", "cancel 2", "query 4", "query 5"]);
});

it("a thread that is free does the jobs of any pool, and each pool has its number of them at work", async () => {
  const { pool, other, threads, asked } = start({ keptThreads: 1 });
  const first = pool.run(job(1), never);
  threads[0]?.events.onReply(answer(1));
  const second = other.run(job(2), never);
  expect([await first, threads.length]).toEqual([answer(1), 1]);
  const third = other.run(job(3), never);
  const fourth = pool.run(job(4), never);
  expect([threads.length, asked()]).toEqual([2, ["query 1", "query 2", "query 4"]]);
  threads[1]?.events.onReply(answer(4));
  expect(asked()).toEqual(["query 1", "query 2", "query 4"]);
  threads[0]?.events.onReply(answer(2));
  expect(asked()).toEqual(["query 1", "query 2", "query 3", "query 4"]);
  threads[0]?.events.onReply(answer(3));
  expect(await Promise.all([second, third, fourth])).toEqual([answer(2), answer(3), answer(4)]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(threads.map(({ isEnded }) => isEnded).filter(Boolean)).toHaveLength(1);
});

it("a job aside leaves the only free thread to jobs that are waited for", async () => {
  const { pool, other, threads } = start();
  const first = pool.run(job(1), never);
  threads[0]?.events.onReply(answer(1));
  await first;
  const aside = other.runAside(job(2), never);
  const second = pool.run(job(3), never);
  expect(threads.map((one) => one.asked.map(({ id }) => id))).toEqual([[1, 3], [2]]);
  threads[1]?.events.onReply(answer(2));
  threads[0]?.events.onReply(answer(3));
  expect(await Promise.all([aside, second])).toEqual([answer(2), answer(3)]);
});
