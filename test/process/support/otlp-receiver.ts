import { createServer } from "node:http";
import { join } from "node:path";
import { Server, ServerCredentials, status } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { root } from "./service.ts";

/** A span as it arrived, its ids in hex. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: "internal" | "server" | "client" | "other";
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Whether its status is an error. */
  readonly isFailed: boolean;
  readonly startNs: bigint;
  readonly endNs: bigint;
  /** Of the process that it is from. */
  readonly resource: Readonly<Record<string, unknown>>;
}

/** An OTLP receiver on loopback that keeps what it is sent. */
export interface OtlpReceiver {
  readonly url: string;
  readonly port: number;
  readonly spans: () => readonly ReceivedSpan[];
  /** Everything that arrived, as it came. */
  readonly bytes: () => Buffer;
  /** Answers with a refusal that is not a reason to try again, or not. */
  readonly refuse: (refuses: boolean) => void;
  readonly close: () => Promise<void>;
}

export type OtlpProtocol = "http" | "grpc";

interface KeyValue {
  readonly key: string;
  readonly value: AnyValue;
}
interface AnyValue {
  readonly value: string;
  readonly arrayValue?: { readonly values: readonly AnyValue[] };
  readonly [member: string]: unknown;
}
interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
}
interface WireSpan {
  readonly traceId: Buffer;
  readonly spanId: Buffer;
  readonly parentSpanId: Buffer;
  readonly traceState: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly KeyValue[];
  readonly status: { readonly code: number; readonly message: string } | null;
}

const definitions = loadSync(join(root, "src/transports/otlp/traces.proto"), {
  longs: String,
  defaults: true,
  oneofs: true,
});
const service = definitions["opentelemetry.proto.collector.trace.v1.TraceService"];
if (service === undefined || "format" in service) throw new Error("the definitions have no service");
const { Export: method } = service;
if (method === undefined) throw new Error("the service has no method");

const kinds: Readonly<Record<number, ReceivedSpan["kind"]>> = { 1: "internal", 2: "server", 3: "client" };

function plain(any: AnyValue): unknown {
  if (any.value === "arrayValue") return (any.arrayValue?.values ?? []).map(plain);
  const value = any[any.value];
  return any.value === "intValue" ? Number(value) : value;
}

const membersOf = (attributes: readonly KeyValue[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)]));

function spansOf({ resourceSpans }: ExportRequest): readonly ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map((span) => ({
        traceId: span.traceId.toString("hex"),
        spanId: span.spanId.toString("hex"),
        parentSpanId: span.parentSpanId.toString("hex"),
        traceState: span.traceState,
        name: span.name,
        kind: kinds[span.kind] ?? "other",
        attributes: membersOf(span.attributes),
        isFailed: span.status?.code === 2,
        startNs: BigInt(span.startTimeUnixNano),
        endNs: BigInt(span.endTimeUnixNano),
        resource: membersOf(resource.attributes),
      })),
  );
}

/** What arrived so far. */
function createBox() {
  const bodies: Buffer[] = [];
  const spans: ReceivedSpan[] = [];
  let refuses = false;
  return {
    take(body: Buffer) {
      bodies.push(body);
      spans.push(...spansOf(method?.requestDeserialize(body) as ExportRequest));
    },
    refuses: () => refuses,
    common: {
      spans: () => spans,
      bytes: () => Buffer.concat(bodies),
      refuse(value: boolean) {
        refuses = value;
      },
    },
  };
}

async function startHttp(port: number): Promise<OtlpReceiver> {
  const box = createBox();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const isOurs = request.method === "POST" && request.url === "/v1/traces";
      const isProtobuf = request.headers["content-type"] === "application/x-protobuf";
      if (!isOurs || !isProtobuf || box.refuses()) return response.writeHead(400).end();
      box.take(Buffer.concat(chunks));
      return response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = server.address();
  const bound = typeof address === "object" && address !== null ? address.port : 0;
  return {
    ...box.common,
    port: bound,
    url: `http://127.0.0.1:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function startGrpc(port: number): Promise<OtlpReceiver> {
  const box = createBox();
  const server = new Server();
  // As bytes, so that what arrived is there as it came.
  server.addService(
    { export: { ...method, requestDeserialize: (body: Buffer) => body } as never },
    {
      export(call: { request: Buffer }, answer: (error: object | null, reply?: object) => void) {
        if (box.refuses()) return answer({ code: status.INVALID_ARGUMENT, details: "not taken" });
        box.take(call.request);
        return answer(null, {});
      },
    },
  );
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, at) =>
      error === null ? resolve(at) : reject(error),
    );
  });
  return {
    ...box.common,
    port: bound,
    url: `http://127.0.0.1:${bound}`,
    close: () => {
      server.forceShutdown();
      return Promise.resolve();
    },
  };
}

/** Starts a receiver, on a port of its own unless one is given. */
export const startOtlpReceiver = (protocol: OtlpProtocol, port = 0): Promise<OtlpReceiver> =>
  protocol === "http" ? startHttp(port) : startGrpc(port);
