import { once } from "node:events";
import { request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { Client, credentials, status } from "@grpc/grpc-js";
import { SpanKind, SpanStatusCode, TraceFlags } from "@opentelemetry/api";
import { OTLPTraceExporter as GrpcExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtoExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { CompressionAlgorithm } from "@opentelemetry/otlp-exporter-base";
import { resourceFromAttributes } from "@opentelemetry/resources";
import type { ReadableSpan, SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace";
import { TracerProvider } from "@opentelemetry/sdk-trace";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPeers } from "#app/tracing/receiver.ts";
import { createHostTraces, type HostTraces } from "#app/tracing/traces.ts";
import { openReceivers, PortTaken, type Receivers } from "#transports/otlp/index.ts";
import { createRandom } from "../support/random.ts";
import { seed } from "../support/seed.ts";
import { parseMetrics } from "./support/metrics.ts";
import { type OtlpProtocol, startOtlpReceiver } from "./support/otlp-receiver.ts";
import { launchService, logged, type RunningService, startService } from "./support/service.ts";
import { sendSpans } from "./support/span-load.ts";
import { takenPort } from "./support/taken-port.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
const troubles: unknown[] = [];
let traces: HostTraces;
let receivers: Receivers;
beforeAll(async () => {
  traces = createHostTraces({
    stateDir: workspace.path(),
    keepBytes: 16 * 1024 * 1024,
    forwards: false,
    onTrouble: (message) => void troubles.push(message),
  });
  receivers = await openReceivers({
    take: async (body) => {
      const { rejected, reason } = await traces.takeBody(body);
      return { rejected, message: reason };
    },
    peerOf: createPeers(),
    onTrouble: (error) => void troubles.push(error),
    ports: { grpc: 0, http: 0 },
  });
});
afterAll(async () => {
  receivers.close();
  await traces.close();
  await workspace.dispose();
});

const http = (): string => `http://127.0.0.1:${receivers.ports.http}/v1/traces`;
const grpc = (): string => `http://127.0.0.1:${receivers.ports.grpc}`;
const exporters: readonly (() => SpanExporter)[] = [
  () => new GrpcExporter({ url: grpc(), compression: CompressionAlgorithm.GZIP }),
  () => new ProtoExporter({ url: http(), compression: CompressionAlgorithm.GZIP }),
  () => new JsonExporter({ url: http() }),
];

const answerOf = async (traceId: string) => {
  const bytes = await traces.trace(traceId);
  return bytes === undefined ? undefined : (JSON.parse(Buffer.from(bytes).toString()) as { spans: object[] });
};

function exported(exporter: SpanExporter, spans: ReadableSpan[]): Promise<void> {
  return new Promise((resolve, reject) => {
    exporter.export(spans, ({ code, error }) => (code === 0 ? resolve() : reject(error ?? new Error("not taken"))));
  });
}

/** Spans as the SDK makes them. */
function makeSpans(service: string): { spans: ReadableSpan[]; traceId: string } {
  const spans: ReadableSpan[] = [];
  const collect: SpanProcessor = {
    onStart: () => undefined,
    onEnd: (span) => void spans.push(span),
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.name": service, "host.id": 7 }),
    spanProcessors: [collect],
  });
  const tracer = provider.getTracer("library");
  const remote = {
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "b7ad6b7169203331",
    traceFlags: TraceFlags.SAMPLED,
  };
  const root = tracer.startSpan("GET /", {
    kind: SpanKind.SERVER,
    attributes: { text: "ä\u0000", count: 2 ** 53, part: 0.5, yes: true, list: ["a", "b"] },
    links: [{ context: remote, attributes: { why: "linked" } }],
    startTime: [1_800_000_000, 1_002_003],
  });
  root.addEvent("seen", { at: 1 }, [1_800_000_000, 2_000_001]);
  root.setStatus({ code: SpanStatusCode.ERROR, message: "no" });
  root.end([1_800_000_000, 4_002_003]);
  return { spans, traceId: root.spanContext().traceId };
}

describe("spans of the SDK's exporters", () => {
  it.each([0, 1, 2])("arrive as they were made, and once though they are sent again: exporter %i", async (at) => {
    const exporter = exporters[at]?.();
    if (exporter === undefined) throw new Error("there is no exporter");
    const name = `exported-${at}`;
    const { spans, traceId } = makeSpans(name);
    await exported(exporter, spans);
    // Sent again, as after an answer that was lost.
    await exported(exporter, spans);
    await exporter.shutdown();
    const found = await traces.list({
      service: name,
      origin: undefined,
      minDurationUs: 0,
      sinceUs: 0,
      after: undefined,
      limit: 10,
    });
    const listed = { trace_id: traceId, name: "GET /", service: name, origin: "received", spans: 1, errors: 1 };
    expect(found).toMatchObject([{ ...listed, start: "2027-01-15T08:00:00.001002Z", duration_ms: 3 }]);
    const values = '{"text":"ä\\u0000","count":"9007199254740992","part":0.5,"yes":true,"list":["a","b"]}';
    const link = { trace_id: "0af7651916cd43dd8448eb211c80319c", span_id: "b7ad6b7169203331" };
    expect(await answerOf(traceId)).toMatchObject({
      spans: [
        {
          span_id: spans[0]?.spanContext().spanId,
          ...{ name: "GET /", kind: "server", status: "error", status_message: "no", scope: "library" },
          attributes: JSON.parse(values) as unknown,
          events: [{ time: "2027-01-15T08:00:00.002000001Z", name: "seen", attributes: { at: 1 } }],
          links: [{ ...link, attributes: { why: "linked" } }],
          resource: { "service.name": name, "host.id": 7 },
        },
      ],
    });
    expect(troubles).toEqual([]);
  });
});

describe("the ports of the receivers", () => {
  it("are both released when one of them is taken", async () => {
    const taken = await takenPort();
    const attempt = openReceivers({
      take: () => Promise.resolve({ rejected: 0, message: "" }),
      peerOf: createPeers(),
      onTrouble: () => undefined,
      ports: { grpc: 0, http: taken.port },
    });
    await expect(attempt).rejects.toThrow(PortTaken);
    taken.release();
  });
});

describe("spans over HTTP", () => {
  const post = (body: BodyInit, headers: Record<string, string>): Promise<Response> =>
    fetch(http(), { method: "POST", body, headers });
  const json = { "content-type": "application/json" };

  it("are counted where they were not taken, with the reason", async () => {
    const bad = { traceId: "00", spanId: "b7ad6b7169203331", name: "bad" };
    const late = {
      traceId: "0af7651916cd43dd8448eb211c80319d",
      spanId: "b7ad6b7169203331",
      startTimeUnixNano: "9223372036854775808",
    };
    const good = { traceId: "0AF7651916CD43DD8448EB211C80319D", spanId: "b7ad6b7169203331" };
    const answer = await post(
      JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [bad, late, good] }] }] }),
      json,
    );
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      partialSuccess: {
        rejectedSpans: "2",
        errorMessage: "1 spans with an invalid id, 1 spans with a time beyond the year 2255",
      },
    });
    expect((await answerOf("0af7651916cd43dd8448eb211c80319d"))?.spans).toHaveLength(1);
  });

  it.each([
    ["malformed JSON", "{", json, 400],
    ["malformed protobuf", "\xff\xff", { "content-type": "application/x-protobuf" }, 400],
    ["malformed gzip", "{}", { ...json, "content-encoding": "gzip" }, 400],
    ["another encoding", "{}", { ...json, "content-encoding": "br" }, 415],
    ["another content type", "{}", { "content-type": "text/plain" }, 415],
    ["the origin of a web page", "{}", { ...json, origin: "http://evil.example" }, 403],
  ] as const)("are refused where the request has %s", async (_, body, headers, status) => {
    const answer = await post(body, headers);
    expect(answer.status).toBe(status);
    expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(0);
  });

  it("are refused where a body is too large, as it comes or unpacked, and on other paths and methods", async () => {
    const large = await post(Buffer.alloc(4 * 1024 * 1024 + 1, 32), json);
    expect([large.status, await large.json()]).toEqual([413, { message: "the body is larger than 4194304 bytes" }]);
    const bomb = await post(gzipSync(Buffer.alloc(64 * 1024 * 1024)), { ...json, "content-encoding": "gzip" });
    expect(bomb.status).toBe(413);
    expect((await post("{}", json)).status).toBe(200);
    const other = http().replace("traces", "logs");
    expect((await fetch(other, { method: "POST", body: "{}", headers: json })).status).toBe(404);
    expect((await fetch(http())).status).toBe(405);
  });

  it.each([
    ["a name that leads here", "evil.example:4318", 403],
    ["an address of another machine", "192.0.2.1", 403],
    ["a name that begins like this machine's", "127.0.0.1.evil.example", 403],
    ["this machine", "[::1]:4318", 200],
  ])("are taken only for the names of this machine: %s", async (_, host, status) => {
    const answered = new Promise<number | undefined>((resolve, reject) => {
      const { port } = new URL(http());
      const sent = request({ host: "127.0.0.1", port, path: "/v1/traces", method: "POST", headers: { ...json, host } });
      sent.on("response", (response) => resolve(response.resume().statusCode)).on("error", reject);
      sent.end("{}");
    });
    expect(await answered).toBe(status);
  });
});

describe("spans over gRPC", () => {
  it("are refused where a message is too large, malformed, or for another service", async () => {
    const client = new Client(`127.0.0.1:${receivers.ports.grpc}`, credentials.createInsecure());
    const asIs = (bytes: Buffer): Buffer => bytes;
    const codeOf = (path: string, bytes: Buffer): Promise<number | undefined> =>
      new Promise((resolve) => {
        client.makeUnaryRequest(path, asIs, asIs, bytes, (error) => resolve(error?.code));
      });
    const method = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
    expect(await codeOf(method, Buffer.alloc(5 * 1024 * 1024))).toBe(status.RESOURCE_EXHAUSTED);
    expect(await codeOf(method, Buffer.from([0x0a, 5]))).toBe(status.INVALID_ARGUMENT);
    expect(await codeOf(method.replaceAll("trace", "logs"), Buffer.alloc(0))).toBe(status.UNIMPLEMENTED);
    expect(await codeOf(method, Buffer.alloc(0))).toBeUndefined();
    client.close();
  });
});

describe("messages over gRPC that never end", () => {
  const statusOf = (session: ReturnType<typeof connectHttp2>): Promise<unknown> =>
    new Promise((resolve) => {
      const stream = session.request({
        ":method": "POST",
        ":path": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
        "content-type": "application/grpc",
        te: "trailers",
      });
      stream.on("response", (headers) => resolve(headers["grpc-status"]));
      stream.on("error", () => undefined);
      stream.on("close", () => resolve("closed"));
      // The head of a message of four megabytes, and the start of it.
      stream.write(Buffer.concat([Buffer.from([0, 0, 0x40, 0, 0]), Buffer.alloc(1000)]));
    });

  it("are bounded in number, half of it for one user, and lose their connections in the end", async () => {
    let peers = 0;
    const { ports, close } = await openReceivers({
      take: () => Promise.resolve({ rejected: 0, message: "" }),
      // The last connection is another user's.
      peerOf() {
        peers += 1;
        return Promise.resolve(peers < 3 ? 1000 : 1001);
      },
      onTrouble: (error) => void troubles.push(error),
      ports: { grpc: 0, http: 0 },
      readingMs: 500,
    });
    const url = `http://127.0.0.1:${ports.grpc}`;
    const sessions: ReturnType<typeof connectHttp2>[] = [];
    for (let count = 0; count < 3; count += 1) {
      const session = connectHttp2(url);
      session.on("error", () => undefined);
      await once(session, "connect");
      sessions.push(session);
    }
    const answers = sessions.flatMap((session) => Array.from({ length: 8 }, () => statusOf(session)));
    const statuses = (await Promise.all(answers)).map(String).toSorted();
    // 14: unavailable, so that an exporter sends it again.
    expect(statuses).toEqual([...Array.from({ length: 8 }, () => "14"), ...Array.from({ length: 16 }, () => "closed")]);
    for (const session of sessions) session.destroy();
    const exporter = new GrpcExporter({ url });
    await exported(exporter, makeSpans("after").spans);
    await exporter.shutdown();
    close();
    expect(troubles).toEqual([]);
  });
});

describe("more connections to the receivers than are served at a time", () => {
  const head = (more = "") =>
    `POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n${more}\r\n`;
  /** Opens receivers with few connections; users are distinguished by the address that they come from. */
  const openFew = (active: number, waiting: number) =>
    openReceivers({
      take: () => Promise.resolve({ rejected: 0, message: "" }),
      peerOf: ({ remoteAddress = "" }: Socket) => Promise.resolve(Number(remoteAddress.split(".").at(-1))),
      onTrouble: (error) => void troubles.push(error),
      ports: { grpc: 0, http: 0 },
      connections: { active, waiting, idleMs: 50 },
    });

  /** What came over a connection until it ended, and how that was. */
  function speak(port: number, text: string, user = 1): { socket: Socket; ended: Promise<string>; seen: () => string } {
    const socket = connect({ port, host: "127.0.0.1", localAddress: `127.0.0.${user}` }, () => socket.write(text));
    let seen = "";
    socket.setEncoding("latin1").on("data", (piece: string) => {
      seen += piece;
    });
    const ended = new Promise<string>((resolve) => {
      socket.on("error", (error: NodeJS.ErrnoException) => resolve(String(error.code)));
      socket.on("close", () => resolve(seen.split("\r\n")[0] ?? ""));
    });
    return { socket, ended, seen: () => seen };
  }

  it("wait for their turn, also behind idle ones, and none is reset", async () => {
    const { ports, close } = await openFew(2, 100);
    const idle = Array.from({ length: 2 }, () => speak(ports.http, `${head()}{}`));
    await until("two answers", () => idle.every(({ seen }) => seen().startsWith("HTTP/1.1 200")) || undefined);
    const all = Array.from({ length: 60 }, () => speak(ports.http, `${head("Connection: close\r\n")}{}`));
    expect(new Set(await Promise.all(all.map(({ ended }) => ended)))).toEqual(new Set(["HTTP/1.1 200 OK"]));
    close();
  });

  it("are served although one user holds all, over HTTP and gRPC", async () => {
    const { ports, close } = await openFew(4, 100);
    for (const port of [ports.http, ports.grpc]) {
      // They have started to say something, and continue for ever.
      const hogs = Array.from({ length: 30 }, () => speak(port, "P"));
      await Promise.all(hogs.map(({ socket }) => once(socket, "connect")));
    }
    const other = speak(ports.http, `${head("Connection: close\r\n")}{}`, 2);
    expect(await other.ended).toBe("HTTP/1.1 200 OK");
    const session = connectHttp2(`http://127.0.0.1:${ports.grpc}`, {
      createConnection: () => connect({ port: ports.grpc, host: "127.0.0.1", localAddress: "127.0.0.2" }),
    });
    await once(session, "remoteSettings");
    session.destroy();
    close();
  });

  it("are closed beyond those that wait, of the client with the most there", async () => {
    const { ports, close } = await openFew(1, 5);
    const first = speak(ports.http, "P");
    await once(first.socket, "connect");
    const small = speak(ports.http, `${head("Connection: close\r\n")}{}`, 1);
    await once(small.socket, "connect");
    const many = Array.from({ length: 20 }, () => speak(ports.http, "P", 2));
    let closed = 0;
    for (const { ended } of many) void ended.then(() => (closed += 1));
    await until("those that are too many are closed", () => closed >= 15 || undefined);
    expect(await small.ended).toBe("HTTP/1.1 200 OK");
    close();
  });
});

describe("hostile bytes to the receivers", () => {
  const speak = (port: number, bytes: Uint8Array | string): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1", () => socket.end(bytes));
      socket.resume();
      socket.on("error", () => undefined);
      socket.on("close", () => resolve());
    });

  it("do not keep spans from being received", async () => {
    const random = createRandom(seed);
    const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    const head = "POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    const words: readonly (string | Uint8Array)[] = [
      "",
      "\r\n\r\n",
      preface,
      `${preface}${"\xff".repeat(1000)}`,
      `${head}Content-Length: 10\r\n\r\n{}`,
      `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
      `${head}Content-Length: 99999999999\r\n\r\n`,
      `GET ${"a".repeat(100_000)} HTTP/1.1\r\n\r\n`,
      ...Array.from({ length: 50 }, () => random.bytes(500)),
    ];
    for (const port of Object.values(receivers.ports)) await Promise.all(words.map((bytes) => speak(port, bytes)));
    // More at once than are served: the others wait.
    await Promise.all(Array.from({ length: 100 }, () => speak(receivers.ports.grpc, preface)));
    for (const make of exporters) {
      const { spans, traceId } = makeSpans("after");
      const exporter = make();
      await exported(exporter, spans);
      await exporter.shutdown();
      expect((await answerOf(traceId))?.spans).toHaveLength(1);
    }
    expect(troubles).toEqual([]);
  });
});

describe("a service that receives traces", () => {
  const quiet = "updates: { enabled: false }\nconnectors: { discover: false }\nrate_limits: off\n";
  const settings = (tracing: string): string => `${quiet}tracing: { ${tracing} }\n`;
  const anyPorts = "ports: { grpc: 0, http: 0 }";
  const ask = async <T>(running: RunningService, path: string): Promise<T> =>
    (await fetch(`${running.url}/api/v1${path}`, { headers: { "X-API-Key": running.adminKey } })).json() as Promise<T>;
  interface List {
    readonly traces: readonly { readonly trace_id: string; readonly service: string; readonly name: string }[];
  }
  const stop = async (running: RunningService): Promise<void> => {
    running.kill("SIGTERM");
    expect(await running.exit).toEqual({ code: 0, signal: null });
  };

  it("distinguishes its own spans from those that claim to be", async () => {
    const running = await startService(workspace, { settings: settings(anyPorts) });
    const { http: port } = await logged(running, "receiving traces");
    const exporter = new ProtoExporter({ url: `http://127.0.0.1:${String(port)}/v1/traces` });
    await ask(running, "/system/info");
    interface Origins {
      readonly traces: readonly { readonly trace_id: string; readonly origin: string }[];
    }
    const [own] = (await ask<Origins>(running, "/traces?service=steward&origin=own")).traces;
    // Spans in the trace of the service, with the name of the service.
    const { spans, traceId } = makeSpans("steward");
    const [span] = spans;
    if (span === undefined || own === undefined) throw new Error("there is no trace");
    const inOwn: ReadableSpan = { ...span, spanContext: () => ({ ...span.spanContext(), traceId: own.trace_id }) };
    await exported(exporter, [span, inOwn]);
    await exporter.shutdown();
    const all = (await ask<Origins>(running, "/traces?service=steward&limit=1000")).traces;
    expect(all.find(({ trace_id: id }) => id === traceId)).toMatchObject({ origin: "received" });
    expect(all.find(({ trace_id: id }) => id === own.trace_id)).toMatchObject({ origin: "own" });
    const trace = await ask<{ spans: readonly { span_id: string; origin: string }[] }>(
      running,
      `/traces/${own.trace_id}`,
    );
    const forged = trace.spans.filter(({ span_id: id }) => id === span.spanContext().spanId);
    expect(forged.map(({ origin }) => origin)).toEqual(["received"]);
    expect(trace.spans.filter(({ origin }) => origin === "own").length).toBeGreaterThan(0);
    await stop(running);
  });

  it("counts them exactly, has its own beside them, and has both after a restart", async () => {
    const first = await startService(workspace, { settings: settings(anyPorts) });
    const { http: port } = await logged(first, "receiving traces");
    const load = await sendSpans(`http://127.0.0.1:${String(port)}/v1/traces`, 1_000_000, 0.005);
    const metrics = parseMetrics(await (await fetch(`${first.url}/metrics`)).text());
    const counts = metrics.filter(({ name }) => name === "svc_trace_spans_total");
    expect(Object.fromEntries(counts.map(({ labels, value }) => [labels["result"], value]))).toEqual({
      kept: load.taken,
      rejected: 0,
    });
    await ask(first, "/system/info");
    const own = (await ask<List>(first, "/traces?service=steward")).traces;
    expect(own.map(({ name }) => name)).toContain("GET /api/v1/system/info");
    await stop(first);

    const second = await startService(workspace, { settings: settings("receiver: off"), stateDir: first.stateDir });
    const { traces: loaded } = await ask<{ traces: { spans: number }[] }>(second, "/traces?service=load&limit=1000");
    expect(loaded.reduce((sum, { spans }) => sum + spans, 0)).toBe(load.taken);
    expect((await ask<List>(second, "/traces?service=steward")).traces).toEqual(expect.arrayContaining([own[0]]));
    await stop(second);
  });

  it("starts without a word where its ports are taken, unless the settings require them", async () => {
    const taken = await takenPort();
    const ports = `ports: { grpc: 0, http: ${taken.port} }`;
    const running = await startService(workspace, { settings: settings(ports) });
    await ask(running, "/health");
    expect(running.lines().filter(({ level, msg }) => level !== "info" || String(msg).includes("traces"))).toEqual([]);
    await stop(running);
    const insisting = launchService(workspace, { settings: settings(`receiver: on, ${ports}`) });
    expect((await insisting.exit).code).not.toBe(0);
    expect(`${insisting.stdout()}${insisting.stderr()}`).toContain(`cannot receive traces on 127.0.0.1:${taken.port}`);
    taken.release();
  });

  it.each<OtlpProtocol>(["http", "grpc"])("forwards over %s what it has received, and its own", async (protocol) => {
    const collector = await startOtlpReceiver(protocol);
    const running = await startService(workspace, {
      settings: settings(`${anyPorts}, endpoint: "${collector.url}", protocol: ${protocol}`),
    });
    const { http: port } = await logged(running, "receiving traces");
    const { spans, traceId } = makeSpans("passed on");
    const exporter = new JsonExporter({ url: `http://127.0.0.1:${String(port)}/v1/traces` });
    await exported(exporter, spans);
    await exporter.shutdown();
    const arrived = await until("the span", () => collector.spans().find(({ traceId: id }) => id === traceId));
    expect(arrived).toMatchObject({ name: "GET /", kind: "server", resource: { "service.name": "passed on" } });
    await until("a span of its own", () =>
      collector.spans().find(({ resource }) => resource["service.name"] === "steward"),
    );
    expect((await ask<List>(running, "/traces?limit=1000")).traces).toMatchObject([{ service: "passed on" }]);
    await stop(running);
    await collector.close();
  });
});
