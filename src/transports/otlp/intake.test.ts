import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { loadSync } from "@grpc/proto-loader";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Span } from "#contract/traces.ts";
import { readTraces } from "./intake.ts";
import { TracesRefused, takenReply } from "./receiver.ts";

const definitions = loadSync(fileURLToPath(new URL("./traces.proto", import.meta.url)), {
  longs: String,
  defaults: true,
});
const service = definitions["opentelemetry.proto.collector.trace.v1.TraceService"];
if (service === undefined || "format" in service) throw new Error("the definitions have no service");
const { Export: method } = service;
if (method === undefined) throw new Error("the service has no method");

const id = (length: number, fill: number): Buffer => Buffer.alloc(length, fill);
const ids = { traceId: id(16, 0xab), spanId: id(8, 0xcd) };
const ofSpans = (spans: readonly object[], resource: readonly object[] = []) => ({
  resourceSpans: [{ resource: { attributes: resource }, scopeSpans: [{ scope: { name: "library" }, spans }] }],
});
/** A request as another implementation of protobuf writes it. */
const encode = (request: object): Buffer => method.requestSerialize(request);
const read = (bytes: Uint8Array) => readTraces({ bytes, format: "protobuf", isGzip: false });
/** Numbers that JSON has no word for are strings (ProtoJSON). */
const toJson = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    typeof each === "number" && !Number.isFinite(each) ? String(each) : each,
  );
const readJson = (value: unknown) => readTraces({ bytes: Buffer.from(toJson(value)), format: "json", isGzip: false });
const spansOf = ({ groups }: ReturnType<typeof readTraces>): readonly Span[] =>
  groups.flatMap(({ spans }) => spans.map(({ json }) => JSON.parse(json) as Span));
const readSpan = (span: object): Span => {
  const [first] = spansOf(read(encode(ofSpans([{ ...ids, ...span }]))));
  if (first === undefined) throw new Error("the span was not taken");
  return first;
};
const readAttributes = (attributes: readonly object[]) => readSpan({ attributes });

const nested = (depth: number): object =>
  depth === 0 ? { intValue: 1 } : { arrayValue: { values: [nested(depth - 1)] } };

describe("an OTLP span", () => {
  it("is read with all its members", () => {
    const answer = read(
      encode(
        ofSpans(
          [
            {
              ...ids,
              parentSpanId: id(8, 1),
              traceState: "a=b",
              name: "work",
              kind: 3,
              startTimeUnixNano: "1800000000000000001",
              endTimeUnixNano: "1800000000001500001",
              attributes: [
                { key: "text", value: { stringValue: "ä" } },
                { key: "large", value: { intValue: "-9223372036854775808" } },
                { key: "nan", value: { doubleValue: Number.NaN } },
                { key: "bytes", value: { bytesValue: Buffer.from([1, 2, 3]) } },
                { key: "none", value: {} },
                { key: "__proto__", value: { kvlistValue: { values: [{ key: "a", value: { boolValue: true } }] } } },
              ],
              droppedAttributesCount: 4,
              events: [{ timeUnixNano: "1800000000000000002", name: "seen", droppedAttributesCount: 1 }],
              links: [{ traceId: id(16, 2), spanId: id(8, 3), attributes: [] }],
              status: { code: 2, message: "no" },
            },
          ],
          [{ key: "service.name", value: { stringValue: "shop" } }],
        ),
      ),
    );
    expect(answer).toMatchObject({ accepted: 1, rejected: 0, reason: "", groups: [{ service: "shop" }] });
    expect(answer.groups[0]?.spans[0]).toMatchObject({
      traceId: "ab".repeat(16),
      isRoot: false,
      isError: true,
      startUs: 1_800_000_000_000_000,
      endUs: 1_800_000_000_001_500,
    });
    expect(spansOf(answer)).toEqual([
      {
        span_id: "cd".repeat(8),
        parent_span_id: "01".repeat(8),
        name: "work",
        kind: "client",
        start: "2027-01-15T08:00:00.000000001Z",
        duration_ms: 1.5,
        status: "error",
        status_message: "no",
        trace_state: "a=b",
        scope: "library",
        attributes: JSON.parse(
          '{"text":"ä","large":"-9223372036854775808","nan":"NaN","bytes":"AQID","none":null,"__proto__":{"a":true}}',
        ),
        dropped_attributes: 4,
        events: [{ time: "2027-01-15T08:00:00.000000002Z", name: "seen", attributes: {}, dropped_attributes: 1 }],
        links: [{ trace_id: "02".repeat(16), span_id: "03".repeat(8), attributes: {} }],
      },
    ]);
  });

  it.each([
    ["no trace id", { traceId: Buffer.alloc(0) }],
    ["a trace id that is too short", { traceId: id(15, 1) }],
    ["a trace id of zeros", { traceId: id(16, 0) }],
    ["a span id that is too long", { spanId: id(9, 1) }],
    ["a span id of zeros", { spanId: id(8, 0) }],
    ["a parent of another length", { parentSpanId: id(7, 1) }],
  ])("is rejected with %s", (_, wrong) => {
    const answer = read(encode(ofSpans([{ ...ids, ...wrong }, ids])));
    expect(answer).toMatchObject({ accepted: 1, rejected: 1, reason: "1 spans with an invalid id" });
  });

  it("has a time up to 2^53 microseconds and not beyond", () => {
    const latest = "9007199254740991999";
    expect(readSpan({ startTimeUnixNano: latest, endTimeUnixNano: latest }).start).toBe(
      "2255-06-05T23:47:34.740991999Z",
    );
    for (const beyond of ["9007199254740992000", "9223372036854775808", "18446744073709551615"]) {
      for (const field of ["startTimeUnixNano", "endTimeUnixNano"]) {
        expect(read(encode(ofSpans([{ ...ids, [field]: beyond }])))).toMatchObject({ accepted: 0, rejected: 1 });
      }
    }
    expect(readSpan({ events: [{ timeUnixNano: "9223372036854775808" }] })).toMatchObject({
      events: [],
      dropped_events: 1,
    });
  });

  it("ends no sooner than it starts, and is a root with a parent of zeros", () => {
    expect(readSpan({ startTimeUnixNano: "2000000", endTimeUnixNano: "1" }).duration_ms).toBe(0);
    expect(readSpan({ parentSpanId: id(8, 0) }).parent_span_id).toBe("");
  });

  it("keeps 128 attributes, events and links, and counts the others", () => {
    const many = Array.from({ length: 200 }, (_, index) => index);
    const attributes = many.map((index) => ({ key: `k${index}`, value: { intValue: index } }));
    const span = readSpan({
      attributes,
      droppedAttributesCount: 0xffff_ffff,
      events: many.map(() => ({ name: "e" })),
      links: many.map(() => ({ traceId: id(16, 1), spanId: id(8, 1) })),
    });
    expect(Object.keys(span.attributes)).toHaveLength(128);
    expect([span.events.length, span.links.length]).toEqual([128, 128]);
    expect([span.dropped_attributes, span.dropped_events, span.dropped_links]).toEqual([0xffff_ffff, 72, 72]);
  });

  it("keeps 64 KiB of values, and counts the others", () => {
    const attributes = Array.from({ length: 100 }, (_, index) => ({
      key: `k${index}`,
      value: { stringValue: "x".repeat(4096) },
    }));
    const span = readSpan({ attributes });
    expect(Object.keys(span.attributes)).toHaveLength(15);
    expect(span.dropped_attributes).toBe(85);
  });

  it("has long strings cut between characters", () => {
    const { key, ...rest } = readAttributes([{ key: "key", value: { stringValue: "ä".repeat(4000) } }]).attributes as {
      key: string;
    };
    expect([key, rest]).toEqual(["ä".repeat(2048), {}]);
    expect(readAttributes([{ key: "k", value: { stringValue: `x${"ä".repeat(4000)}` } }]).attributes["k"]).toBe(
      `x${"ä".repeat(2047)}`,
    );
  });

  it("has lists up to a depth", () => {
    const span = readAttributes([
      { key: "deep", value: nested(8) },
      { key: "deeper", value: nested(9) },
      { key: "deepest", value: nested(40) },
    ]);
    expect(span.attributes).toEqual({ deep: [[[[[[[[1]]]]]]]] });
    expect(span.dropped_attributes).toBe(2);
  });

  it("survives thousands of levels", () => {
    const field = (tag: number, content: Buffer): Buffer => {
      const size: number[] = [];
      let rest = content.length;
      for (; rest > 127; rest >>>= 7) size.push((rest & 127) | 128);
      return Buffer.concat([Buffer.from([tag, ...size, rest]), content]);
    };
    let value: Buffer = Buffer.from([0x18, 1]);
    for (let depth = 0; depth < 5000; depth += 1) value = field(0x2a, field(0x0a, value));
    const attribute = field(0x4a, field(0x12, value));
    const span = Buffer.concat([field(0x0a, ids.traceId), field(0x12, ids.spanId), attribute]);
    expect(spansOf(read(field(0x0a, field(0x12, field(0x12, span)))))[0]).toMatchObject({ dropped_attributes: 1 });
  });

  it("has U+FFFD for invalid UTF-8", () => {
    const bytes = encode(ofSpans([{ ...ids, name: "wxyz" }]));
    bytes.fill(0xff, bytes.indexOf("wxyz"), bytes.indexOf("wxyz") + 4);
    expect(spansOf(read(bytes))[0]?.name).toBe("\uFFFD".repeat(4));
  });
});

describe("an OTLP request", () => {
  it("has up to 10 000 spans, and the others are counted", () => {
    const answer = read(encode(ofSpans(Array.from({ length: 10_007 }, () => ids))));
    expect(answer).toMatchObject({ accepted: 10_000, rejected: 7, reason: "7 spans beyond the 10000 of one request" });
  });

  it("of two million empty messages is read without an allocation for each", () => {
    const empty = Buffer.alloc(4_000_000);
    for (let at = 0; at < empty.length; at += 2) empty[at] = 0x12;
    const scope = Buffer.concat([Buffer.from([0x12, 0x80, 0x92, 0xf4, 0x01]), empty]);
    const resource = Buffer.concat([Buffer.from([0x0a, 0x85, 0x92, 0xf4, 0x01]), scope]);
    expect(read(resource)).toMatchObject({ accepted: 0, rejected: 2_000_000, groups: [] });
    const resources = Buffer.alloc(4_000_000);
    for (let at = 0; at < resources.length; at += 2) resources[at] = 0x0a;
    expect(() => read(resources)).toThrow(/too many resources/);
  });

  it("is decompressed up to a size", () => {
    const bytes = gzipSync(encode(ofSpans([ids])));
    expect(readTraces({ bytes, format: "protobuf", isGzip: true }).accepted).toBe(1);
    const bomb = gzipSync(Buffer.alloc(9 * 1024 * 1024));
    expect(() => readTraces({ bytes: bomb, format: "protobuf", isGzip: true })).toThrow(/larger than/);
  });

  it("is read with fields in any order, and unknown ones", () => {
    const whole = encode(ofSpans([{ ...ids, name: "n" }], [{ key: "service.name", value: { stringValue: "s" } }]));
    const unknown = Buffer.from([0xf8, 0x07, 0x01]);
    expect(read(Buffer.concat([unknown, whole, unknown]))).toMatchObject({ accepted: 1, groups: [{ service: "s" }] });
    const span = Buffer.concat([Buffer.from([0x0a, 16]), ids.traceId, Buffer.from([0x12, 8]), ids.spanId]);
    const scope = Buffer.from([0x0a, 3, 0x0a, 1, 0x6c]);
    const late = Buffer.concat([Buffer.from([0x12, span.length]), span, scope]);
    const inScope = Buffer.concat([Buffer.from([0x12, late.length]), late]);
    const resource = encode({
      resourceSpans: [{ resource: { attributes: [{ key: "service.name", value: { stringValue: "z" } }] } }],
    }).subarray(2);
    const body = Buffer.concat([inScope, resource]);
    const answer = read(Buffer.concat([Buffer.from([0x0a, body.length]), body]));
    expect(answer.groups[0]?.service).toBe("z");
    expect(spansOf(answer)[0]?.scope).toBe("l");
  });
});

const text = fc.string({ unit: "binary", maxLength: 20 });
const anyValue = fc.letrec<{ value: object }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.record({ stringValue: text }),
    fc.record({ boolValue: fc.boolean() }),
    fc.record({ intValue: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String) }),
    fc.record({ doubleValue: fc.double({ noNaN: true }) }),
    fc.record({ arrayValue: fc.record({ values: fc.array(tie("value"), { maxLength: 3 }) }) }),
    fc.record({
      kvlistValue: fc.record({
        values: fc.array(fc.record({ key: text, value: tie("value") }), { maxLength: 3 }),
      }),
    }),
  ),
})).value;
const hexId = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((id) => Buffer.from(id).fill(1, 0, 1).toString("hex"));
const keyValues = fc.array(fc.record({ key: text, value: anyValue }), { maxLength: 5 });
const nanos = fc.bigInt({ min: 0n, max: 2n ** 53n * 1000n - 1n }).map(String);
const jsonSpan = fc.record({
  traceId: hexId(16),
  spanId: hexId(8),
  parentSpanId: fc.oneof(fc.constant(""), hexId(8)),
  name: text,
  kind: fc.integer({ min: 0, max: 5 }),
  startTimeUnixNano: nanos,
  endTimeUnixNano: nanos,
  attributes: keyValues,
  events: fc.array(fc.record({ timeUnixNano: nanos, name: text, attributes: keyValues }), { maxLength: 3 }),
  links: fc.array(fc.record({ traceId: hexId(16), spanId: hexId(8), attributes: keyValues }), { maxLength: 3 }),
  status: fc.record({ code: fc.integer({ min: 0, max: 2 }), message: text }),
});
const request = fc.array(jsonSpan, { maxLength: 4 }).map((spans) => ofSpans(spans));

/** The same request for the other implementation, which has bytes where JSON has hex digits. */
const withBytes = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withBytes);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      /(traceId|panId)$/.test(name) ? Buffer.from(String(member), "hex") : withBytes(member),
    ]),
  );
};

describe("OTLP as JSON", () => {
  it("equals the same request in protobuf", () => {
    fc.assert(
      fc.property(request, (value) => {
        expect(readJson(value).groups).toEqual(read(encode(withBytes(value) as object)).groups);
      }),
    );
  });

  it.each([
    null,
    1,
    [],
    { resourceSpans: {} },
    { resourceSpans: [{ scopeSpans: [{ spans: [{ name: 1 }] }] }] },
    { resourceSpans: [{ scopeSpans: [{ spans: [{ startTimeUnixNano: "-1" }] }] }] },
    { resourceSpans: [{ scopeSpans: [{ spans: [{ startTimeUnixNano: 1.5 }] }] }] },
    { resourceSpans: [{ scopeSpans: [{ spans: [{ endTimeUnixNano: "18446744073709551616" }] }] }] },
    { resourceSpans: [{ scopeSpans: [{ spans: [{ kind: "SPAN_KIND_SERVER" }] }] }] },
  ])("is refused as %j", (value) => {
    expect(() => readJson(value)).toThrow(TracesRefused);
  });

  it("ignores null and unknown members", () => {
    const span = { traceId: "ab".repeat(16), spanId: "CD".repeat(8), parentSpanId: null, flags: 1, more: { a: 1 } };
    expect(readJson({ ...ofSpans([span]), resourceLogs: [] }).accepted).toBe(1);
    expect(readJson({})).toMatchObject({ accepted: 0, rejected: 0 });
  });

  it("is read however deep it is nested", () => {
    const depth = 1_000_000;
    const bytes = Buffer.from(`{"resourceSpans":[{"a":${"[".repeat(depth)}${"]".repeat(depth)}}]}`);
    expect(() => readTraces({ bytes, format: "json", isGzip: false })).not.toThrow(RangeError);
    const span = {
      ...ids,
      traceId: "ab".repeat(16),
      spanId: "cd".repeat(8),
      attributes: [{ key: "k", value: nested(500) }],
    };
    expect(spansOf(readJson(ofSpans([span])))[0]).toMatchObject({ attributes: {}, dropped_attributes: 1 });
  });
});

describe("hostile OTLP", () => {
  const survives = (bytes: Uint8Array, format: "protobuf" | "json"): void => {
    try {
      for (const span of spansOf(readTraces({ bytes, format, isGzip: false }))) expect(span.span_id).toHaveLength(16);
    } catch (error) {
      expect(error).toBeInstanceOf(TracesRefused);
    }
  };

  it("is read or refused: requests with bytes changed, cut off and put in", () => {
    const change = fc.record({ at: fc.nat(), byte: fc.nat(255), cut: fc.nat(3) });
    fc.assert(
      fc.property(request, fc.array(change, { minLength: 1, maxLength: 4 }), (value, changes) => {
        let bytes: Uint8Array = encode(withBytes(value) as object);
        for (const { at, byte, cut } of changes) {
          const place = at % (bytes.length + 1);
          if (cut === 0) bytes = bytes.subarray(0, place);
          else if (cut === 1) bytes = Buffer.concat([bytes.subarray(0, place), Buffer.of(byte), bytes.subarray(place)]);
          else if (place < bytes.length) bytes[place] = byte;
        }
        survives(bytes, "protobuf");
      }),
      { numRuns: 1000 },
    );
  });
});

describe("an OTLP answer", () => {
  it("has the number of rejected spans in protobuf", () => {
    expect(takenReply({ rejected: 0, message: "" })).toHaveLength(0);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), text, (rejected, message) => {
        expect(method.responseDeserialize(takenReply({ rejected, message }))).toMatchObject({
          partialSuccess: { rejectedSpans: String(rejected), errorMessage: message.toWellFormed() },
        });
      }),
    );
  });
});
