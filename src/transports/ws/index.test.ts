import { once } from "node:events";
import { createServer } from "node:http";
import { expect, it } from "vitest";
import { WebSocket } from "ws";
import type { Caller } from "#contract/operation.ts";
import { createLogs } from "#telemetry/logger.ts";
import { createStreamServer } from "./index.ts";

const { log } = createLogs({ level: "error", writer: { write: () => undefined } });
const caller = { keyId: "k", keyName: "k", credential: "key", scopes: [], expiresAt: null } as const;

const ports = {
  clock: { now: () => 0, every: () => () => undefined },
  metrics: { streamClients: () => undefined, streamDropped: () => undefined },
  log,
  onRevoked: () => () => undefined,
  isRevoked: () => false,
  sessions: { onEnded: () => () => undefined, hasEnded: () => false },
  isOutdated: () => false,
};

it("messages of one WebSocket client leave turns to others", async () => {
  const turns: string[] = [];
  const count = 1000;
  const all = Promise.withResolvers<void>();
  const receive = (): void => {
    if (turns.length === 0) setImmediate(() => turns.push("other"));
    turns.push("message");
    if (turns.length > count) all.resolve();
  };
  const opener = () => () => ({ receive, dispose: () => undefined });
  const streams = createStreamServer({ ...ports, handlers: { logs: opener, health: opener, operations: opener } });
  const server = createServer();
  server.on("upgrade", (request, socket, head) => {
    streams.accept("logs", { caller, query: {}, headers: request.headers })(request, socket, head, []);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const client = new WebSocket(`ws://127.0.0.1:${typeof address === "object" ? address?.port : 0}`);
  await new Promise((resolve) => client.once("open", resolve));
  // Sent in one piece.
  for (let at = 0; at < count; at += 1) client.send("1");
  await all.promise;
  expect(turns.indexOf("other")).toBeLessThan(3);
  client.terminate();
  await new Promise((resolve) => server.close(resolve));
});

it("a WebSocket is refused when client certificates are verified again meanwhile", async () => {
  let isAnew = false;
  const attached: string[] = [];
  const opener =
    (_: object, { credential }: Caller) =>
    () => {
      attached.push(credential);
      return { receive: () => undefined, dispose: () => undefined };
    };
  const handlers = { logs: opener, health: opener, operations: opener };
  const streams = createStreamServer({ ...ports, handlers, isOutdated: () => isAnew });
  const server = createServer();
  server.on("upgrade", (request, socket, head) => {
    const credential = request.url === "/certificate" ? "certificate" : "key";
    const admitted = { caller: { ...caller, credential }, query: {}, headers: request.headers } as const;
    const takeOver = streams.accept("logs", admitted);
    isAnew = true;
    streams.endCertified();
    takeOver(request, socket, head, []);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const url = `ws://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  const certified = new WebSocket(`${url}/certificate`);
  const [code, reason] = await once(certified, "close");
  expect([code, String(reason)]).toEqual([1001, "certificates are being verified again"]);
  const keyed = new WebSocket(`${url}/key`);
  await once(keyed, "open");
  expect(attached).toEqual(["key"]);
  keyed.terminate();
  await new Promise((resolve) => server.close(resolve));
});
