import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { asyncapiDocument } from "#transports/http/asyncapi.ts";
import { openapiDocument } from "#transports/http/openapi.ts";
import { openStream } from "../process/support/ws-client.ts";
import { createDocumentCheck, type LiveAnswer, watchAnswers } from "./documented.ts";
import { createFrameCheck, type LiveFrame } from "./documented-frames.ts";
import { send, startTestService, type TestRequest } from "./harness.ts";

const check = createDocumentCheck(openapiDocument("1.2.3"));

/** The answers of a service to these requests. */
async function answersTo(...requests: readonly TestRequest[]): Promise<readonly LiveAnswer[]> {
  const seen: LiveAnswer[] = [];
  const service = await startTestService({}, (app) => watchAnswers(app, (answer) => void seen.push(answer)));
  for (const request of requests) await send(service, { key: service.admin, ...request });
  await service.app.close();
  return seen;
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const bodyOf = ({ body }: LiveAnswer) => JSON.parse(body.toString("utf8")) as Record<string, unknown>;
const without = (headers: LiveAnswer["headers"], name: string) =>
  Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name));

describe("the check of answers against the OpenAPI document", () => {
  const [health, missing, created] = [
    { path: "/api/v1/health" },
    { path: "/api/v1/nothing" },
    { path: "/api/v1/auth/keys", method: "POST", body: { name: "a", scopes: [] } },
  ] as const;

  it("accepts what the service answers", async () => {
    const answers = await answersTo(health, missing, created, { path: "/livez" }, { ...health, method: "HEAD" });
    expect(answers.map(({ status, endpoint }) => [status, endpoint])).toEqual([
      [200, "/api/v1/health"],
      [404, undefined],
      [201, "/api/v1/auth/keys"],
      [200, "/livez"],
      [200, "/api/v1/health"],
    ]);
    expect(answers.flatMap(check)).toEqual([]);
  });

  it.each<[string, (answer: LiveAnswer) => Partial<LiveAnswer>, string]>([
    ["a status", () => ({ status: 418 }), "the status is not declared"],
    ["a header", ({ headers }) => ({ headers: { ...headers, "x-new": "1" } }), "header x-new is not declared"],
    [
      "a header that is missing",
      ({ headers }) => ({ headers: without(headers, "x-request-id") }),
      "header x-request-id is missing",
    ],
    [
      "a media type",
      ({ headers }) => ({ headers: { ...headers, "content-type": "text/html" } }),
      "media type text/html is not declared",
    ],
    [
      "a member that the schema does not have",
      (answer) => ({ body: json({ ...bodyOf(answer), more: true }) }),
      "body:  must NOT have additional properties",
    ],
    [
      "what is compressed",
      (answer) => ({
        headers: { ...answer.headers, "content-encoding": "gzip" },
        body: gzipSync(json({ ...bodyOf(answer), version: 5 })),
      }),
      "body: /version must be string",
    ],
  ])("finds %s", async (_, change, fault) => {
    const [answer] = await answersTo(health);
    if (answer === undefined) throw new Error("no answer was seen");
    expect(check({ ...answer, ...change(answer) })).toContain(
      `GET /api/v1/health: ${change(answer).status ?? 200}: ${fault}`,
    );
  });

  it("finds an undeclared event", async () => {
    const [answer] = await answersTo(health);
    if (answer === undefined) throw new Error("no answer was seen");
    const headers = { ...without(answer.headers, "content-type"), "content-type": "text/event-stream" };
    const events = { ...answer, endpoint: "/api/v1/connectors/chat", method: "POST", headers };
    const good = 'event: delta\ndata: {"content":"a"}\n\n';
    expect(check({ ...events, body: Buffer.from(good) })).toEqual([]);
    const bad = check({ ...events, body: Buffer.from(`${good}event: more\ndata: {}\n\n`) });
    expect(bad).toEqual([expect.stringContaining("POST /api/v1/connectors/chat: 200: event more: ")]);
  });
});

describe("the check of frames against the AsyncAPI document", () => {
  const checkFrame = createFrameCheck(asyncapiDocument("1.2.3"));
  const [health, logs] = ["/api/v1/ws/health", "/api/v1/ws/logs"];

  it("has the frames of both directions, and which messages were refused", async () => {
    const seen: LiveFrame[] = [];
    const framed = (frame: LiveFrame) => void seen.push(frame);
    const service = await startTestService({}, (app) => watchAnswers(app, () => undefined, framed));
    const url = await service.app.listen({ host: "127.0.0.1", port: 0 });
    const headers = { "X-API-Key": service.admin };
    const filtered = await openStream(url, logs, { headers });
    filtered.send({ type: "filter", unit: "cron", grep: "x".repeat(1000) });
    filtered.send({ type: "filter", unit: 5 });
    await filtered.first(1);
    const silent = await openStream(url, health, { headers });
    await silent.first(2);
    silent.send("anything");
    await silent.first(3);
    const count = (action: LiveFrame["action"]) => seen.filter((frame) => frame.action === action).length;
    await expect.poll(() => [count("send"), count("receive")]).toEqual([4, 3]);
    const received = seen.filter(({ action }) => action === "receive");
    expect(received.map(({ endpoint, isRefused }) => [endpoint, isRefused])).toEqual([
      [logs, false],
      [logs, true],
      [health, true],
    ]);
    expect(seen.flatMap(checkFrame)).toEqual([]);
    // What is wrong when it is taken.
    expect(received.flatMap((frame) => checkFrame({ ...frame, isRefused: false }))).toEqual([
      expect.stringContaining(`${logs}: a message that was taken is not in the document: {"type":"filter","unit":5}`),
      `${health}: a message that was taken is not in the document: "anything": none is declared`,
    ]);
    for (const { socket } of [filtered, silent]) socket.terminate();
    await service.app.close();
  });

  const error = { code: "VALIDATION_ERROR", message: "m" };
  it.each<[string, Partial<LiveFrame>, string]>([
    ["a stream", { endpoint: "/api/v1/ws/new" }, "/api/v1/ws/new: the stream is not in the document"],
    ["a kind of frame", { text: '{"type":"hello"}' }, "must have required property"],
    [
      "a member that the schema does not have",
      { text: JSON.stringify({ type: "error", message: "m", error, more: 1 }) },
      "must NOT have additional properties",
    ],
  ])("finds %s", (_, change, fault) => {
    const frame = {
      endpoint: logs,
      action: "send",
      text: JSON.stringify({ type: "error", message: "m", error }),
    } as const;
    expect(checkFrame(frame)).toEqual([]);
    expect(checkFrame({ ...frame, ...change })).toEqual([expect.stringContaining(fault)]);
  });
});
