import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LogTemplates } from "#contract/log-exploration.ts";
import { priorityNumbers } from "#contract/streams.ts";
import { createFakeJournal } from "../fakes/journal.ts";
import { openStream, refusedStream, type StreamConnection, type StreamOptions } from "../process/support/ws-client.ts";
import type { ServiceFakes } from "./fake-service.ts";
import { errorWith, send, startTestService, type TestService } from "./harness.ts";

const path = "/api/v1/ws/logs";
let service: TestService;
let url: string;
let opened: StreamConnection[];

async function start(overrides: Partial<Pick<ServiceFakes, "rateLimits">> = {}): Promise<void> {
  service = await startTestService({ ...overrides, journal: createFakeJournal([{ message: "before" }]) });
  url = await service.app.listen({ host: "127.0.0.1", port: 0 });
}

beforeEach(async () => {
  opened = [];
  await start();
});
afterEach(async () => {
  for (const { socket } of opened) socket.terminate();
  await service.app.close();
});

/** Opens the stream with the admin's key unless the options say otherwise. */
async function open(options: StreamOptions = {}, key = service.admin): Promise<StreamConnection> {
  const stream = await openStream(url, path, { ...options, headers: { "X-API-Key": key, ...options.headers } });
  opened.push(stream);
  return stream;
}

const refused = (options: StreamOptions, key: string | undefined = service.admin) =>
  refusedStream(url, path, {
    ...options,
    headers: { ...(key !== undefined && { "X-API-Key": key }), ...options.headers },
  });

const metric = async (name: string): Promise<string | undefined> => {
  const { text } = await send(service, { path: "/metrics", key: service.admin });
  return text.split("\n").find((line) => line.startsWith(name));
};

/** Messages of the entries that came until a last one that passes every filter of the test. */
async function messagesUntil(stream: StreamConnection, last: string): Promise<readonly unknown[]> {
  return (await stream.last(last)).map((frame) => frame["message"]);
}

describe("entries of a log stream", () => {
  it("come as they are written, as log entries, without a greeting", async () => {
    const stream = await open();
    const cursor = service.journal.write({ message: "one", unit: "nginx.service", priority: 3, identifier: "nginx" });
    service.journal.write({ message: "two" });
    const [one, two] = await stream.first(2);
    expect(one).toEqual({
      timestamp: "2026-01-01T00:00:01.000000Z",
      unit: "nginx.service",
      priority: 3,
      message: "one",
      cursor,
      identifier: "nginx",
      pid: 42,
      hostname: "testhost",
      boot_id: "b".repeat(32),
    });
    expect(two).toMatchObject({ message: "two" });
  });

  it("keep every character, whatever their length", async () => {
    const stream = await open();
    const messages = ["", "ä💣\0\n", "x".repeat(125), "y".repeat(70_000), `${"é".repeat(40_000)}`, "end"];
    for (const message of messages) service.journal.write({ message });
    expect(await messagesUntil(stream, "end")).toEqual(messages);
  });
});

describe("filters of a log stream", () => {
  it.each([
    ["app-*", ["app-1", "app-2"]],
    ["kernel", ["kernel"]],
  ])("of unit %s pass the entries of it", async (unit, expected) => {
    for (const isInQuery of [true, false]) {
      const stream = await open(isInQuery ? { query: { unit } } : {});
      if (!isInQuery) stream.send({ type: "filter", unit });
      await stream.handled();
      for (const name of ["nginx", "app-1", "cron", "app-2"]) {
        service.journal.write({ message: name, unit: `${name}.service` });
      }
      service.journal.write({ message: "kernel", unit: "kernel" });
      stream.send({ type: "filter", unit: null });
      await stream.handled();
      service.journal.write({ message: "end" });
      expect(await messagesUntil(stream, "end")).toEqual([...expected, "end"]);
    }
  });

  it("of priority take every name, alias and number, and mean that severity and more severe ones", async () => {
    const stream = await open();
    const spellings: readonly (string | number)[] = [...Object.keys(priorityNumbers), 0, 3, 7];
    const expected: string[] = [];
    for (const spelling of spellings) {
      stream.send({ type: "filter", priority: spelling });
      await stream.handled();
      const number = priorityNumbers[String(spelling)] ?? 0;
      for (const priority of [0, 1, 2, 3, 4, 5, 6, 7, null]) {
        const message = `${spelling}: ${priority}`;
        service.journal.write({ message, priority });
        if (number === 7 || (priority !== null && priority <= number)) expected.push(message);
      }
      await stream.handled();
    }
    stream.send({ type: "filter", priority: null });
    await stream.handled();
    service.journal.write({ message: "end", priority: null });
    expect(await messagesUntil(stream, "end")).toEqual([...expected, "end"]);
  });

  it("of messages search them, and all that are set must match", async () => {
    const stream = await open({ query: { grep: "disk|END", unit: "app" } });
    service.journal.write({ message: "disk full" });
    service.journal.write({ message: "Disk full" });
    service.journal.write({ message: "disk elsewhere", unit: "b.service" });
    service.journal.write({ message: "nothing" });
    // A member that is left out stays as it was.
    stream.send({ type: "filter", grep: "disk" });
    await stream.handled();
    service.journal.write({ message: "Disk again" });
    service.journal.write({ message: "disk elsewhere again", unit: "b.service" });
    stream.send({ type: "filter", grep: null, unit: null });
    await stream.handled();
    service.journal.write({ message: "end", unit: "" });
    expect(await messagesUntil(stream, "end")).toEqual(["disk full", "Disk again", "end"]);
  });

  it.each([
    [{ type: "filter", unit: 7 }, "unit"],
    [{ type: "filter", unit: "$(touch x)" }, "unit"],
    [{ type: "filter", priority: "loud" }, "priority"],
    [{ type: "filter", grep: "(" }, "grep"],
    [{ type: "filter", template: "took" }, "template"],
    [{ type: "subscribe" }, "type"],
    [[], "message"],
    [null, "message"],
  ])("that are invalid are answered, and the old one stays: %j", async (message, field) => {
    const stream = await open();
    stream.send({ type: "filter", priority: "err" });
    stream.send(message);
    const [error] = await stream.first(1);
    expect(error).toEqual({
      type: "error",
      message: expect.stringMatching(/./),
      error: {
        code: "VALIDATION_ERROR",
        message: error?.["message"],
        details: { field, issue: expect.stringMatching(/./) },
      },
    });
    service.journal.write({ message: "info", priority: 6 });
    service.journal.write({ message: "err", priority: 3 });
    expect((await stream.first(2))[1]).toMatchObject({ message: "err" });
  });

  it.each([
    [{ unit: "a b" }, "unit"],
    [{ priority: "loud" }, "priority"],
    [{ grep: "(" }, "grep"],
    [{ cursor: "s=1;i=2" }, "cursor"],
  ])("that are invalid in the query are refused: %j", async (query, field) => {
    expect(await refused({ query })).toMatchObject({ status: 400, body: errorWith("VALIDATION_ERROR", { field }) });
  });

  const templateOf = async (text: string): Promise<string> => {
    const path = "/api/v1/system/logs/templates?since=2020-01-01T00:00:00Z&until=2030-01-01T00:00:00Z";
    const { templates } = (await send(service, { path, key: service.admin })).json as LogTemplates;
    return templates.find((each) => each.text === text)?.id ?? text;
  };

  it("of a template pass its entries, together with others", async () => {
    service.journal.write({ message: "took 1 ms" });
    service.journal.write({ message: "took 1 s" });
    const [millis, seconds] = [await templateOf("took <*> ms"), await templateOf("took <*> s")];
    const stream = await open({ query: { template: millis, grep: "took [0-5]" } });
    service.journal.write({ message: "took 2 ms" });
    service.journal.write({ message: "took 2 s" });
    service.journal.write({ message: "took 9 ms" });
    service.journal.write({ message: "took 3 ms" });
    expect((await stream.last("took 3 ms")).map((frame) => frame["message"])).toEqual(["took 2 ms", "took 3 ms"]);
    stream.send({ type: "filter", template: seconds, grep: null });
    await stream.handled();
    service.journal.write({ message: "took 4 ms" });
    service.journal.write({ message: "took 4 s" });
    expect(await messagesUntil(stream, "took 4 s")).toEqual(["took 2 ms", "took 3 ms", "took 4 s"]);
  });

  it("of a template are those that a query has it of, whatever other namespaces have", async () => {
    const write = (word: string, namespace = "") => service.journal.write({ message: `opened ${word}`, namespace });
    for (const word of ["alpha", "beta", "gamma"]) write(word);
    for (const word of ["delta", "epsilon", "zeta"]) write(word, "tenant");
    const stream = await open({ query: { template: await templateOf("opened alpha") } });
    write("beta");
    write("alpha");
    expect((await stream.last("opened alpha")).map((frame) => frame["message"])).toEqual(["opened alpha"]);
  });

  it("of a template that is not there, or not for the key, are cleared with an error", async () => {
    const template = await templateOf("before");
    for (const [asked, key] of [
      ["0".repeat(16), service.admin],
      [template, service.key(["logs:read:nginx.service"])],
    ] as const) {
      const stream = await open({ query: { template: asked } }, key);
      expect(await stream.first(1)).toMatchObject([
        { type: "error", error: { code: "VALIDATION_ERROR", details: { field: "template" } } },
      ]);
      const cursor = service.journal.write({ message: "after", unit: "nginx.service" });
      expect((await stream.first(2))[1]).toMatchObject({ cursor });
    }
  });

  it("whose search takes too long are cleared with an error, and no entry is lost", async () => {
    service.grep.slow.add("(a+)+$");
    const stream = await open();
    service.grep.slow.clear();
    stream.send({ type: "filter", grep: "(a+)+$" });
    await stream.handled();
    service.grep.slow.add("(a+)+$");
    service.journal.write({ message: "one" });
    service.journal.write({ message: "two" });
    const frames = await stream.first(3);
    expect(frames).toMatchObject([
      { type: "error", error: { code: "VALIDATION_ERROR", details: { field: "grep" } } },
      { message: "one" },
      { message: "two" },
    ]);
  });
});

describe("a narrowed key on a log stream", () => {
  const narrowed = () => service.key(["logs:read:app-*", "logs:read:nginx.service"]);

  it("sees its units alone, live and behind a cursor", async () => {
    const cursor = service.journal.write({ message: "start" });
    service.journal.write({ message: "hidden", unit: "cron.service" });
    service.journal.write({ message: "seen", unit: "app-1.service" });
    const behind = await open({ query: { cursor } }, narrowed());
    const live = await open({}, narrowed());
    service.journal.write({ message: "hidden", unit: "kernel" });
    service.journal.write({ message: "hidden", unit: "" });
    service.journal.write({ message: "end", unit: "nginx.service" });
    expect(await messagesUntil(behind, "end")).toEqual(["seen", "end"]);
    expect(await messagesUntil(live, "end")).toEqual(["end"]);
  });

  it("is refused other units", async () => {
    const key = narrowed();
    expect(await refused({ query: { unit: "cron" } }, key)).toMatchObject({
      status: 403,
      body: errorWith("FORBIDDEN", { required_scope: "logs:read:cron.service" }),
    });
    const stream = await open({ query: { unit: "app-1" } }, key);
    stream.send({ type: "filter", unit: "*" });
    stream.send({ type: "filter", unit: "nginx" });
    await stream.handled();
    service.journal.write({ message: "app", unit: "app-1.service" });
    service.journal.write({ message: "nginx", unit: "nginx.service" });
    const [error, entry] = await stream.first(2);
    expect(error).toMatchObject({
      type: "error",
      error: {
        code: "FORBIDDEN",
        details: { required_scope: "logs:read:*", granted: ["logs:read:app-*", "logs:read:nginx.service"] },
      },
    });
    expect(entry).toMatchObject({ message: "nginx" });
  });
});

describe("the upgrade to a log stream", () => {
  it("takes the key in the query, in X-API-Key or as Bearer", async () => {
    const key = service.key(["logs:read"]);
    const others: StreamOptions[] = [
      { query: { api_key: key } },
      { headers: { "X-API-Key": key } },
      { headers: { Authorization: `Bearer ${key}` } },
      { query: { api_key: key }, headers: { "X-API-Key": key, Authorization: `Bearer ${key}` } },
    ];
    for (const options of others) {
      const stream = await openStream(url, path, options);
      stream.socket.terminate();
    }
    expect(JSON.stringify(service.logLines())).not.toContain(key);
  });

  it.each([
    ["no key", () => ({})],
    ["a wrong key", () => ({ query: { api_key: service.admin.replace(/.$/, "~") } })],
    ["a malformed header", () => ({ query: { api_key: service.admin }, headers: { Authorization: "Basic eDp5" } })],
  ] satisfies [string, () => StreamOptions][])("refuses %s", async (_, options) => {
    const answer = await refusedStream(url, path, options());
    expect(answer).toMatchObject({ status: 401, body: { error: { code: "UNAUTHORIZED" } } });
    expect(answer.headers["www-authenticate"]).toMatch(/^Bearer /);
    expect(answer.headers["x-request-id"]).toMatch(/^\S+$/);
    expect(JSON.stringify([answer, service.logLines()])).not.toContain(service.admin);
  });

  it("takes the key from the query of streams alone", async () => {
    expect((await send(service, { path: `/api/v1/health?api_key=${service.admin}` })).status).toBe(401);
    expect((await refusedStream(url, "/api/v1/ws/nothing", { query: { api_key: service.admin } })).status).toBe(401);
    expect(await refusedStream(url, "/api/v1/ws/nothing", { headers: { "X-API-Key": service.admin } })).toMatchObject({
      status: 404,
      body: { error: { code: "NOT_FOUND" } },
    });
  });

  it("refuses a key without the scope, and foreign origins and hosts", async () => {
    expect(await refused({}, service.key(["health:read"]))).toMatchObject({
      status: 403,
      body: errorWith("FORBIDDEN", { required_scope: "logs:read", granted: ["health:read"] }),
    });
    for (const headers of [{ Origin: "https://evil.example" }, { Origin: "null" }, { Host: "evil.example" }]) {
      expect(await refused({ headers })).toMatchObject({ status: 403, body: { error: { code: "FORBIDDEN" } } });
    }
    expect(await open({ headers: { Origin: url } })).toBeDefined();
  });

  it("costs one request of the budget", async () => {
    await service.app.close();
    await start({ rateLimits: { perMinute: 2, perHour: 100 } });
    const key = service.key(["logs:read"]);
    await open({}, key);
    await open({}, key);
    const answer = await refused({}, key);
    expect(answer).toMatchObject({ status: 429, body: { error: { code: "RATE_LIMITED" } } });
    expect(answer.headers["retry-after"]).toBe("60");
  });

  const handshakeHeaders = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==";
  /** What a handshake with these headers is answered with: the head where it succeeds, else everything. */
  const handshake = (headers: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const { port, hostname } = new URL(url);
      const head = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${service.admin}`;
      const socket = connect(Number(port), hostname, () =>
        socket.write(`${head}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${headers}\r\n\r\n`),
      );
      let received = "";
      socket.on("data", (chunk) => {
        received += chunk.toString();
        if (!/^HTTP\/1\.1 101 .*\r\n\r\n/s.test(received)) return;
        resolve(received.split("\r\n\r\n", 1)[0] ?? "");
        socket.destroy();
      });
      socket.on("end", () => resolve(received));
      socket.on("error", reject);
    });

  it("is answered with the request id and the remaining budget", async () => {
    await service.app.close();
    await start({ rateLimits: { perMinute: 2, perHour: 100 } });
    const answer = await handshake(handshakeHeaders);
    const names = answer.split("\r\n").map((line) => line.split(":", 1)[0]?.toLowerCase());
    expect(names).toEqual(expect.arrayContaining(["x-request-id", "x-ratelimit-remaining", "ratelimit"]));
    expect(new Set(names).size).toBe(names.length);
    const id = /x-request-id: (\S+)/i.exec(answer)?.[1];
    expect(service.logLines().find(({ request_id }) => request_id === id)).toMatchObject({ status: 101 });
  });

  it.each([
    ["Sec-WebSocket-Version: 12", "Sec-WebSocket-Version"],
    ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key"],
    ["Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short", "Sec-WebSocket-Key"],
    [`${handshakeHeaders}\r\nSec-WebSocket-Protocol: a,,b`, "Sec-WebSocket-Protocol"],
  ])("refuses a malformed handshake: %j", async (headers, field) => {
    const text = await handshake(headers);
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).toContain("sec-websocket-version: 13");
    expect(text).toContain(`"code":"VALIDATION_ERROR"`);
    expect(text).toContain(`"field":"${field}"`);
  });

  it("is counted and logged once, as 101", async () => {
    const stream = await open();
    expect(await metric("svc_requests_total")).toBe(
      `svc_requests_total{method="GET",endpoint="${path}",status="101"} 1`,
    );
    expect(await metric("svc_ws_clients")).toBe('svc_ws_clients{stream="logs"} 1');
    stream.socket.terminate();
    await expect.poll(() => metric("svc_ws_clients")).toBe('svc_ws_clients{stream="logs"} 0');
    const lines = service.logLines().filter((line) => line["endpoint"] === path);
    expect(lines).toMatchObject([{ msg: "request", status: 101, method: "GET" }]);
  });

  it("leaves nothing behind of clients that go away in the middle of it", async () => {
    const { port, hostname } = new URL(url);
    const request = [
      `GET ${path}?api_key=${service.admin} HTTP/1.1`,
      "Host: localhost",
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    ].join("\r\n");
    const endings = [`${request}\r\n\r\n`, request, `${request.replace(service.admin, "wrong")}\r\n\r\n`];
    for (const [at, text] of [...endings, ...endings].entries()) {
      await new Promise<void>((resolve, reject) => {
        const socket = connect(Number(port), hostname, () => {
          socket.write(text, () => (at < endings.length ? socket.resetAndDestroy() : socket.destroy()));
        });
        socket.on("error", reject);
        socket.on("close", () => resolve());
      });
    }
    await expect.poll(() => metric("svc_ws_clients")).toBe('svc_ws_clients{stream="logs"} 0');
    await expect.poll(() => metric("svc_active_connections")).toBe("svc_active_connections 0");
  });
});

describe("the end of a log stream", () => {
  it.each([
    ["what is not JSON", "{", 1007],
    ["text that is not UTF-8", Buffer.from([0xff, 0xfe]), 1007],
    ["binary data", Buffer.from("{}"), 1007],
    ["more than 64 KiB", JSON.stringify({ type: "filter", grep: "x".repeat(64 * 1024) }), 1009],
  ])("follows on %s", async (what, data, code) => {
    const stream = await open();
    stream.socket.send(data, { binary: what === "binary data" });
    expect((await stream.closed).code).toBe(code);
  });

  it("follows at once when the key is revoked, its tokens included, and for no other key", async () => {
    const key = service.key(["logs:read"]);
    const reply = await send(service, { method: "POST", path: "/api/v1/auth/tokens", key, body: {} });
    const { access_token: token } = reply.json as { access_token: string };
    const [byKey, byToken, other] = [await open({}, key), await open({}, token), await open()];
    const id = key.split("_")[1] ?? "";
    expect(
      (await send(service, { method: "DELETE", path: `/api/v1/auth/keys/${id}`, key: service.admin })).status,
    ).toBe(200);
    expect([(await byKey.closed).code, (await byToken.closed).code]).toEqual([4401, 4401]);
    await other.handled();
  });

  it("follows when the key expires", async () => {
    const stream = await open({}, service.key(["logs:read"], service.clock.now() + 90_000));
    for (let second = 0; second < 89; second += 1) {
      await service.clock.advance(1_000);
      if (second % 10 === 0) await stream.handled();
    }
    await stream.handled();
    await service.clock.advance(1_000);
    expect(await stream.closed).toEqual({ code: 4401, reason: "key expired" });
  });

  it("follows on a client that answers no ping, and not on one that does", async () => {
    const pings: string[] = [];
    const [quick, dead] = [await open(), await open({ autoPong: false })];
    quick.socket.on("ping", () => pings.push("quick"));
    dead.socket.on("ping", () => pings.push("dead"));
    await service.clock.advance(29_000);
    await quick.handled();
    expect(pings).toEqual([]);
    await service.clock.advance(1_000);
    await expect.poll(() => pings.toSorted()).toEqual(["dead", "quick"]);
    await quick.handled();
    await service.clock.advance(30_000);
    expect((await dead.closed).code).toBe(1006);
    await quick.handled();
  });

  it("does not follow on silence, which ends other connections", async () => {
    service.app.server.setTimeout(50);
    const stream = await open();
    const { port, hostname } = new URL(url);
    for (let round = 0; round < 3; round += 1) {
      await new Promise((resolve) => connect(Number(port), hostname).once("close", resolve).resume());
    }
    service.journal.write({ message: "still here" });
    expect(await messagesUntil(stream, "still here")).toEqual(["still here"]);
  });

  it("follows at once where there are too many of one key [caps]", async () => {
    const key = service.key(["logs:read"]);
    // Not all at the same time: a busy machine would time some of them out before they are open.
    for (let round = 0; round < 16; round += 1) await Promise.all(Array.from({ length: 64 }, () => open({}, key)));
    expect((await (await open({}, key)).closed).code).toBe(1013);
    await (await open()).handled();
    opened[0]?.socket.terminate();
    await expect.poll(() => metric("svc_ws_clients")).toBe('svc_ws_clients{stream="logs"} 1024');
    await (await open({}, key)).handled();
  });
});

describe("a slow client of a log stream", () => {
  it("loses the oldest that wait and gets their number, in their place; others lose nothing", async () => {
    const [slow, quick] = [await open(), await open()];
    slow.socket.pause();
    const count = 20_000;
    const padding = "x".repeat(1000);
    for (let at = 0; at < count; at += 100) {
      for (let each = at; each < at + 100; each += 1) service.journal.write({ message: `${each} ${padding}` });
      await quick.first(at + 100);
    }
    slow.socket.resume();
    const numberOf = ({ message }: Readonly<Record<string, unknown>>): number => Number.parseInt(String(message), 10);
    await slow.last(`${count - 1} ${padding}`);
    const marks = slow.frames.filter((frame) => frame["type"] === "dropped");
    expect(marks.length).toBeGreaterThan(0);
    let expected = 0;
    for (const frame of slow.frames) {
      if (frame["type"] === "dropped") expected += Number(frame["dropped"]);
      else {
        expect(numberOf(frame)).toBe(expected);
        expected += 1;
      }
    }
    expect(expected).toBe(count);
    const dropped = marks.reduce((sum, frame) => sum + Number(frame["dropped"]), 0);
    expect(await metric("svc_ws_dropped_total")).toBe(`svc_ws_dropped_total{stream="logs"} ${dropped}`);
    expect(quick.frames.map(numberOf)).toEqual(Array.from({ length: count }, (_, at) => at));
  });
});

describe("an unreadable journal", () => {
  it("is reported on the stream, which continues once it can be read", async () => {
    const cursor = service.journal.write({ message: "start" });
    service.journal.available = false;
    const live = await open();
    const behind = await open({ query: { cursor } });
    for (const stream of [live, behind]) {
      expect(await stream.first(1)).toMatchObject([
        { type: "error", error: { code: "UNAVAILABLE", details: { retryable: true } } },
      ]);
    }
    service.journal.write({ message: "meanwhile" });
    await service.clock.advance(5_000);
    service.journal.available = true;
    await service.clock.advance(30_000);
    await live.handled();
    service.journal.write({ message: "after" });
    expect(await messagesUntil(live, "after")).toHaveLength(2);
    expect((await messagesUntil(behind, "after")).slice(1)).toEqual(["meanwhile", "after"]);
  });
});
