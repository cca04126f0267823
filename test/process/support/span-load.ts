import { randomFillSync } from "node:crypto";
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** Spans of one request, as exporters send them unless set otherwise, and of one trace. */
const batchSpans = 512;
const traceSpans = 8;
const connections = 4;

const traceIdAt = 2;
const spanIdAt = 20;
const parentIdAt = 30;

function writeAttribute(writer: BinaryWriter, field: number, key: string, value: string): void {
  writer.tag(field, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).string(key);
  writer.tag(2, WireType.LengthDelimited).fork().tag(1, WireType.LengthDelimited).string(value).join();
  writer.join();
}

/** A span such as instrumented programs make; its ids are the first of its fields. */
function writeSpan(nowMs: number): Uint8Array {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.LengthDelimited).bytes(new Uint8Array(16));
  writer.tag(2, WireType.LengthDelimited).bytes(new Uint8Array(8));
  writer.tag(4, WireType.LengthDelimited).bytes(new Uint8Array(8));
  writer.tag(5, WireType.LengthDelimited).string("GET /api/items/{id}");
  writer.tag(6, WireType.Varint).int32(2);
  const start = BigInt(nowMs) * 1_000_000n;
  writer.tag(7, WireType.Bit64).fixed64(start);
  writer.tag(8, WireType.Bit64).fixed64(start + 1_500_000n);
  for (let index = 0; index < 8; index += 1) writeAttribute(writer, 9, `http.attribute.${index}`, `value ${index}`);
  return writer.finish();
}

/** Makes requests of 512 spans each, all ids new. */
export function createBatches(service = "load"): { readonly next: () => Buffer; readonly spans: number } {
  const span = writeSpan(Date.now());
  const scope = new BinaryWriter();
  for (let count = 0; count < batchSpans; count += 1) scope.tag(2, WireType.LengthDelimited).bytes(span);
  const resource = new BinaryWriter();
  writeAttribute(resource, 1, "service.name", service);
  const writer = new BinaryWriter();
  writer.tag(1, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).bytes(resource.finish());
  writer.tag(2, WireType.LengthDelimited).bytes(scope.finish());
  const template = Buffer.from(writer.join().finish());
  const places: number[] = [];
  for (let at = template.indexOf(span); at >= 0; at = template.indexOf(span, at + span.length)) places.push(at);
  if (places.length !== batchSpans) throw new Error(`the template has ${places.length} spans`);
  return {
    spans: batchSpans,
    next() {
      const body = Buffer.from(template);
      let traceId = Buffer.alloc(0);
      let rootId = Buffer.alloc(0);
      for (const [index, at] of places.entries()) {
        randomFillSync(body, at + spanIdAt, 8);
        if (index % traceSpans === 0) {
          traceId = randomFillSync(Buffer.alloc(16));
          rootId = body.subarray(at + spanIdAt, at + spanIdAt + 8);
        } else rootId.copy(body, at + parentIdAt);
        traceId.copy(body, at + traceIdAt);
      }
      return body;
    },
  };
}

/** Sends one request. @returns the status of its answer. */
function post(agent: Agent, url: string, body: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/x-protobuf", "content-length": body.length };
    const sent = request(url, { method: "POST", agent, headers }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode ?? 0));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

export interface Load {
  /** Spans of requests that were answered with 200, and of the others. */
  readonly taken: number;
  readonly refused: number;
  readonly seconds: number;
}

/** Sends so many spans a second over HTTP, for a time, as fast as the receiver takes them at most. */
export async function sendSpans(url: string, rate: number, seconds: number): Promise<Load> {
  const batches = createBatches();
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const total = Math.ceil((rate * seconds) / batches.spans);
  const startedAt = performance.now();
  const under = new Set<Promise<void>>();
  let [taken, refused] = [0, 0];
  for (let sent = 0; sent < total; sent += 1) {
    const dueMs = (sent * batches.spans * 1000) / rate;
    const early = dueMs - (performance.now() - startedAt);
    if (early > 0) await sleep(early);
    while (under.size >= connections) await Promise.race(under);
    const work = post(agent, url, batches.next()).then((status) => {
      if (status === 200) taken += batches.spans;
      else refused += batches.spans;
      under.delete(work);
    });
    under.add(work);
  }
  await Promise.all(under);
  agent.destroy();
  return { taken, refused, seconds: (performance.now() - startedAt) / 1000 };
}
