import { connect } from "node:net";
import { fastify } from "fastify";
import { afterEach, beforeEach, expect, it } from "vitest";
import { invalid } from "#domain/common/error.ts";
import { createLogs } from "#telemetry/logger.ts";
import { createBasePath } from "./base-path.ts";
import { createEntrance } from "./entrance.ts";
import { createErrorBody, createErrorReply } from "./error-reply.ts";
import { addLifecycle } from "./lifecycle.ts";
import { createPathIndex } from "./path-methods.ts";
import { createUpgrades } from "./upgrade.ts";

const { log } = createLogs({ level: "error", writer: { write: () => undefined } });
const base = createBasePath("");
let statuses: number[];
let app: ReturnType<typeof fastify>;
let port: number;

beforeEach(async () => {
  statuses = [];
  const upgrades = createUpgrades(base, (_, reply) => void statuses.push(reply.statusCode));
  app = fastify({ http: { shouldUpgradeCallback: upgrades.isUpgrade } });
  const paths = createPathIndex();
  addLifecycle(app, {
    paths,
    entrance: createEntrance({
      paths,
      admit: () => undefined,
      guard: () => undefined,
      abandoned: () => Promise.resolve(),
      pathError: () => undefined,
    }),
    base,
    idempotency: { replay: () => Promise.resolve(), keep: (_, __, payload, done) => done(null, payload) },
    windows: { hold: (_, __, done) => done() },
    audit: { answering: (_, __, payload, done) => done(null, payload) },
    compression: (_, __, payload, done) => done(null, payload),
    replyError: createErrorReply(createErrorBody(log, new AbortController().signal)),
    answered: () => undefined,
  });
  upgrades.listen(app);
  app.get("/plain", () => ({ plain: true }));
  upgrades.add(app, {
    path: "/ws/echo",
    access: { scope: "public" },
    accept({ query }) {
      if (query["cursor"] === "bad") throw invalid("cursor", "malformed");
      return (_, socket, head) => {
        socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
        socket.write(head);
        socket.pipe(socket);
      };
    },
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const address = app.server.address();
  port = typeof address === "object" && address !== null ? address.port : 0;
});
afterEach(() => app.close());

/** Sends a request and what follows it, and resolves with all that comes until `until` is in it or the server hangs up. */
function talk(
  path: string,
  { headers = "Upgrade: websocket\r\nConnection: Upgrade\r\n", early = "", until = "\0", version = "1.1" } = {},
) {
  return new Promise<{ text: string; isEnded: boolean }>((resolve, reject) => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(`GET ${path} HTTP/${version}\r\nHost: localhost\r\n${headers}\r\n${early}`);
    });
    socket.on("data", (chunk) => {
      text += chunk.toString();
      if (!text.includes(until)) return;
      resolve({ text, isEnded: false });
      socket.destroy();
    });
    socket.on("end", () => resolve({ text, isEnded: true }));
    socket.on("error", reject);
  });
}

it("an admitted upgrade gets the connection with early data", async () => {
  const { text } = await talk("/api/v1/ws/echo?x=1", { early: "early", until: "early" });
  expect(text).toMatch(/^HTTP\/1\.1 101 /);
  expect(statuses).toEqual([101]);
});

it("an upgrade over HTTP/1.0 is ignored (RFC 9110 §7.8)", async () => {
  const { text } = await talk("/api/v1/ws/echo", { version: "1.0", until: "}}" });
  expect(text).toMatch(/^HTTP\/1\.1 400 [\s\S]*"field":"Upgrade"/);
});

it("an upgrade on an ordinary path is ignored", async () => {
  const { text } = await talk("/plain", { until: "true}" });
  expect(text).toMatch(/^HTTP\/1\.1 200 /);
});

const upgradeLines = "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n";

it("an upgrade behind pending answers is refused in order", async () => {
  const behind = `GET /api/v1/ws/echo HTTP/1.1\r\nHost: localhost\r\n${upgradeLines}`;
  const { text } = await talk("/plain", { headers: "", early: behind, until: "ask for an upgrade" });
  expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(["200", "400"]);
});

it("an upgrade after answered requests gets the connection", async () => {
  const text = await new Promise<string>((resolve, reject) => {
    let received = "";
    const socket = connect(port, "127.0.0.1", () => socket.write("GET /plain HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    socket.once("data", () => socket.write(`GET /api/v1/ws/echo HTTP/1.1\r\nHost: localhost\r\n${upgradeLines}again`));
    socket.on("data", (chunk) => {
      received += chunk.toString();
      if (!received.includes("again")) return;
      resolve(received);
      socket.destroy();
    });
    socket.on("error", reject);
  });
  expect(text).toMatch(/HTTP\/1\.1 101 /);
});

it("an upgrade behind a malformed request is not answered", async () => {
  const [first, ...more] = [
    "GET /plain HTTP/1.1\r\n\r\n",
    `GET /api/v1/ws/echo HTTP/1.1\r\nHost: x\r\n${upgradeLines}`,
  ];
  const text = await new Promise<string>((resolve, reject) => {
    let received = "";
    const socket = connect(port, "127.0.0.1", () => socket.write([first, ...more].join("")));
    socket.on("data", (chunk) => {
      received += chunk.toString();
    });
    socket.on("close", () => resolve(received));
    socket.on("error", reject);
  });
  expect(text).toMatch(/^HTTP\/1\.1 400 /);
  expect(text).not.toContain("101");
});
