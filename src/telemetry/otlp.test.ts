import { expect, it } from "vitest";
import { createOtlpTracing } from "./otlp.ts";
import { tracesUrl } from "./tracing.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const parent = { traceparent: `00-${traceId}-b7ad6b7169203331-00` };

/** A tracer whose spans are all unwanted, so that no collector is asked. */
async function createTracer() {
  const { tracer } = await createOtlpTracing({
    endpoint: "http://127.0.0.1:9",
    protocol: "http",
    sample: 0,
    version: "1",
    onSpans: () => undefined,
    onLost: () => undefined,
    onBack: () => undefined,
  });
  return tracer;
}

it.each([
  ["http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"],
  ["http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/traces"],
  ["http://127.0.0.1:4318/v1/traces", "http://127.0.0.1:4318/v1/traces"],
  ["https://collector.example/otlp?a=b", "https://collector.example/otlp/v1/traces?a=b"],
])("OTLP spans for %s are sent to %s", (endpoint, url) => {
  expect(tracesUrl(endpoint)).toBe(url);
});

it("OTLP tracing makes no span outside of a trace", async () => {
  const tracer = await createTracer();
  expect(tracer.begin("client", "work", {})).toBeUndefined();
  expect(tracer.headers()).toEqual({});
  expect(await tracer.span("client", "work", {}, () => Promise.resolve(1))).toBe(1);
});

it("OTLP tracing makes no span after the answer", async () => {
  const tracer = await createTracer();
  const request = tracer.request("GET /", {}, parent);
  const answered = Promise.withResolvers<void>();
  const later = request.run(async () => {
    await answered.promise;
    return [tracer.begin("client", "work", {}), tracer.headers()];
  });
  request.end();
  answered.resolve();
  expect(await later).toEqual([undefined, {}]);
});

it("OTLP tracing has the trace of the caller and the current span in its headers", async () => {
  const tracer = await createTracer();
  const request = tracer.request("GET /", {}, parent);
  expect(request.traceId).toBe(traceId);
  const outer = request.run(() => tracer.headers());
  const inner = await request.run(() => tracer.span("client", "work", {}, () => Promise.resolve(tracer.headers())));
  expect([outer["traceparent"], inner["traceparent"]]).toEqual(
    Array(2).fill(expect.stringMatching(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`))),
  );
  expect(inner).not.toEqual(outer);
});
