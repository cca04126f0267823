import { TraceFlags } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createSpanQueue, type QueueLimits } from "./otlp-queue.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const limits: QueueLimits = { waiting: 10, batch: 4, delayMs: 1_000, attempts: 3, calmMs: 5_000, closeMs: 1_500 };

/** What the queue uses of a span: its name to know it by, and whether it is sampled. */
const span = (name: string, traceFlags: TraceFlags = TraceFlags.SAMPLED) =>
  ({ name, spanContext: () => ({ traceId: "", spanId: "", traceFlags }) }) as ReadableSpan;

type Answer = "taken" | "refused" | "silent" | "throws";

/** A queue before a collector that answers as it is set. */
function setUp(given: Partial<QueueLimits> = {}) {
  const state = { answer: "taken" as Answer };
  const batches: string[][] = [];
  const counts = { exported: 0, dropped: 0 };
  const reported: string[] = [];
  let connections = 0;
  let shutdowns = 0;
  const queue = createSpanQueue({
    connect() {
      connections += 1;
      return {
        export(spans, done) {
          if (state.answer === "throws") throw new Error("cannot be written");
          batches.push(spans.map(({ name }) => name));
          if (state.answer === "taken") done({ code: 0 });
          if (state.answer === "refused") done({ code: 1, error: new Error("refused") });
        },
        shutdown() {
          shutdowns += 1;
          return Promise.resolve();
        },
      };
    },
    onSpans(result, count) {
      counts[result] += count;
    },
    onLost: (error) => reported.push(String(error)),
    onBack: () => reported.push("back"),
    limits: { ...limits, ...given },
  });
  const add = (...names: readonly string[]): void => {
    for (const name of names) queue.processor.onEnd(span(name));
  };
  return { state, batches, counts, reported, queue, add, connections: () => connections, shutdowns: () => shutdowns };
}

const names = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `span ${index}`);

it("queued spans are sent together after a delay, or when there are enough", async () => {
  const { batches, add, counts } = setUp();
  add("a", "b");
  expect(batches).toEqual([]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(batches).toEqual([["a", "b"]]);
  add("c", "d", "e", "f", "g");
  expect(batches.slice(1)).toEqual([["c", "d", "e", "f"]]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(batches.slice(2)).toEqual([["g"]]);
  expect(counts).toEqual({ exported: 7, dropped: 0 });
});

it("spans that are not sampled are not queued", async () => {
  const { batches, queue, counts } = setUp();
  queue.processor.onEnd(span("unwanted", TraceFlags.NONE));
  await vi.advanceTimersByTimeAsync(60_000);
  expect([batches, counts]).toEqual([[], { exported: 0, dropped: 0 }]);
});

it("queued spans that do not fit are dropped and counted while the collector is silent", async () => {
  const { state, add, counts, batches } = setUp();
  state.answer = "silent";
  add(...names(30));
  await vi.advanceTimersByTimeAsync(60_000);
  // One batch under way, and as many behind it as may wait.
  expect(batches).toHaveLength(1);
  expect(counts).toEqual({ exported: 0, dropped: 30 - limits.batch - limits.waiting });
});

it.each<Answer>(["refused", "throws"])(
  "queued spans are retried and dropped after some attempts: %s",
  async (answer) => {
    const { state, add, counts, reported, connections, shutdowns } = setUp();
    state.answer = answer;
    add("a");
    await vi.advanceTimersByTimeAsync(1_000);
    expect([counts.dropped, connections()]).toEqual([0, 2]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(counts).toEqual({ exported: 0, dropped: 1 });
    expect(reported).toHaveLength(1);
    expect(connections()).toBe(1 + limits.attempts);
    expect(shutdowns()).toBe(limits.attempts);
  },
);

it("queued spans are sent once the collector is back, which is reported once", async () => {
  const { state, add, counts, reported, batches } = setUp();
  state.answer = "refused";
  add("a");
  await vi.advanceTimersByTimeAsync(1_000);
  state.answer = "taken";
  await vi.advanceTimersByTimeAsync(2_000);
  expect(batches).toEqual([["a"], ["a"]]);
  expect(counts).toEqual({ exported: 1, dropped: 0 });
  expect(reported).toEqual(["Error: refused"]);
  await vi.advanceTimersByTimeAsync(limits.calmMs);
  add("b");
  await vi.advanceTimersByTimeAsync(1_000);
  add("c");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(reported).toEqual(["Error: refused", "back"]);
});

it("a flapping collector is reported once", async () => {
  const { state, add, reported } = setUp({ attempts: 1 });
  for (let turn = 0; turn < 20; turn += 1) {
    state.answer = turn % 2 === 0 ? "refused" : "taken";
    add("a");
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(reported).toEqual(["Error: refused"]);
});

it("queued spans are sent at the end", async () => {
  const { queue, add, counts, batches } = setUp();
  add("a", "b");
  await queue.close();
  expect([batches, counts]).toEqual([[["a", "b"]], { exported: 2, dropped: 0 }]);
  add("late");
  await queue.close();
  expect(batches).toHaveLength(1);
});

it("a silent collector is not waited for at the end", async () => {
  const { state, queue, add, counts } = setUp();
  state.answer = "silent";
  add(...names(12));
  let isClosed = false;
  void queue.close().then(() => {
    isClosed = true;
  });
  await vi.advanceTimersByTimeAsync(limits.closeMs - 1);
  expect(isClosed).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(isClosed).toBe(true);
  expect(counts).toEqual({ exported: 0, dropped: 12 });
});

it("a lost collector is not waited for at all at the end", async () => {
  const { state, queue, add, counts, batches } = setUp();
  state.answer = "refused";
  add("a");
  await vi.advanceTimersByTimeAsync(1_000);
  add("b");
  const sent = batches.length;
  await queue.close();
  expect(batches).toHaveLength(sent);
  expect(counts).toEqual({ exported: 0, dropped: 2 });
});
