import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, zstdDecompress } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { type ExportPart, type ExportQuery, JournalUnavailable } from "#domain/ports/journal.ts";
import { errorWith, send, startTestService, type TestService, turns, turnsUntil } from "./harness.ts";

const minute = 60 * 1_000_000;
const path = "/api/v1/system/logs/export";

let service: TestService;
let cursors: readonly string[];
beforeEach(async () => {
  service = await startTestService();
  const now = service.clock.now() * 1000;
  cursors = [
    { message: "long ago", time: now - 120 * minute, bootId: "a".repeat(32) },
    { message: "nginx is up", unit: "nginx.service", identifier: "nginx", time: now - 50 * minute },
    { message: "nginx fails", unit: "nginx.service", identifier: "nginx", priority: 3, time: now - 10 * minute },
    { message: "app one", unit: "app-1.service", priority: 4, time: now - 9 * minute },
    { message: "app two", unit: "app-2.service", time: now - 8 * minute },
    { message: "to come", time: now + 60 * minute },
  ].map(service.journal.write);
});
afterEach(() => {
  service.service.cut();
  return service.app.close();
});

const cursorOf = (at: number): string => encodeURIComponent(cursors[at] ?? "");
const get = (query = "", key = service.admin, headers: Record<string, string> = {}) =>
  service.app.inject({ url: `${path}${query}`, headers: { host: "localhost", "x-api-key": key, ...headers } });
const messagesOf = (text: string): readonly string[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => String((JSON.parse(line) as Record<string, unknown>)["MESSAGE"]));
async function messages(query: string, key?: string): Promise<readonly string[]> {
  const reply = await get(`?format=json${query}`, key);
  expect([reply.statusCode, reply.headers["content-type"]]).toEqual([200, "application/x-ndjson"]);
  return messagesOf(reply.payload);
}

/** An export of many parts, the nth of which fails, or never ends. */
function exportOfParts(part: Uint8Array, next: (at: number, isFirst: boolean) => Promise<boolean>) {
  const state = { asked: 0 };
  const nextPart = async (query: ExportQuery): Promise<ExportPart> => {
    state.asked += 1;
    const hasMore = await next(state.asked, query.position === undefined);
    const cursor = cursors[0] ?? "";
    const position = { cursor, written: cursor, boot: query.boot, files: [] };
    return { bytes: part, written: cursor, next: hasMore ? position : undefined, unread: [] };
  };
  Object.assign(service.journal, { export: nextPart });
  return state;
}

async function open(query = "", headers: Record<string, string> = {}): Promise<[ClientRequest, IncomingMessage]> {
  const address = await service.app.listen({ port: 0, host: "127.0.0.1" });
  const call = request(`${address}${path}${query}`, { headers: { "X-API-Key": service.admin, ...headers } });
  call.on("error", () => undefined);
  call.end();
  const [reply] = (await once(call, "response")) as [IncomingMessage];
  return [call, reply];
}

async function bodyOf(reply: IncomingMessage): Promise<{ readonly bytes: Buffer; readonly isComplete: boolean }> {
  const parts: Buffer[] = [];
  try {
    for await (const part of reply) parts.push(part as Buffer);
  } catch {
    // The connection was cut.
  }
  return { bytes: Buffer.concat(parts), isComplete: reply.complete };
}

describe("GET /system/logs/export", () => {
  it("gives all entries of the window, oldest first, in each format", async () => {
    expect(await messages("")).toEqual(["nginx is up", "nginx fails", "app one", "app two"]);
    const journal = await get();
    expect(journal.headers).toMatchObject({ "content-type": "application/vnd.fdo.journal" });
    expect(journal.payload.startsWith(`__CURSOR=${cursors[1]}\n`)).toBe(true);
    expect(journal.payload.split("\n\n")).toHaveLength(5);
    const text = await get("?format=text");
    expect(text.headers["content-type"]).toBe("text/plain; charset=utf-8");
    expect(text.payload.split("\n").slice(-3)).toEqual([
      "2025-12-31T23:52:00+0000 testhost app[42]: app two",
      `-- cursor: ${cursors[4]}`,
      "",
    ]);
  });

  it("takes the filters of a query, and ends now", async () => {
    expect(await messages("&unit=nginx&priority=3")).toEqual(["nginx fails"]);
    expect(await messages("&units=app-1&units=app-2")).toEqual(["app one", "app two"]);
    expect(await messages("&grep=UP%7Ctwo")).toEqual(["app two"]);
    expect(await messages("&grep=up%7Ctwo")).toEqual(["nginx is up", "app two"]);
    expect(await messages("&identifier=nginx&until=2025-12-31T23:30:00Z")).toEqual(["nginx is up"]);
    expect(await messages("&boot=-1")).toEqual(["long ago"]);
    expect((await messages("&since=1970-01-01T00:00:00Z")).at(-1)).toBe("app two");
    expect(await messages("&since=1970-01-01T00:00:00Z&until=2030-01-01T00:00:00Z")).toHaveLength(6);
  });

  it("continues after an entry", async () => {
    expect(await messages(`&cursor=${cursorOf(2)}`)).toEqual(["app one", "app two"]);
    expect(await messages(`&cursor=${cursorOf(4)}`)).toEqual([]);
    const none = await get(`?format=text&cursor=${cursorOf(4)}`);
    expect([none.statusCode, none.payload]).toEqual([200, ""]);
    const refused = await get("?cursor=s");
    expect(refused.json()).toMatchObject(errorWith("VALIDATION_ERROR", { field: "cursor" }));
  });

  it("gives a narrowed key the entries of its units alone", async () => {
    const key = service.key(["logs:read:app-*"]);
    expect(await messages("", key)).toEqual(["app one", "app two"]);
    expect(await messages("&unit=app-2", key)).toEqual(["app two"]);
    expect((await get("?unit=nginx", key)).statusCode).toBe(403);
    expect((await get("", service.key(["system:read"]))).statusCode).toBe(403);
    expect((await get("", "wrong")).statusCode).toBe(401);
  });

  it("is compressed", async () => {
    const decoders = { zstd: promisify(zstdDecompress), br: promisify(brotliDecompress), gzip: promisify(gunzip) };
    const plain = await get("?format=json");
    expect(plain.headers["vary"]).toBe("Accept-Encoding");
    for (const [coding, decode] of Object.entries(decoders)) {
      const reply = await get("?format=json", service.admin, { "accept-encoding": coding });
      expect(reply.headers).toMatchObject({ "content-encoding": coding, vary: "Accept-Encoding" });
      expect((await decode(reply.rawPayload)).equals(plain.rawPayload)).toBe(true);
    }
  });

  it("has no body for HEAD, and reads no more than the first part", async () => {
    const state = exportOfParts(Buffer.from("part\n"), () => Promise.resolve(true));
    const reply = await service.app.inject({
      method: "HEAD",
      url: path,
      headers: { host: "localhost", "x-api-key": service.admin },
    });
    expect([reply.statusCode, reply.payload, reply.headers["content-type"]]).toEqual([
      200,
      "",
      "application/vnd.fdo.journal",
    ]);
    expect(state.asked).toBe(1);
    // Its place is free again.
    for (let at = 0; at < 3; at += 1) {
      const again = await service.app.inject({
        method: "HEAD",
        url: path,
        headers: { host: "localhost", "x-api-key": service.admin },
      });
      expect(again.statusCode).toBe(200);
    }
  });

  it("is read by the client in parts", async () => {
    const address = await service.app.listen({ port: 0, host: "127.0.0.1" });
    const body = await createClient({ url: address, key: service.admin }).exportLogs({ query: { format: "json" } });
    const decoder = new TextDecoder();
    let text = "";
    for await (const part of body) text += decoder.decode(part, { stream: true });
    expect(messagesOf(text)).toHaveLength(4);
  });
});

describe("an export that cannot continue", () => {
  it("is an ordinary error before its first part", async () => {
    service.journal.available = false;
    const reply = await get();
    expect([reply.statusCode, reply.json()]).toMatchObject([503, { error: { code: "UNAVAILABLE" } }]);
  });

  it.each(["identity", "gzip"])("is cut off later, never complete (%s)", async (coding) => {
    const part = Buffer.from(`${"x".repeat(99)}\n`.repeat(1_000));
    exportOfParts(part, (at) =>
      at < 4 ? Promise.resolve(true) : Promise.reject(new JournalUnavailable("a file was removed")),
    );
    const [, reply] = await open("", { "Accept-Encoding": coding });
    const { bytes, isComplete } = await bodyOf(reply);
    expect([reply.statusCode, isComplete]).toEqual([200, false]);
    if (coding === "identity") expect(bytes.length).toBeLessThanOrEqual(3 * part.length);
    await turnsUntil(() => service.logLines().some(({ msg }) => msg === "answer aborted"));
    const line = service.logLines().find(({ msg }) => msg === "answer aborted");
    expect(line).toMatchObject({ level: "warn", reason: "cannot read the journal: a file was removed" });
  });

  it("is refused over HTTP/1.0, where a cut connection is the end of any answer", async () => {
    exportOfParts(Buffer.from("part\n"), (at) =>
      at < 2 ? Promise.resolve(true) : Promise.reject(new JournalUnavailable("a file was removed")),
    );
    const { port } = new URL(await service.app.listen({ port: 0, host: "127.0.0.1" }));
    const socket = connect({ port: Number(port), host: "127.0.0.1" });
    socket.write(`GET ${path} HTTP/1.0\r\nHost: localhost\r\nX-API-Key: ${service.admin}\r\n\r\n`);
    const parts: Buffer[] = [];
    for await (const part of socket) parts.push(part as Buffer);
    const [head = "", body = ""] = Buffer.concat(parts).toString().split("\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(body)).toMatchObject({ error: { code: "VALIDATION_ERROR" } });
  });

  it("ends when its key is revoked", async () => {
    const key = service.key(["logs:read"]);
    let hasStarted = false;
    const revoked = Promise.withResolvers<void>();
    exportOfParts(Buffer.from("part\n"), async (at) => {
      if (at === 2) {
        hasStarted = true;
        await revoked.promise;
      }
      return at < 5;
    });
    const [, reply] = await open("", { "X-API-Key": key });
    await turnsUntil(() => hasStarted);
    const gone = await send(service, {
      method: "DELETE",
      path: `/api/v1/auth/keys/${key.slice(4, 12)}`,
      key: service.admin,
    });
    expect(gone.status).toBe(200);
    revoked.resolve();
    const { bytes, isComplete } = await bodyOf(reply);
    expect([bytes.toString(), isComplete]).toEqual(["part\n", false]);
  });

  it("ends with its client, and frees its place", async () => {
    const part = Buffer.alloc(1024 * 1024, "x");
    const state = exportOfParts(part, () => Promise.resolve(true));
    const [call, reply] = await open();
    await once(reply, "readable");
    call.destroy();
    await turnsUntil(() => service.service.load.count() === 0);
    const asked = state.asked;
    await turns(1_000);
    expect(state.asked).toBe(asked);
  });

  it("reads no part before the client has taken the last one", async () => {
    const part = Buffer.alloc(4 * 1024 * 1024, "x");
    const state = exportOfParts(part, () => Promise.resolve(true));
    const [call, reply] = await open();
    reply.pause();
    await turns(5_000);
    // What fits into the buffers of the connection is less than that.
    expect(state.asked).toBeLessThan(6);
    call.destroy();
  });
});

describe("exports at the same time", () => {
  it("are two of a key, and the third gets 429", async () => {
    const released = Promise.withResolvers<boolean>();
    exportOfParts(Buffer.from("part\n"), (_, isFirst) => (isFirst ? Promise.resolve(true) : released.promise));
    const address = await service.app.listen({ port: 0, host: "127.0.0.1" });
    const ask = () => fetch(`${address}${path}`, { headers: { "X-API-Key": service.admin } });
    const [one, two] = [await ask(), await ask()];
    const refused = await ask();
    expect([refused.status, refused.headers.get("Retry-After")]).toEqual([429, "5"]);
    expect(await refused.json()).toMatchObject(errorWith("RATE_LIMITED", { running: 2 }));
    const other = await fetch(`${address}/api/v1/system/logs`, {
      headers: { "X-API-Key": service.key(["logs:read"]) },
    });
    expect(other.status).toBe(200);
    released.resolve(false);
    expect([await one.text(), await two.text()]).toEqual(["part\npart\n", "part\npart\n"]);
    expect((await ask()).status).toBe(200);
  });
});
