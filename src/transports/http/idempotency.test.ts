import { request } from "node:http";
import type { FastifyInstance } from "fastify";
import { fastify } from "fastify";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DomainError } from "#domain/common/error.ts";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import type { KeptAnswer } from "./idempotency.ts";
import { createIdempotency, createIdempotencyHooks, parseIdempotencyKey } from "./idempotency.ts";
import { createRequestRecord } from "./request-record.ts";

const dayMs = 24 * 60 * 60 * 1000;
let clock: ReturnType<typeof createFakeClock>;
let app: FastifyInstance;
let disk: Map<string, KeptAnswer>;
let calls: number;
let next: () => unknown;
const troubles: unknown[] = [];
const replays: string[] = [];
/** Keys that were revoked. */
const ended = new Set<string>();

/** The service, started again on the same disk. */
async function start(limits?: { answers: number; bytes: number }): Promise<void> {
  await app?.close();
  app = fastify({ forceCloseConnections: true });
  app.decorateRequest("record");
  app.addHook("onRequest", (request, _, done) => {
    const keyId = request.headers["x-key"];
    const { "x-scopes": held = "" } = request.headers;
    const scopes = String(held).split(" ");
    const rights = { keyName: "k", credential: "key", scopes, expiresAt: null } as const;
    request.record = createRequestRecord();
    if (typeof keyId === "string") request.record.caller = { keyId, ...rights };
    request.record.route = {
      audit: {
        name: "x",
        operation: { answerIsSecret: request.url === "/secret" } as never,
      },
    };
    done();
  });
  app.addHook("onResponse", (request, _, done) => {
    if (request.record.isReplay) replays.push(request.url);
    done();
  });
  const { replay, keep } = createIdempotencyHooks(
    createIdempotency({
      clock,
      files: {
        load: () => [...disk.values()],
        save: (kept) => void disk.set(kept.id, kept),
        remove: (id) => void disk.delete(id),
      },
      onTrouble: (error) => troubles.push(error),
      ...(limits !== undefined && { limits }),
    }),
    ({ keyId }) => ended.has(keyId),
  );
  const hooks = { preHandler: replay, onSend: keep };
  app.setErrorHandler((error, _, reply) => {
    const isKnown = error instanceof DomainError;
    return reply.code(isKnown && error.code === "VALIDATION_ERROR" ? 400 : 503).send({ error });
  });
  const handler = async () => {
    calls += 1;
    const call = calls;
    return (await next()) ?? { call };
  };
  for (const url of ["/a", "/b", "/secret"]) app.post(url, hooks, handler);
  app.get("/a", handler);
  app.post("/status/:code", hooks, (request, reply) => {
    calls += 1;
    const { code } = request.params as { code: string };
    return reply.code(Number(code)).header("Location", `/made/${calls}`).send({ call: calls });
  });
}

const post = (url: string, headers: Readonly<Record<string, string>> = {}, payload: object = {}) =>
  app.inject({ method: "POST", url, headers: { "x-key": "one", ...headers }, payload });
/** Until a handler is at work. */
const started = async (): Promise<void> => {
  while (calls === 0) await new Promise((resolve) => setImmediate(resolve));
};
const keyed = { "Idempotency-Key": "abc" };

beforeEach(async () => {
  clock = createFakeClock();
  disk = new Map();
  calls = 0;
  ended.clear();
  next = () => undefined;
  await start();
});
afterEach(() => app.close());

describe("Idempotency-Key", () => {
  it("replays status, body and headers, also after a restart", async () => {
    const first = await post("/status/201", keyed);
    const again = await post("/status/201", keyed);
    expect([again.statusCode, again.body, again.headers["location"], again.headers["content-type"]]).toEqual([
      201,
      first.body,
      "/made/1",
      first.headers["content-type"],
    ]);
    expect(replays.splice(0)).toHaveLength(1);
    expect([first.headers["idempotent-replayed"], again.headers["idempotent-replayed"]]).toEqual([undefined, "true"]);
    await start();
    expect((await post("/status/201", keyed)).body).toBe(first.body);
    expect(calls).toBe(1);
  });

  it("is kept for a day, per API key, for POST alone", async () => {
    await post("/a", keyed);
    await post("/a", { ...keyed, "x-key": "two" });
    await post("/a");
    await app.inject({ method: "GET", url: "/a", headers: { "x-key": "one", ...keyed } });
    await app.inject({ method: "POST", url: "/a", headers: keyed, payload: {} });
    expect(calls).toBe(5);
    clock.set(clock.now() + dayMs - 1);
    await post("/a", keyed);
    expect(calls).toBe(5);
    clock.set(clock.now() + 1);
    await post("/a", keyed);
    expect(calls).toBe(6);
  });

  it("holds a concurrent repetition until the first is answered", async () => {
    const gate = Promise.withResolvers<void>();
    next = () => gate.promise;
    const both = [post("/a", keyed), post("/a", keyed), post("/a", keyed)];
    await started();
    expect((await post("/b", keyed)).statusCode).toBe(400);
    gate.resolve();
    const bodies = (await Promise.all(both)).map(({ body }) => body);
    expect([new Set(bodies).size, calls]).toEqual([1, 1]);
  });

  it.each([401, 403, 409, 429, 500, 503])("does not replay a %i", async (status) => {
    await post(`/status/${status}`, keyed);
    await post(`/status/${status}`, keyed);
    expect([calls, disk.size]).toEqual([2, 0]);
  });

  it.each([200, 201, 202, 400, 404])("replays a %i", async (status) => {
    await post(`/status/${status}`, keyed);
    await post(`/status/${status}`, keyed);
    expect(calls).toBe(1);
  });

  it("lets a waiting repetition run when the first fails", async () => {
    const gate = Promise.withResolvers<void>();
    next = () => gate.promise;
    const first = post("/a", keyed);
    const second = post("/a", keyed);
    await started();
    next = () => undefined;
    gate.reject(new Error("broken"));
    expect((await first).statusCode).toBe(503);
    expect((await second).json()).toEqual({ call: 2 });
  });

  it("is kept per key and set of scopes", async () => {
    await post("/a", { ...keyed, "x-scopes": "a b" });
    await post("/a", { ...keyed, "x-scopes": "b a b" });
    expect(calls).toBe(1);
    for (const scopes of ["", "a", "b", "a b c", "a:b", "ab"]) await post("/a", { ...keyed, "x-scopes": scopes });
    expect(calls).toBe(7);
  });

  it("keeps a bounded number and size, dropping the oldest", async () => {
    await start({ answers: 2, bytes: 1_000_000 });
    for (const key of ["1", "2", "3"]) await post("/a", { "Idempotency-Key": key });
    expect(disk.size).toBe(2);
    await post("/a", { "Idempotency-Key": "3" });
    expect(calls).toBe(3);
    await post("/a", { "Idempotency-Key": "1" });
    expect(calls).toBe(4);
    await start({ answers: 100, bytes: 3000 });
    next = () => ({ text: "x".repeat(1500) });
    for (const key of ["4", "5", "6"]) await post("/a", { "Idempotency-Key": key });
    expect(disk.size).toBe(1);
  });

  it("works when nothing can be stored", async () => {
    disk.set = () => {
      throw new Error("ENOSPC");
    };
    await post("/a", keyed);
    await post("/a", keyed);
    expect(calls).toBe(1);
    expect(troubles.at(-1)).toEqual(new Error("ENOSPC"));
  });
});

describe("a client that goes before its answer", () => {
  it("gets the answer when it repeats the request", async () => {
    const url = await app.listen({ host: "127.0.0.1", port: 0 });
    const gate = Promise.withResolvers<void>();
    next = () => gate.promise;
    const gone = new AbortController();
    const ask = (signal?: AbortSignal): Promise<Response> =>
      fetch(`${url}/a`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-key": "one", ...keyed },
        body: "{}",
        ...(signal !== undefined && { signal }),
      });
    const first = ask(gone.signal);
    await started();
    gone.abort();
    await expect(first).rejects.toThrow();
    const second = ask();
    gate.resolve();
    expect(await (await second).json()).toEqual({ call: 1 });
    expect((await ask()).headers.get("idempotent-replayed")).toBe("true");
    expect(calls).toBe(1);
  });

  it("is not served when it has gone while waiting for another", async () => {
    const url = await app.listen({ host: "127.0.0.1", port: 0 });
    const gate = Promise.withResolvers<void>();
    next = () => gate.promise;
    const headers = { "content-type": "application/json", "x-key": "one", ...keyed };
    const first = fetch(`${url}/a`, { method: "POST", headers, body: "{}" });
    await started();
    const left = Promise.withResolvers<void>();
    const came = Promise.withResolvers<void>();
    app.server.once("request", (_, response) => {
      response.once("close", left.resolve);
      came.resolve();
    });
    const second = request(`${url}/a`, { method: "POST", headers, agent: false });
    second.on("error", () => undefined);
    second.end("{}");
    await came.promise;
    second.destroy();
    await left.promise;
    gate.reject(new Error("broken"));
    expect((await first).status).toBe(503);
    await new Promise((resolve) => setImmediate(resolve));
    expect(calls).toBe(1);
  });
});

describe("the form of an Idempotency-Key", () => {
  it.each(["a", "x".repeat(255), '"8e03978e-40d5-43dd-bc93-6894a57f9324"', "a b~!"])("accepts %j", (text) => {
    expect(parseIdempotencyKey(text)).toBe(text);
  });
  it.each(["", "x".repeat(256), "a\tb", "ä", "\u007f"])("refuses %j", (text) => {
    expect(() => parseIdempotencyKey(text)).toThrow(expect.objectContaining({ code: "VALIDATION_ERROR" }));
  });
});
