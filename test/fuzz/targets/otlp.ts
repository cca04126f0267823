import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { gunzipSync, gzipSync } from "node:zlib";
import { loadSync } from "@grpc/proto-loader";
import { Span } from "#contract/traces.ts";
import { type ReadTraces, readTraces } from "#transports/otlp/intake.ts";
import {
  maxRequestSpans,
  maxSpanBytes,
  maxUnpackedBytes,
  type TraceBody,
  TracesRefused,
} from "#transports/otlp/receiver.ts";
import type { Random } from "../../support/random.ts";
import { createValidator, expectThat, type FuzzTarget } from "../target.ts";

/** The first byte of an input says what the rest is. */
const packings = ["protobuf to be packed", "json to be packed", "packed protobuf", "packed json"] as const;
const forms = ["protobuf", "json", ...packings] as const;

function bodyOf(input: Buffer): TraceBody {
  const form = forms[(input[0] ?? 0) % forms.length] ?? "protobuf";
  const rest = input.subarray(1);
  return {
    bytes: form.endsWith("to be packed") ? gzipSync(rest) : rest,
    format: form.includes("json") ? "json" : "protobuf",
    isGzip: form.includes("packed"),
  };
}

/**
 * Another implementation of protobuf, with the same definitions. It takes a field of the wrong wire type for the field all the same,
 * where the specification has it unknown: so it is what it has written itself that can be compared.
 */
function otherImplementation() {
  const proto = fileURLToPath(new URL("../../../src/transports/otlp/traces.proto", import.meta.url));
  const service = loadSync(proto, { longs: String, enums: Number })[
    "opentelemetry.proto.collector.trace.v1.TraceService"
  ];
  const method = service === undefined || "format" in service ? undefined : service["Export"];
  if (method === undefined) throw new Error("the definitions have no method Export");
  return method;
}

const hexNames = new Set(["traceId", "spanId", "parentSpanId"]);
/** A request as OTLP/JSON writes it: ids are hex digits, bytes base64, and numbers that JSON has no word for strings. */
const toOtlpJson = (value: unknown): string =>
  JSON.stringify(value, function replace(this: Record<string, unknown>, name: string, each: unknown) {
    const raw = this[name];
    if (Buffer.isBuffer(raw)) return raw.toString(hexNames.has(name) ? "hex" : "base64");
    return typeof each === "number" && !Number.isFinite(each) ? String(each) : each;
  });

function read(body: TraceBody): ReadTraces | undefined {
  try {
    return readTraces(body);
  } catch (error) {
    if (error instanceof TracesRefused && error.kind !== "failed") return undefined;
    throw error;
  }
}

/** Limits count bytes, and JSON escapes what it writes: a control character takes six. */
const maxSpanText = 8 * maxSpanBytes + 64 * 1024;

const ids = { traceId: Buffer.alloc(16, 0xab), spanId: Buffer.alloc(8, 0xcd) };
const example = {
  resourceSpans: [
    {
      resource: { attributes: [{ key: "service.name", value: { stringValue: "shop" } }] },
      scopeSpans: [
        {
          scope: { name: "library", version: "1" },
          spans: [
            {
              ...ids,
              parentSpanId: Buffer.alloc(8, 1),
              traceState: "a=b",
              name: "work",
              kind: 3,
              startTimeUnixNano: "1800000000000000001",
              endTimeUnixNano: "1800000000001500001",
              attributes: [
                { key: "text", value: { stringValue: "ä" } },
                { key: "large", value: { intValue: "-9223372036854775808" } },
                { key: "nan", value: { doubleValue: Number.NaN } },
                { key: "flag", value: { boolValue: true } },
                { key: "bytes", value: { bytesValue: Buffer.from([1, 2, 3]) } },
                { key: "list", value: { arrayValue: { values: [{ intValue: "1" }, { doubleValue: 0.5 }] } } },
                { key: "__proto__", value: { kvlistValue: { values: [{ key: "a", value: { boolValue: true } }] } } },
              ],
              droppedAttributesCount: 4,
              events: [
                { timeUnixNano: "1800000000000000002", name: "seen", droppedAttributesCount: 1, attributes: [] },
              ],
              droppedEventsCount: 1,
              links: [{ traceId: Buffer.alloc(16, 2), spanId: Buffer.alloc(8, 3), attributes: [] }],
              status: { code: 2, message: "no" },
            },
            ids,
          ],
        },
      ],
    },
  ],
};

function seeds(): readonly Buffer[] {
  const protobuf = otherImplementation().requestSerialize(example);
  const json = Buffer.from(toOtlpJson(example));
  const of = (form: (typeof forms)[number], bytes: Buffer): Buffer =>
    Buffer.concat([Buffer.from([forms.indexOf(form)]), bytes]);
  return [
    of("protobuf", protobuf),
    of("json", json),
    of("protobuf to be packed", protobuf),
    of("json to be packed", json),
    of("packed protobuf", gzipSync(protobuf)),
    of("packed json", gzipSync(json)),
    // Unpacks to more than is taken.
    of("packed protobuf", gzipSync(Buffer.alloc(maxUnpackedBytes + 1))),
  ];
}

/** Puts a field of protobuf in, or changes what a packed body holds. */
function mutate(input: Buffer, random: Random): Buffer | undefined {
  const form = forms[(input[0] ?? 0) % forms.length] ?? "protobuf";
  if (form.startsWith("packed")) {
    try {
      const unpacked = gunzipSync(input.subarray(1), { maxOutputLength: 64 * 1024 });
      const at = random.integer(unpacked.length + 1);
      const changed = Buffer.concat([
        unpacked.subarray(0, at),
        random.bytes(random.integer(4)),
        unpacked.subarray(at + random.integer(4)),
      ]);
      return Buffer.concat([input.subarray(0, 1), gzipSync(changed)]);
    } catch {
      // No gzip, or too much: only its bytes can be changed.
      return undefined;
    }
  }
  if (form.includes("json")) return undefined;
  const field = ((1 + random.integer(16)) << 3) | random.pick([0, 1, 2, 5]);
  const inner = input.subarray(1 + random.integer(input.length));
  const content = inner.subarray(0, random.integer(Math.min(inner.length, 100) + 1));
  const at = 1 + random.integer(input.length);
  return Buffer.concat([input.subarray(0, at), Buffer.from([field, content.length]), content, input.subarray(at)]);
}

export const target: FuzzTarget = {
  maxBytes: 16 * 1024,
  maxSteps: 5_000_000,
  dictionary: () => [
    ...Object.keys(example.resourceSpans[0]?.scopeSpans[0]?.spans[0] ?? {}),
    ..."stringValue kvlistValue null NaN -Infinity 1e999 \\ud800".split(" "),
  ],
  seeds,
  mutate,
  open() {
    const isSpan = createValidator<Span>(Span);
    const { requestDeserialize, requestSerialize } = otherImplementation();
    /** A request as the other implementation reads it, and written again. */
    const decoded = (bytes: Uint8Array) => {
      try {
        const request = requestDeserialize(Buffer.from(bytes));
        return { request, written: requestSerialize(request) };
      } catch {
        // What it does not take, such as a group or a string that is cut off, cannot be compared.
        return undefined;
      }
    };
    return Promise.resolve({
      run(input) {
        const traces = read(bodyOf(input));
        if (traces === undefined) return;
        const { groups, accepted, rejected, reason, protobuf } = traces;
        const kept = groups.flatMap(({ spans }) => spans);
        expectThat(kept.length === accepted, `${accepted} spans are accepted and ${kept.length} kept`);
        expectThat(kept.length <= maxRequestSpans, `${kept.length} spans are kept`);
        expectThat(rejected > 0 === (reason !== ""), `${rejected} spans are rejected, and the reason is "${reason}"`);
        for (const { resource, service, spans } of groups) {
          expectThat(resource.length <= maxSpanText && service.length <= maxSpanBytes, "a resource is too long");
          for (const { json, traceId, spanId, startUs, endUs } of spans) {
            expectThat(
              /^[0-9a-f]{32}$/.test(traceId) && /^[0-9a-f]{16}$/.test(spanId),
              `the ids ${traceId} and ${spanId}`,
            );
            expectThat(json.length <= maxSpanText, `a span of ${json.length} characters`);
            expectThat(Number.isSafeInteger(startUs) && endUs >= startUs, `a span from ${startUs} to ${endUs}`);
            const span: unknown = { ...JSON.parse(json), origin: "received", resource: JSON.parse(resource) };
            expectThat(isSpan(span), `a span that is not one: ${JSON.stringify(isSpan.errors)}`);
          }
        }
        const again = read({ bytes: protobuf, format: "protobuf", isGzip: false });
        expectThat(
          isDeepStrictEqual({ ...again, protobuf: 0 }, { ...traces, protobuf: 0 }),
          "it reads otherwise when it is passed on",
        );
        const other = decoded(protobuf);
        if (other === undefined) return;
        const json = toOtlpJson(other.request);
        const byJson = read({ bytes: Buffer.from(json), format: "json", isGzip: false });
        const written = read({ bytes: other.written, format: "protobuf", isGzip: false });
        expectThat(isDeepStrictEqual(byJson?.groups, written?.groups), `JSON reads otherwise: ${json}`);
        const isSame = Buffer.from(protobuf).equals(other.written);
        expectThat(!isSame || isDeepStrictEqual(written?.groups, groups), "the same bytes read otherwise");
      },
    });
  },
};
