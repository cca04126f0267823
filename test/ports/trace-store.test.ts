import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { exec } from "#adapters/exec/index.ts";
import { openTraces, type SqliteTraces } from "#adapters/trace-store/index.ts";
import { createHostTraces, type HostTraces } from "#app/tracing/traces.ts";
import {
  type KeptSpan,
  maxTraceSpans,
  ownSource,
  type SpanGroup,
  type TraceStore,
  TracesUnavailable,
} from "#domain/ports/traces.ts";
import { byBreadth } from "../support/breadth.ts";
import { directoryPerTest } from "./support/directories.ts";
import { sourceOf } from "./support/programs.ts";

const mib = 1024 * 1024;
const at = directoryPerTest();
let open: SqliteTraces | undefined;
let thread: HostTraces | undefined;
let troubles: (string | undefined)[];
beforeEach(() => {
  troubles = [];
});
afterEach(async () => {
  open?.dispose();
  open = undefined;
  await thread?.close();
  thread = undefined;
});

const openReal = (keepBytes = 8 * mib): SqliteTraces => {
  open?.dispose();
  open = openTraces({ stateDir: at(), keepBytes, onTrouble: (_, aside) => void troubles.push(aside) });
  return open;
};
const openReally = (): TraceStore => {
  const { add, list, trace } = openReal();
  return {
    add: (groups, source) => Promise.resolve(add(groups, source)),
    list: (query) => Promise.resolve(list(query)),
    trace: (traceId) => Promise.resolve(trace(traceId)),
  };
};
const openThread = (options: { idleMs?: number } = {}): HostTraces => {
  const onTrouble = (message: string): void => void troubles.push(message);
  thread = createHostTraces({ stateDir: at(), keepBytes: 8 * mib, forwards: false, onTrouble, ...options });
  return thread;
};

/** Who sends spans. */
const user = 1000;
const secondUs = 1_000_000;
const traceId = (number: number): string => number.toString(16).padStart(32, "0");
const spanId = (number: number): string => number.toString(16).padStart(16, "0");
const span = (trace: number, id: number, rest: Partial<KeptSpan> = {}): KeptSpan => ({
  traceId: traceId(trace),
  spanId: spanId(id),
  isRoot: false,
  isError: false,
  name: `span ${id}`,
  startUs: 1000 * secondUs,
  endUs: 1001 * secondUs,
  json: JSON.stringify({ span_id: spanId(id) }),
  ...rest,
});
const group = (service: string, ...spans: readonly KeptSpan[]): SpanGroup => ({
  service,
  resource: JSON.stringify({ "service.name": service }),
  spans,
});
const all = { service: undefined, origin: undefined, minDurationUs: 0, sinceUs: 0, after: undefined, limit: 100 };
const read = async (store: Pick<TraceStore, "trace">, trace: number): Promise<unknown> => {
  const bytes = await store.trace(traceId(trace));
  return bytes === undefined ? undefined : JSON.parse(Buffer.from(bytes).toString());
};

describe.each([
  ["in this thread", openReally],
  ["in a thread of its own", openThread],
] as const)("the trace store %s", (_, make: () => TraceStore) => {
  it("starts empty", async () => {
    const store = make();
    expect(await store.list(all)).toEqual([]);
    expect(await store.trace(traceId(1))).toBeUndefined();
  });

  it("puts a trace together from what comes in any order, and from any service", async () => {
    const store = make();
    const child = span(1, 2, { startUs: 1001 * secondUs, endUs: 1009 * secondUs, isError: true });
    const sibling = span(1, 3, { startUs: 1002 * secondUs, endUs: 1003 * secondUs });
    expect(await store.add([group("shop", child)], user)).toEqual({ kept: 1, rejected: 0 });
    expect(await store.list(all)).toMatchObject([{ name: "span 2", service: "shop", duration_ms: 8000, spans: 1 }]);
    await store.add([group("front", span(1, 1, { isRoot: true, name: "GET /" })), group("shop", sibling)], user);
    expect(await store.list(all)).toEqual([
      {
        trace_id: traceId(1),
        name: "GET /",
        service: "front",
        origin: "received",
        start: "1970-01-01T00:16:40.000000Z",
        duration_ms: 9000,
        spans: 3,
        errors: 1,
      },
    ]);
    expect(await read(store, 1)).toEqual({
      trace_id: traceId(1),
      spans: [
        { span_id: spanId(1), origin: "received", resource: { "service.name": "front" } },
        { span_id: spanId(2), origin: "received", resource: { "service.name": "shop" } },
        { span_id: spanId(3), origin: "received", resource: { "service.name": "shop" } },
      ],
    });
  });

  it("keeps a span once, however often it comes", async () => {
    const store = make();
    for (let count = 0; count < 3; count += 1)
      expect(await store.add([group("shop", span(1, 1), span(1, 1), span(1, 2))], user)).toEqual({
        kept: 3,
        rejected: 0,
      });
    expect(await store.list(all)).toMatchObject([{ spans: 2 }]);
  });

  it("lists the newest first, by service, duration and start", async () => {
    const store = make();
    const times = [5, 1, 3].map((start, at) =>
      span(at + 1, 1, { startUs: start * secondUs, endUs: (start + at) * secondUs }),
    );
    await store.add([group("a", ...times.slice(0, 2)), group("b", ...times.slice(2))], user);
    const ids = async (query: Partial<typeof all> | { service: string }): Promise<readonly number[]> =>
      (await store.list({ ...all, ...query })).map(({ trace_id: id }) => Number.parseInt(id, 16));
    expect(await ids({})).toEqual([1, 3, 2]);
    expect(await ids({ limit: 2 })).toEqual([1, 3]);
    expect(await ids({ service: "a" })).toEqual([1, 2]);
    expect(await ids({ service: "b" })).toEqual([3]);
    expect(await ids({ service: "" })).toEqual([]);
    expect(await ids({ minDurationUs: secondUs })).toEqual([3, 2]);
    expect(await ids({ minDurationUs: 2 * secondUs + 1 })).toEqual([]);
    expect(await ids({ sinceUs: 3 * secondUs })).toEqual([1, 3]);
  });

  it("continues behind a trace, also among those of the same time", async () => {
    const store = make();
    const ids = [3, 1, 2, 5];
    for (const id of ids) await store.add([group("a", span(id, id))], user);
    await store.add([group("a", span(4, 4, { startUs: 999 * secondUs }))], user);
    const page = async (startUs: number, id: number, limit = 100) =>
      (await store.list({ ...all, after: { startUs, traceId: traceId(id) }, limit })).map((trace) => trace.trace_id);
    expect((await store.list(all)).map((trace) => trace.trace_id)).toEqual([5, 3, 2, 1, 4].map(traceId));
    expect(await page(1000 * secondUs, 3)).toEqual([2, 1, 4].map(traceId));
    expect(await page(1000 * secondUs, 3, 1)).toEqual([traceId(2)]);
    // One that is no longer kept.
    expect(await page(1000 * secondUs - 1, 9)).toEqual([traceId(4)]);
    expect(await page(999 * secondUs, 4)).toEqual([]);
    expect(await page(Number.MAX_SAFE_INTEGER, 0)).toHaveLength(5);
  });

  it("has a trace of so many spans, and no more", async () => {
    const store = make();
    const spans = Array.from({ length: maxTraceSpans + 3 }, (_each, id) => span(1, id + 1));
    expect(await store.add([group("shop", ...spans)], user)).toEqual({ kept: maxTraceSpans, rejected: 3 });
    expect(await store.list(all)).toMatchObject([{ spans: maxTraceSpans }]);
  });

  it("distinguishes what the service made itself from what only says so", async () => {
    const store = make();
    const root = { isRoot: true, name: "GET /" };
    await store.add([group("steward", span(1, 1, root))], ownSource);
    await store.add([group("steward", span(2, 1, root))], user);
    // In the trace of the service: a second root, the same span, and a child.
    const forged = [span(1, 3, { ...root, name: "forged", startUs: 1 }), span(1, 1, root), span(1, 2)];
    expect(await store.add([group("steward", ...forged)], user)).toEqual({ kept: 3, rejected: 0 });
    const origins = (await store.list(all)).map(({ trace_id: id, origin }) => [Number.parseInt(id, 16), origin]);
    expect(Object.fromEntries(origins)).toEqual({ 1: "own", 2: "received" });
    const { spans } = (await read(store, 1)) as { spans: readonly { span_id: string; origin: string }[] };
    expect(spans.map(({ origin }) => origin).toSorted()).toEqual(["own", "received", "received", "received"]);
    const ids = async (origin: "own" | "received") =>
      (await store.list({ ...all, origin, service: "steward" })).map(({ trace_id: id }) => Number.parseInt(id, 16));
    expect(await ids("own")).toEqual([1]);
    expect(new Set(await ids("received"))).toEqual(new Set([1, 2]));
  });

  it("lets nobody fill the trace of somebody else", async () => {
    const store = make();
    const spans = Array.from({ length: maxTraceSpans }, (_each, id) => span(1, id + 1));
    await store.add([group("shop", ...spans)], user);
    expect(await store.add([group("shop", span(1, 1), span(1, maxTraceSpans + 1))], user + 1)).toEqual({
      kept: 2,
      rejected: 0,
    });
    expect(await store.list(all)).toMatchObject([{ spans: maxTraceSpans + 2 }]);
  });

  it("takes the latest time that there is", async () => {
    const store = make();
    const latest = Number.MAX_SAFE_INTEGER;
    await store.add([group("shop", span(1, 1, { startUs: latest, endUs: latest }))], user);
    expect(await store.list(all)).toMatchObject([{ start: "2255-06-05T23:47:34.740991Z", duration_ms: 0 }]);
  });
});

/** Spans of traces that no other batch has, 1 KiB each. */
const batch = (number: number, traces = 100): SpanGroup =>
  group(
    "shop",
    ...Array.from({ length: traces }, (_, at) =>
      span(number * 1000 + at + 1, 1, { json: JSON.stringify({ text: "x".repeat(1000) }) }),
    ),
  );

describe("traces on disk", () => {
  it("stay within their space, the oldest go first, and the file does not grow", () => {
    const traces = openReal(mib);
    for (let number = 0; number < 40; number += 1) {
      traces.add([batch(number)], user);
      expect(traces.usedBytes()).toBeLessThanOrEqual(mib);
    }
    const ids = traces.list({ ...all, limit: 5000 }).map(({ trace_id: id }) => Number.parseInt(id, 16));
    expect(ids.length).toBeGreaterThan(500);
    expect(ids.length).toBeLessThan(1000);
    // Those that are left are the last that came, without a gap.
    const expected = Array.from({ length: 4000 }, (_, at) => Math.floor(at / 100) * 1000 + (at % 100) + 1);
    expect(ids.toSorted((a, b) => a - b)).toEqual(expected.slice(-ids.length));
    for (const [path, most] of [
      [at("traces.db"), 1.5 * mib],
      [at("traces.db-wal"), 8 * mib],
    ] as const)
      expect(statSync(path).size).toBeLessThan(most);
  });

  it("go first of the client with the most, so that nobody pushes out what others have", () => {
    const traces = openReal(mib);
    traces.add([batch(0, 20)], user);
    traces.add([batch(1, 20)], ownSource);
    for (let number = 2; number < 40; number += 1) traces.add([batch(number)], user + 1);
    const ids = traces.list({ ...all, limit: 5000 }).map(({ trace_id: id }) => Number.parseInt(id, 16));
    expect(traces.usedBytes()).toBeLessThanOrEqual(mib);
    const kept = (from: number, to: number) => ids.filter((id) => id >= from && id < to).length;
    expect([kept(0, 1000), kept(1000, 2000)]).toEqual([20, 20]);
    expect(ids).toContain(39_100);
    // Who comes later gets as much as those who are there.
    for (let number = 40; number < 80; number += 1) traces.add([batch(number)], user + 2);
    const after = traces.list({ ...all, limit: 5000 }).map(({ trace_id: id }) => Number.parseInt(id, 16));
    const [early, late] = [after.filter((id) => id < 40_000 && id >= 2000), after.filter((id) => id >= 40_000)];
    expect(after.filter((id) => id < 2000)).toHaveLength(40);
    expect(early.length / late.length).toBeGreaterThan(0.8);
    expect(early.length / late.length).toBeLessThan(1.25);
  });

  it("go first of the service that has the most among those of one user, however many are invented", () => {
    const traces = openReal(mib);
    const named = (service: string, number: number, count: number): SpanGroup => ({
      ...batch(number, count),
      ...{ service },
    });
    traces.add([named("quiet", 0, 20)], user);
    for (let number = 1; number < 500; number += 1) traces.add([named(`invented ${number}`, number, 8)], user);
    const ids = traces.list({ ...all, limit: 5000 }).map(({ trace_id: id }) => Number.parseInt(id, 16));
    expect(ids.filter((id) => id < 1000)).toHaveLength(20);
    expect(ids).toContain(499_001);
    expect(traces.usedBytes()).toBeLessThanOrEqual(mib);
  });

  it("never let one trace push out all the others", () => {
    const traces = openReal(mib);
    traces.add([group("other", span(1, 1))], user);
    const json = JSON.stringify({ text: "x".repeat(1000) });
    const spans = Array.from({ length: 1000 }, (_, id) => span(2, id + 1, { json }));
    const { kept, rejected } = traces.add([group("shop", ...spans)], user);
    expect(kept + rejected).toBe(1000);
    expect(kept).toBeLessThan(mib / 8 / 1000);
    expect(traces.list(all)).toMatchObject([{ spans: kept }, { spans: 1 }]);
  });

  it("keep nothing of a trace whose only span is too large", () => {
    const traces = openReal(mib);
    const json = JSON.stringify({ text: "x".repeat(mib) });
    expect(traces.add([group("shop", span(1, 1, { json }))], user)).toEqual({ kept: 0, rejected: 1 });
    expect(traces.list(all)).toEqual([]);
  });

  it("give space back when there may be less", () => {
    for (let number = 0; number < 60; number += 1) openReal(8 * mib).add([batch(number)], user);
    expect(statSync(at("traces.db")).size).toBeGreaterThan(6 * mib);
    expect(openReal(mib).usedBytes()).toBeLessThanOrEqual(mib);
    expect(statSync(at("traces.db")).size).toBeLessThan(1.5 * mib);
    expect(openReal(mib).list(all)[0]?.trace_id).toBe(traceId(59_100));
  });

  it("of an earlier version make way for new ones", () => {
    const database = new DatabaseSync(at("traces.db"));
    database.exec("CREATE TABLE traces (id); PRAGMA user_version = 1");
    database.close();
    openReal().add([group("shop", span(1, 1))], user);
    expect(openReal().list(all)).toHaveLength(1);
    expect([troubles, readdirSync(at()).filter((name) => name.includes("damaged"))]).toEqual([[], []]);
  });
});

describe("the thread of the traces", () => {
  it("is ended when it has nothing to do, and its file is there for the next", async () => {
    const traces = openThread({ idleMs: 1 });
    for (let number = 1; number <= byBreadth(2, 5); number += 1) {
      await traces.add([group("shop", span(number, 1))], user);
      // Its end closes the database, and that removes the log.
      await expect.poll(() => existsSync(at("traces.db-wal"))).toBe(false);
      expect(await traces.list(all)).toHaveLength(number);
    }
    expect(troubles).toEqual([]);
  });

  it("answers what was asked before it was closed, and nothing after", async () => {
    const traces = openThread();
    const added = traces.add([group("shop", span(1, 1))], user);
    await new Promise(setImmediate);
    await Promise.all([added, traces.close()]);
    await expect(traces.list(all)).rejects.toThrow(TracesUnavailable);
    await expect(
      traces.takeBody({ bytes: new Uint8Array(0), format: "protobuf", isGzip: false, peer: user }),
    ).rejects.toMatchObject({ kind: "overloaded" });
    expect(openReal().list(all)).toHaveLength(1);
  });

  it("keeps the process running until it has answered and is closed, and no longer", async () => {
    const program = `
      import { createHostTraces } from ${sourceOf("app/tracing/traces.ts")};
      const [stateDir, end] = process.argv.slice(2);
      const traces = createHostTraces({ stateDir, keepBytes: 1e6, forwards: false, onTrouble: console.error });
      await traces.list({ service: undefined, origin: undefined, minDurationUs: 0, sinceUs: 0, limit: 1 });
      if (end === "close") await traces.close();
      console.log("done");
    `;
    const script = at("program.mjs");
    writeFileSync(script, program);
    const run = (...argv: readonly string[]) => exec([process.execPath, script, at(), ...argv], { timeoutMs: 60_000 });
    expect(await run("close")).toMatchObject({ exitCode: 0, stdout: "done\n" });
    // An idle thread ends with the process.
    expect(await run()).toMatchObject({ exitCode: 0, stdout: "done\n" });
  });

  it("has only so much waiting", async () => {
    const traces = openThread();
    const bytes = Buffer.alloc(4 * mib, 0x0a);
    const answers = await Promise.allSettled(
      Array.from({ length: 12 }, () => traces.takeBody({ bytes, format: "protobuf", isGzip: false, peer: user })),
    );
    const kinds = answers.map((answer) => (answer.status === "rejected" ? String(answer.reason.kind) : "taken"));
    // Of one user, the half.
    expect(kinds.filter((kind) => kind === "overloaded").length).toBe(8);
    expect(await traces.list(all)).toEqual([]);
  });
});
