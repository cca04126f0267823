import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, zstdDecompress } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { operations } from "#contract/index.ts";
import { isCompressible, type Operation } from "#contract/operation.ts";
import { pathOf, startTestService, type TestService } from "./harness.ts";

let service: TestService;
afterEach(() => service.app.close());

const decoders = { zstd: promisify(zstdDecompress), br: promisify(brotliDecompress), gzip: promisify(gunzip) } as const;
const decode = (coding: string, body: Buffer): Promise<Buffer> => decoders[coding as keyof typeof decoders](body);

const ask = (path: string, headers: Record<string, string> = {}, method: Operation["method"] | "HEAD" = "GET") =>
  service.app.inject({ method, url: path, headers: { host: "localhost", "x-api-key": service.admin, ...headers } });

const logs = "/api/v1/system/logs?since=1970-01-01T00:00:00Z&until=2030-01-01T00:00:00Z";

describe("a compressed answer", () => {
  beforeEach(async () => {
    service = await startTestService();
    for (let at = 0; at < 100; at += 1) service.journal.write({ message: `line ${at} ${"word ".repeat(50)}` });
  });

  it("has the body of the plain answer, in each coding", async () => {
    const plain = await ask(logs);
    expect(plain.headers).toMatchObject({ vary: "Accept-Encoding" });
    expect(plain.headers).not.toHaveProperty("content-encoding");
    for (const coding of Object.keys(decoders)) {
      const reply = await ask(logs, { "accept-encoding": coding });
      expect(reply.headers).toMatchObject({
        "content-encoding": coding,
        "content-length": String(reply.rawPayload.length),
        "content-type": "application/json; charset=utf-8",
        vary: "Accept-Encoding",
      });
      expect(reply.rawPayload.length).toBeLessThan(plain.rawPayload.length / 5);
      expect((await decode(coding, reply.rawPayload)).equals(plain.rawPayload)).toBe(true);
    }
  });

  it("has the same headers for HEAD", async () => {
    const get = await ask(logs, { "accept-encoding": "gzip" });
    const head = await ask(logs, { "accept-encoding": "gzip" }, "HEAD");
    expect(head.rawPayload).toHaveLength(0);
    const { date: _, "x-request-id": __, ...same } = get.headers;
    expect(head.headers).toMatchObject(same);
  });

  it("is not made of small answers and errors", async () => {
    for (const [path, accepted] of [
      ["/api/v1/health", "gzip"],
      [`${logs}&limit=x${"y".repeat(2000)}`, "gzip"],
      [`/api/v1/${"y".repeat(2000)}`, "gzip"],
    ] as const) {
      const { headers } = await ask(path, { "accept-encoding": accepted });
      expect([path.slice(0, 30), headers["content-encoding"], headers.vary]).toEqual([
        path.slice(0, 30),
        undefined,
        undefined,
      ]);
    }
  });

  it("is right for many at once, of which some are sent plain", async () => {
    const plain = await ask(logs);
    const replies = await Promise.all(Array.from({ length: 60 }, () => ask(logs, { "accept-encoding": "br" })));
    const bodies = await Promise.all(
      replies.map(({ headers, rawPayload }) =>
        headers["content-encoding"] === undefined ? Promise.resolve(rawPayload) : decode("br", rawPayload),
      ),
    );
    for (const body of bodies) expect(body.equals(plain.rawPayload)).toBe(true);
  });
});

describe("the bytes that the journal has written", () => {
  beforeEach(async () => {
    service = await startTestService();
    for (let at = 0; at < 300; at += 1) service.journal.write({ message: `line ${at} ${"word ".repeat(50)}` });
  });

  /** Where bytes lie in memory: a copy of them lies elsewhere. */
  const placeOf = ({ buffer, byteOffset, byteLength }: Uint8Array) => ({ buffer, byteOffset, byteLength });
  type Place = ReturnType<typeof placeOf>;

  /** Asks for a list of logs over a socket. @returns the bytes of the journal, and all that was given to sockets meanwhile. */
  async function placesOf(headers: Record<string, string>) {
    const url = await service.app.listen({ host: "127.0.0.1", port: 0 });
    const { query } = service.journal;
    let made: Place | undefined;
    const asked = vi.spyOn(service.journal, "query").mockImplementation(async (...given) => {
      const answer = await query(...given);
      made = placeOf(answer.bytes);
      return answer;
    });
    const written: Place[] = [];
    const write = Reflect.get(Socket.prototype, "write") as (...given: readonly unknown[]) => boolean;
    const writing = vi.spyOn(Socket.prototype, "write").mockImplementation(function (
      this: Socket,
      ...given: unknown[]
    ) {
      // Now: big answers are given back to the system when they have left.
      if (given[0] instanceof Uint8Array) written.push(placeOf(given[0]));
      return Reflect.apply(write, this, given);
    });
    try {
      // Not by fetch, which asks for codings by itself.
      const question = get(`${url}${logs}`, { agent: false, headers: { "x-api-key": service.admin, ...headers } });
      const [reply] = (await once(question, "response")) as [IncomingMessage];
      const body = await buffer(reply);
      return { made, written, coding: reply.headers["content-encoding"], body };
    } finally {
      writing.mockRestore();
      asked.mockRestore();
    }
  }

  const isSamePlace = (a: Place, b: Place | undefined): boolean =>
    a.buffer === b?.buffer && a.byteOffset === b.byteOffset && a.byteLength === b.byteLength;

  it("are given to the socket as they are, without a copy, where no coding is asked for", async () => {
    const { made, written, coding, body } = await placesOf({});
    expect([coding, body.length]).toEqual([undefined, made?.byteLength]);
    // So much that its memory is given back as soon as it has left.
    expect(body.length).toBeGreaterThan(64 * 1024);
    expect(JSON.parse(body.toString())).toMatchObject({ total: 300 });
    expect(written.filter((each) => isSamePlace(each, made))).toHaveLength(1);
    expect(written.filter((each) => !isSamePlace(each, made))).toEqual([]);
  });

  it("are not, where one is", async () => {
    const { made, written, coding, body } = await placesOf({ "accept-encoding": "gzip" });
    expect(coding).toBe("gzip");
    expect(body.length).toBeLessThan(made?.byteLength ?? 0);
    expect(written.filter((each) => isSamePlace(each, made))).toEqual([]);
  });
});

const rows = Object.entries<Operation>(operations);

/** Names of members that hold a secret. */
const secretLike = /secret|password|passphrase|private|credential|^key$|_key$|^token$|_token$|^code$|ticket|cookie/i;

/** Members with any text; a choice of words is not a secret. */
function textMembers(schema: unknown): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap(textMembers);
  if (typeof schema !== "object" || schema === null) return [];
  const { properties = {} } = schema as { properties?: Record<string, { type?: unknown; enum?: unknown }> };
  const here = Object.entries(properties).filter(
    ([, { type, enum: words }]) => type === "string" && words === undefined,
  );
  return [...here.map(([name]) => name), ...Object.values(schema).flatMap(textMembers)];
}

describe("compressible answers", () => {
  beforeEach(async () => {
    service = await startTestService();
  });

  it("are reads with a scope for reading, none about credentials", () => {
    const read = rows.filter(([, { effect }]) => effect === "read");
    expect(rows.filter(([, { effect }]) => effect !== "read").filter(([, each]) => isCompressible(each))).toEqual([]);
    expect(read.filter(([, each]) => !isCompressible(each)).map(([name]) => name)).toEqual([
      "diffSnapshotFile",
      "listConnectors",
      "getConnector",
      "whoami",
      "canI",
      "listKeys",
      "getKey",
      "listSessions",
      "createTicket",
      "getPasskeyRequestOptions",
      "getPasskeyCreationOptions",
      "listPasskeys",
      "listApprovals",
      "getApproval",
      "listAudit",
    ]);
  });

  it.each(rows.filter(([, each]) => isCompressible(each)))("of %s have no member for a secret", (_, { response }) => {
    expect(textMembers(response).filter((name) => secretLike.test(name))).toEqual([]);
  });

  it.each(rows)("of %s are compressed only where the table allows it", async (_, operation) => {
    const asked = { "accept-encoding": "gzip, br, zstd" };
    const reply = await ask(pathOf(operation), asked, operation.method);
    const isMeant = isCompressible(operation) && reply.statusCode === 200;
    if (!isMeant) expect(reply.headers).not.toHaveProperty("content-encoding");
    const plain = isMeant ? await ask(pathOf(operation), {}, operation.method) : reply;
    const isBig = isMeant && plain.rawPayload.length >= 2048;
    if (isBig) expect(reply.headers).toMatchObject({ "content-encoding": "zstd", vary: "Accept-Encoding" });
  });
});

describe("public pages", () => {
  beforeEach(async () => {
    service = await startTestService();
  });

  it.each(["/api/v1/openapi.json", "/api/v1/docs/swagger-ui.css"])("%s is compressed, also for HEAD", async (path) => {
    const plain = await ask(path);
    for (const coding of Object.keys(decoders)) {
      const reply = await ask(path, { "accept-encoding": coding });
      expect(reply.headers).toMatchObject({ "content-encoding": coding, vary: "Accept-Encoding" });
      expect((await decode(coding, reply.rawPayload)).equals(plain.rawPayload)).toBe(true);
      const head = await ask(path, { "accept-encoding": coding }, "HEAD");
      expect(head.headers).toMatchObject({
        "content-encoding": coding,
        "content-length": String(reply.rawPayload.length),
      });
    }
  });
});
