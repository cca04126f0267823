import { createServer } from "node:http";
import { expect, it } from "vitest";
import { WebSocket } from "ws";
import { createLogs } from "#telemetry/logger.ts";
import { createStreamServer } from "./index.ts";

const { log } = createLogs({ level: "error", writer: { write: () => undefined } });
const caller = { keyId: "k", keyName: "k", credential: "key", scopes: [], expiresAt: null } as const;

it("lets others have their turn between two messages, however many come at once", async () => {
  const turns: string[] = [];
  const count = 1000;
  const all = Promise.withResolvers<void>();
  const receive = (): void => {
    if (turns.length === 0) setImmediate(() => turns.push("other"));
    turns.push("message");
    if (turns.length > count) all.resolve();
  };
  const opener = () => () => ({ receive, dispose: () => undefined });
  const streams = createStreamServer({
    handlers: { logs: opener, health: opener },
    clock: { now: () => 0, every: () => () => undefined },
    metrics: { streamClients: () => undefined, streamDropped: () => undefined },
    log,
    onRevoked: () => () => undefined,
    isRevoked: () => false,
  });
  const server = createServer();
  server.on("upgrade", (request, socket, head) => {
    streams.accept("logs", { caller, query: {}, headers: request.headers }).then(
      (takeOver) => takeOver(request, socket, head, []),
      (error: Error) => all.reject(error),
    );
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
