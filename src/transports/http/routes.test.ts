import { type FastifyInstance, fastify } from "fastify";
import { Type } from "typebox";
import { beforeEach, expect, it } from "vitest";
import type { operations } from "#contract/index.ts";
import { EventStream, type Handlers, type Operation, type Operations } from "#contract/operation.ts";
import { addOperations, type RoutePorts } from "./routes.ts";

const base = { method: "GET", base: "root", effect: "read", errors: [] } as unknown as Operation;
const table: Operations = {
  reported: { ...base, path: "/reported", response: Type.Object({ name: Type.String() }) },
  malformed: { ...base, path: "/malformed", response: Type.Unsafe({ type: "nothing" }) },
  endless: { ...base, path: "/endless" },
};

let app: FastifyInstance;
let hasEnded: boolean;

async function* events() {
  try {
    for (;;) yield await Promise.resolve({ event: "again", data: {} });
  } finally {
    hasEnded = true;
  }
}

beforeEach(() => {
  hasEnded = false;
  app = fastify();
  app.addHook("onRequest", (request, _, done) => {
    request.record = {} as typeof request.record;
    done();
  });
  const answer = { name: "nginx", secret: "hunter2" };
  const handlers = {
    reported: () => answer,
    malformed: () => answer,
    endless: () => Promise.resolve(new EventStream(events())),
  };
  const ports = {
    begins: () => undefined,
    clock: { sleep: () => new Promise(() => undefined) },
    toErrorBody: () => ({}),
  };
  addOperations(app, handlers as unknown as Handlers<typeof operations>, ports as unknown as RoutePorts, table);
});

it("an answer has the members of its schema alone", async () => {
  const { headers, body } = await app.inject("/reported");
  expect([headers["content-type"], body]).toEqual(["application/json; charset=utf-8", '{"name":"nginx"}']);
});

it("a stream requested with HEAD ends", async () => {
  const { statusCode, headers, body } = await app.inject({ method: "HEAD", url: "/endless" });
  expect([statusCode, headers["content-type"], body]).toEqual([200, "text/event-stream", ""]);
  await expect.poll(() => hasEnded).toBe(true);
});

it("an answer whose schema cannot be compiled is an error", async () => {
  expect((await app.inject("/malformed")).statusCode).toBe(500);
});
