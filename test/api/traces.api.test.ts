import { afterEach, beforeEach, expect, it } from "vitest";
import type { TraceList } from "#contract/traces.ts";
import { ownSource } from "#domain/ports/traces.ts";
import { keptSpan } from "#domain/traces/span.ts";
import { createFakeTraceStore, type FakeTraceStore } from "../fakes/trace-store.ts";
import { send, startTestService, type TestService } from "./harness.ts";

const secondNs = 1_000_000_000n;
const startNs = 1_800_000_000n * secondNs;
let store: FakeTraceStore;
let service: TestService;
beforeEach(async () => {
  store = createFakeTraceStore();
  service = await startTestService({ traces: store });
});
afterEach(() => service.app.close());

const traceId = (number: number): string => number.toString(16).padStart(32, "0");

/** A trace of one span, of a service, that begins so many seconds after the others and takes as long. */
async function keep(number: number, name: string, seconds: bigint): Promise<void> {
  const span = keptSpan({
    traceId: traceId(number),
    spanId: "00000000000000ab",
    parentSpanId: "",
    traceState: "",
    scope: "library",
    name: `work of ${name}`,
    kind: "server",
    startNs: startNs + seconds * secondNs + 1n,
    endNs: startNs + seconds * secondNs * 2n + 1n,
    status: "error",
    statusMessage: "<script>",
    attributes: { ["__proto__"]: 1, text: "ä\u0000" },
    droppedAttributes: 2,
    events: [],
    droppedEvents: 0,
    links: [],
    droppedLinks: 0,
  });
  await store.add(
    [{ service: name, resource: JSON.stringify({ "service.name": name }), spans: [span] }],
    name === "own" ? ownSource : 1000,
  );
}

const list = async (query: string): Promise<TraceList> =>
  (await send(service, { path: `/api/v1/traces${query}`, key: service.admin })).json as TraceList;
const idsOf = async (query: string): Promise<readonly number[]> =>
  (await list(query)).traces.map(({ trace_id: id }) => Number.parseInt(id, 16));

it("GET /traces lists traces, the newest first, by service, duration and start", async () => {
  expect(await list("")).toEqual({ traces: [], limit: 100, next_cursor: null });
  await keep(1, "shop", 1n);
  await keep(2, "front", 2n);
  await keep(3, "shop", 3n);
  expect((await list("?limit=1")).traces).toEqual([
    {
      trace_id: traceId(3),
      name: "work of shop",
      service: "shop",
      origin: "received",
      start: "2027-01-15T08:00:03.000000Z",
      duration_ms: 3000,
      spans: 1,
      errors: 1,
    },
  ]);
  expect(await idsOf("")).toEqual([3, 2, 1]);
  expect(await idsOf("?service=shop")).toEqual([3, 1]);
  await keep(4, "own", 4n);
  expect((await list("?origin=own")).traces).toMatchObject([{ trace_id: traceId(4), origin: "own" }]);
  expect(await idsOf("?origin=received")).toEqual([3, 2, 1]);
  expect(await idsOf("?min_duration=2s&origin=received")).toEqual([3, 2]);
  expect(await idsOf("?min_duration=2001ms&service=front")).toEqual([]);
  expect(await idsOf("?since=2027-01-15T08:00:02Z")).toEqual([4, 3, 2]);
});

it("GET /traces/{trace_id} has the spans of the trace", async () => {
  await keep(0xabc, "shop", 0n);
  for (const id of [traceId(0xabc), traceId(0xabc).toUpperCase()]) {
    const answer = await send(service, { path: `/api/v1/traces/${id}`, key: service.admin });
    expect(answer.headers["content-type"]).toMatch(/^application\/json/);
    expect(answer.json).toMatchObject({
      trace_id: traceId(0xabc),
      spans: [
        {
          span_id: "00000000000000ab",
          parent_span_id: "",
          start: "2027-01-15T08:00:00.000000001Z",
          status: "error",
          status_message: "<script>",
          dropped_attributes: 2,
          resource: { "service.name": "shop" },
        },
      ],
    });
  }
});

it.each(["limit=0", "min_duration=5", "min_duration=1d", "service=", `service=${"x".repeat(1025)}`])(
  "GET /traces refuses %.40s",
  async (query) => {
    const answer = await send(service, { path: `/api/v1/traces?${query}`, key: service.admin });
    expect(answer).toMatchObject({ status: 400, json: { error: { details: { field: query.split("=")[0] } } } });
  },
);

it("GET /traces shows an example of a duration where one is malformed", async () => {
  const answer = await send(service, { path: "/api/v1/traces?min_duration=long", key: service.admin });
  expect(answer.json).toMatchObject({ error: { details: { issue: 'Must look like "250ms"' } } });
});

it.each(["0", "g".repeat(32), `${"0".repeat(31)}%00`])("GET /traces/%s is 400", async (id) => {
  const answer = await send(service, { path: `/api/v1/traces/${id}`, key: service.admin });
  expect(answer.status).toBe(400);
});
