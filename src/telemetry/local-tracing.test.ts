import { expect, it } from "vitest";
import { createLocalTracer, type LocalSpan } from "./local-tracing.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";

function createTracer(ignored: readonly string[] = []) {
  const traces: (readonly LocalSpan[])[] = [];
  const time = { nowMs: 0 };
  const tracer = createLocalTracer({
    onTrace: (spans) => void traces.push(spans),
    ignored: new Set(ignored),
    monotonicMs: () => time.nowMs,
    perRoute: 2,
    perSecond: 3,
  });
  return { tracer, traces, time };
}

it("local tracing takes a few requests of each route and second", () => {
  const { tracer, time } = createTracer(["/livez"]);
  const taken = (routes: string): string =>
    routes
      .split("")
      .filter((route) => tracer.takes(route))
      .join("");
  expect(tracer.takes("/livez")).toBe(false);
  expect(taken("aaaabbb")).toBe("aab");
  time.nowMs = 999;
  expect(taken("c")).toBe("");
  time.nowMs = 1000;
  expect(taken("caaa")).toBe("caa");
});

it("local tracing has the spans of a request once it ends, children first", async () => {
  const { tracer, traces } = createTracer();
  const request = tracer.request("GET /", { a: 1 }, {});
  await request.run(() =>
    tracer.span("client", "work", { b: 2 }, (span) => {
      span.set({ c: 3 });
      expect(tracer.headers()).toEqual({
        traceparent: expect.stringMatching(new RegExp(`^00-${request.traceId}-[0-9a-f]{16}-01$`)),
      });
      return Promise.resolve();
    }),
  );
  expect(traces).toEqual([]);
  request.fail("500");
  request.end();
  const [spans = []] = traces;
  const [child, root] = spans;
  if (child === undefined || root === undefined) throw new Error("there are not two spans");
  expect(root).toMatchObject({
    traceId: request.traceId,
    parentSpanId: "",
    name: "GET /",
    kind: "server",
    isFailed: true,
    attributes: { a: 1, "error.type": "500" },
  });
  expect(child).toMatchObject({
    traceId: request.traceId,
    parentSpanId: root.spanId,
    name: "work",
    kind: "client",
    isFailed: false,
    attributes: { b: 2, c: 3 },
  });
  expect(child.startNs >= root.startNs && child.endNs <= root.endNs && child.startNs <= child.endNs).toBe(true);
});

it("local tracing continues the trace and sampling of the caller", () => {
  const { tracer, traces } = createTracer();
  const state = { tracestate: "vendor=opaque" };
  const wanted = tracer.request("GET /", {}, { traceparent: `00-${traceId}-${spanId}-01`, ...state });
  expect(wanted.run(() => tracer.headers())).toMatchObject({ tracestate: "vendor=opaque" });
  wanted.end();
  const unwanted = tracer.request("GET /", {}, { traceparent: `00-${traceId}-${spanId}-00` });
  expect(unwanted.run(() => tracer.headers())["traceparent"]).toMatch(/-00$/);
  unwanted.end();
  const malformed = tracer.request("GET /", {}, { traceparent: "no", ...state });
  malformed.end();
  expect(traces).toMatchObject([
    [{ traceId, parentSpanId: spanId, traceState: "vendor=opaque" }],
    [{ traceId: malformed.traceId, parentSpanId: "", traceState: "" }],
  ]);
});

it("local tracing makes no span outside of a trace, nor after the answer", async () => {
  const { tracer, traces } = createTracer();
  expect(tracer.begin("client", "work", {})).toBeUndefined();
  expect(tracer.headers()).toEqual({});
  expect(await tracer.span("client", "work", {}, () => Promise.resolve(1))).toBe(1);
  const request = tracer.request("GET /", {}, {});
  const open = request.run(() => tracer.begin("client", "late", {}));
  const answered = Promise.withResolvers<void>();
  const later = request.run(async () => {
    await answered.promise;
    return [tracer.begin("client", "work", {}), tracer.headers()];
  });
  request.end();
  open?.end();
  answered.resolve();
  expect(await later).toEqual([undefined, {}]);
  expect(traces.map((spans) => spans.map(({ name }) => name))).toEqual([["GET /"]]);
});

it("local tracing bounds the spans of a trace, and keeps its root", () => {
  const { tracer, traces } = createTracer();
  const request = tracer.request("GET /", {}, {});
  request.run(() => {
    for (let count = 0; count < 2000; count += 1) tracer.begin("client", "work", {})?.end();
  });
  request.end();
  expect([traces[0]?.length, traces[0]?.at(-1)?.name]).toEqual([513, "GET /"]);
});

it("local tracing passes on the error of the work", async () => {
  const { tracer, traces } = createTracer();
  const failure = new TypeError("no");
  await expect(tracer.operation("work", {}, undefined, () => Promise.reject(failure))).rejects.toBe(failure);
  expect(traces).toMatchObject([[{ kind: "internal", isFailed: true, attributes: { "error.type": "TypeError" } }]]);
});
