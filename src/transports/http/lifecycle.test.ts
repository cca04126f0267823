import { type FastifyInstance, fastify } from "fastify";
import { beforeEach, expect, it } from "vitest";
import type { Operation } from "#contract/operation.ts";
import { addLifecycle } from "./lifecycle.ts";

let steps: string[];
let app: FastifyInstance;

beforeEach(() => {
  steps = [];
  app = fastify();
  addLifecycle(app, {
    entrance: {
      ofRoute: (route) => (request, _, done) => {
        steps.push(`admit ${route.endpoint}`);
        done(request.headers["x-refuse"] === undefined ? undefined : new Error("refused"));
      },
      unknownPath(request, _, done) {
        if (!request.is404) return done();
        steps.push("refuse the path");
        done(new Error("no such path"));
      },
    },
    base: { addToAnswers: undefined },
    idempotency: {
      replay(request, reply) {
        steps.push("replay");
        return Promise.resolve(request.headers["x-again"] === undefined ? undefined : reply.send("again"));
      },
      keep(_, __, payload, done) {
        steps.push("keep");
        done(null, payload);
      },
    },
    windows: {
      hold(_, __, done) {
        steps.push("hold");
        done();
      },
    },
    audit: {
      answering(_, __, payload, done) {
        steps.push("audit");
        done(null, payload);
      },
    },
    compression: (_, __, payload, done) => done(null, payload),
    replyError(_, __, reply) {
      steps.push("error");
      return reply.code(400).send("error");
    },
    answered: ({ record }) => void steps.push(record.isLogged ? "answered twice" : "answered"),
  });
  for (const method of ["GET", "POST", "DELETE"] as const) {
    for (const effect of ["read", "write"] as const) {
      const endpoint = `/${effect}`;
      if (method === "GET" && effect === "write") continue;
      app.route({
        method,
        url: endpoint,
        config: { endpoint, audit: { name: "x", operation: { effect } as Operation } },
        handler() {
          steps.push("handle");
          return "done";
        },
      });
    }
  }
});

it.each([
  ["GET", "/read", {}, ["admit /read", "handle", "answered"]],
  ["HEAD", "/read", {}, ["admit /read", "handle", "answered"]],
  ["POST", "/read", {}, ["admit /read", "replay", "handle", "keep", "answered"]],
  ["DELETE", "/write", {}, ["admit /write", "hold", "handle", "audit", "answered"]],
  ["POST", "/write", {}, ["admit /write", "replay", "hold", "handle", "audit", "keep", "answered"]],
  ["POST", "/write", { "x-again": "1" }, ["admit /write", "replay", "audit", "keep", "answered"]],
  ["POST", "/write", { "x-refuse": "1" }, ["admit /write", "error", "audit", "keep", "answered"]],
  ["POST", "/nowhere", {}, ["refuse the path", "error", "answered"]],
] as const)("%s %s with %j passes its steps in order", async (method, url, headers, expected) => {
  await app.inject({ method, url, headers });
  expect(steps).toEqual(expected);
});

it("reads no body before admission", async () => {
  const payload = "{";
  const headers = { "content-type": "application/json" };
  for (const url of ["/write", "/nowhere"])
    await app.inject({ method: "POST", url, payload, headers: { ...headers, "x-refuse": "1" } });
  expect(steps.filter((step) => /admit|path|handle/.test(step))).toEqual(["admit /write", "refuse the path"]);
  steps.length = 0;
  await app.inject({ method: "POST", url: "/write", payload, headers });
  expect(steps).toEqual(["admit /write", "error", "audit", "keep", "answered"]);
});
