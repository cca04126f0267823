import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { expectError } from "./support/error-answer.ts";
import { exchange, openRaw, type RawAnswer, type RawConnection, rawConnection } from "./support/raw-socket.ts";
import { type RunningService, startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
let service: RunningService;
let port: number;
let keyLine: string;
beforeAll(async () => {
  service = await startService(workspace, { environment: { STEWARD_RATE_LIMITS: "off" } });
  port = service.port;
  keyLine = `X-API-Key: ${service.adminKey}\r\n`;
});
afterAll(workspace.dispose);

const request = (line: string, headers = "", body = ""): string =>
  `${line} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n${body}`;
const ask = async (data: string | Buffer): Promise<RawAnswer | undefined> => (await exchange(port, data))[0];
const json = "Content-Type: application/json\r\n";
const upload = "POST /api/v1/auth/tokens";
const live = request("GET /livez");
const tunnel = "CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n";
const garbage = "\0\0\0\0\r\n\r\n";

// Whatever was sent, the service continues.
afterEach(async () => {
  expect((await ask(live))?.status).toBe(200);
});

describe("hostile paths", () => {
  const malformed = ["/static/%", "/%", "/%zz", "/api/v1/auth/keys/%", "/api/v1/auth/keys/%c0%ae", "/%80"];
  const unknown = [
    ...["/", "/static/..%2f..%2fetc/passwd", "/../../etc/passwd", "/api/v1/docs/../../../package.json"],
    ...["/api/v1/docs/..%2findex.html", "//livez", "/livez/", "/LIVEZ", "/livez%00", "/api/v1/auth/keys/a/b", "*"],
    ...["/api/v2/health", "/__proto__", "/constructor", "/api/v1/system/services/%00/start", `/${"a/".repeat(2_000)}`],
  ];

  it("malformed and unknown paths are refused, and without a key nothing is said about them [malformed-requests]", async () => {
    const refused = malformed.map((path) => [path, "VALIDATION_ERROR"] as const);
    for (const [path, code] of [...refused, ...unknown.map((path) => [path, "NOT_FOUND"] as const)]) {
      expectError(await ask(request(`GET ${path}`)), "UNAUTHORIZED");
      expectError(await ask(request(`GET ${path}`, keyLine)), code);
    }
  });

  it("a unit with a hostile name is refused", async () => {
    const names = ["%00", "..%2f..%2f", "-x", "--help", "%2dx", "$(id)", "a%0ab", "%F0%9F%92%A9", "a".repeat(900)];
    for (const name of names) {
      const answer = await ask(request(`POST /api/v1/system/services/${name}/restart?dry_run=true`, keyLine));
      expect(expectError(answer, "VALIDATION_ERROR").details?.field).toBe("name");
    }
  });

  it("an id of a key is not found whatever it is, and refused without being repeated where it is far too long", async () => {
    for (const id of ["%00", "__proto__", "constructor", "..%2f", "a".repeat(900)])
      expectError(await ask(request(`DELETE /api/v1/auth/keys/${id}`, keyLine)), "NOT_FOUND");
    const answer = await ask(request(`DELETE /api/v1/auth/keys/${"a".repeat(5_000)}`, keyLine));
    expect(expectError(answer, "VALIDATION_ERROR").details?.field).toBe("path");
    expect(answer?.body.length).toBeLessThan(500);
  });
});

describe("requests that are not HTTP", () => {
  it.each([
    ["garbage bytes", Buffer.from([0x16, 0x03, 0x01, 0x02, 0, 1, 0, 1, 0xfc, 3, 3, 0xff, 0, 0xee, 13, 10, 13, 10])],
    ["garbage text", "ehlo\r\n\r\n"],
    ["a line without a version", "GET /livez\r\n\r\n"],
    ["an HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["an unknown method", request("FETCH /livez")],
    ["a NUL in the path", request("GET /livez\0")],
    ["a header without a colon", request("GET /livez", "nonsense\r\n")],
    ["a folded header", request("GET /livez", "A: b\r\n c\r\n\0: d\r\n")],
    ["a space before the colon", request("GET /livez", "X-API-Key : x\r\n")],
    ["bare line feeds and a NUL", "GET /livez HTTP/1.1\nHost: localhost\nA: \0\n\n"],
  ])("%s is refused with an error body [malformed-requests]", async (_, data) => {
    expectError(await ask(data), "VALIDATION_ERROR");
  });

  it("a missing, empty, malformed or repeated Host is refused, and a foreign Host is forbidden", async () => {
    for (const hosts of ["", "Host:\r\n", "Host: a/b@c\r\n", "Host: localhost\r\nHost: elsewhere.example\r\n"]) {
      const answer = await ask(`GET /livez HTTP/1.1\r\n${hosts}\r\n`);
      expect(expectError(answer, "VALIDATION_ERROR").details?.field).toBe("Host");
    }
    expect(expectError(await ask("GET /livez HTTP/1.0\r\n\r\n"), "VALIDATION_ERROR").details?.field).toBe("Host");
    expectError(await ask("GET /livez HTTP/1.1\r\nHost: rebound.example\r\n\r\n"), "FORBIDDEN");
  });
});

describe("sizes of requests", () => {
  it.each([
    ["5,000 headers", request("GET /livez", "a: b\r\n".repeat(5_000))],
    ["a header of 100 KB", request("GET /livez", `A: ${"x".repeat(100_000)}\r\n`)],
    ["a header name of 100 KB", request("GET /livez", `${"x".repeat(100_000)}: a\r\n`)],
    ["a request line of 100 KB", request(`GET /${"x".repeat(100_000)}`)],
  ])("%s is refused", async (_, data) => {
    expect(expectError(await ask(data), "VALIDATION_ERROR").details?.issue).toBe("Headers are too large");
  });

  it("no header is lost behind many others: a forwarding header is always seen", async () => {
    for (const count of [10, 100, 500, 1_000, 1_999, 2_500]) {
      const many = request("GET /metrics", `${"Accept: b\r\n".repeat(count)}X-Forwarded-For: 192.0.2.1\r\n`);
      expect((await ask(many))?.status).not.toBe(200);
    }
  });

  it("a body over 1 MiB is refused, however it is announced, and one of exactly 1 MiB is read", async () => {
    const over = 1024 * 1024 + 1;
    const huge = `"${"x".repeat(over - 2)}"`;
    const of = (framing: string, body = "") => request(upload, `${keyLine}${json}${framing}\r\n`, body);
    const fault = { field: "body", issue: "Must be at most 1 MiB" };
    for (const data of [
      of(`Content-Length: ${over}`),
      of(`Content-Length: ${over}`, huge),
      of("Content-Length: 1125899906842624"),
      of("Transfer-Encoding: chunked", `${over.toString(16)}\r\n${huge}\r\n0\r\n\r\n`),
    ])
      expect(expectError(await ask(data), "VALIDATION_ERROR").details).toEqual({ ...fault, faults: [fault] });
    const body = `{"scopes":[]${" ".repeat(1024 * 1024 - 13)}}`;
    expect(body).toHaveLength(1024 * 1024);
    expect((await ask(of(`Content-Length: ${body.length}`, body)))?.status).toBe(200);
  });
});

describe("bodies that lie", () => {
  it.each([
    ["a broken chunk", "Transfer-Encoding: chunked\r\n", "zz\r\n{}\r\n0\r\n\r\n"],
    ["a chunk longer than it says", "Transfer-Encoding: chunked\r\n", "1\r\n{}\r\n0\r\n\r\n"],
    ["both a length and chunks", "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\n\r\n"],
    ["two different lengths", "Content-Length: 2\r\nContent-Length: 3\r\n", "{}"],
    ["a negative length", "Content-Length: -1\r\n", "{}"],
    ["a length that is not a number", "Content-Length: two\r\n", "{}"],
    ["a length that overflows", "Content-Length: 99999999999999999999999\r\n", "{}"],
    ["an unknown transfer coding", "Transfer-Encoding: zip\r\n", "{}"],
    ["a length shorter than the body", "Content-Length: 1\r\n", "{}"],
  ])("%s is refused", async (_, headers, body) => {
    expectError(await ask(request(upload, `${keyLine}${json}${headers}`, body)), "VALIDATION_ERROR");
  });
});

describe("other features of HTTP", () => {
  it.each(["TRACE", "PROPFIND", "QUERY", "M-SEARCH", "LINK"])(
    "the method %s needs a key before it is unknown, and sends nothing back",
    async (method) => {
      expectError(await ask(request(`${method} /api/v1/health`)), "UNAUTHORIZED");
      const answer = await ask(request(`${method} /api/v1/health`, `${keyLine}X-Marker: seen\r\n`));
      expectError(answer, "NOT_FOUND");
      expect(JSON.stringify(answer)).not.toContain("seen");
    },
  );

  it("pipelined requests are answered in their order", async () => {
    const paths = ["/livez", "/api/v1/health", "/api/v1/nothing", "/api/v1/auth/whoami", "/%", "/livez"];
    const data = paths.map((path) => request(`GET ${path}`, keyLine)).join("");
    const answers = await exchange(port, data, { answers: paths.length });
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 200, 400, 200]);
    expect(new Set(answers.map(({ headers }) => headers["x-request-id"])).size).toBe(paths.length);
  });

  it("Expect: 100-continue is honoured, and any other expectation is ignored", async () => {
    const connection = openRaw(port);
    connection.send(request(upload, `${keyLine}${json}Content-Length: 2\r\nExpect: 100-continue\r\n`));
    expect((await connection.answers(1)).map(({ status }) => status)).toEqual([100]);
    connection.send("{}");
    expect((await connection.answers(2)).map(({ status }) => status)).toEqual([100, 200]);
    connection.close();
    expect((await ask(request("GET /livez", "Expect: miracles\r\n")))?.status).toBe(200);
    expectError(await ask(request("GET /api/v1/health", "Expect: miracles\r\n")), "UNAUTHORIZED");
  });

  it.each(["websocket", "h2c", "TLS/1.0"])("Upgrade: %s on an ordinary path changes nothing", async (protocol) => {
    const upgrade = `Connection: Upgrade\r\nUpgrade: ${protocol}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n`;
    expectError(await ask(request("GET /api/v1/health", upgrade)), "UNAUTHORIZED");
    expect((await ask(request("GET /api/v1/health", keyLine + upgrade)))?.status).toBe(200);
    expectError(await ask(request("GET /api/v1/nothing", keyLine + upgrade)), "NOT_FOUND");
  });

  it("an absolute address in the request line is answered by this service", async () => {
    expect((await ask(request("GET http://192.0.2.1/api/v1/auth/whoami", keyLine)))?.status).toBe(200);
    expectError(await ask(request("GET http://192.0.2.1/api/v1/auth/whoami")), "UNAUTHORIZED");
  });
});

describe("connections of clients that misbehave", () => {
  const connections = async (): Promise<number> => {
    const text = await (await fetch(`${service.url}/metrics`, { headers: { Connection: "close" } })).text();
    return Number(/^svc_active_connections (\d+)$/m.exec(text)?.[1]);
  };
  // The one that asks is open itself.
  const untilClosed = () => until("few open connections", async () => (await connections()) <= 1 || undefined);

  it("are closed after CONNECT, which is refused, and after garbage, though the client leaves them half open", async () => {
    const all: RawConnection[] = [];
    for (let count = 0; count < 20; count += 1) {
      const connection = openRaw(port);
      connection.send(count % 2 === 0 ? tunnel : garbage);
      all.push(connection);
    }
    for (const [at, connection] of all.entries())
      expectError((await connection.ended())[0], at % 2 === 0 ? "UNAUTHORIZED" : "VALIDATION_ERROR");
    await untilClosed();
    for (const connection of all) connection.close();
  });

  it("leave nothing behind where they are reset at once, while they are answered, or in the middle of a body", async () => {
    for (let count = 0; count < 60; count += 1) {
      const connection = openRaw(port);
      connection.send(count % 3 === 0 ? tunnel + "x".repeat(count * 100) : tunnel);
      if (count % 2 === 0) await connection.answers(1);
      connection.socket.resetAndDestroy();
    }
    for (let count = 0; count < 20; count += 1) {
      const connection = openRaw(port);
      connection.send(request(upload, `${keyLine}${json}Content-Length: 100\r\n`, '{"scopes":'));
      if (count % 2 === 0) connection.socket.resetAndDestroy();
      else {
        connection.socket.end();
        await connection.ended();
      }
      connection.close();
    }
    await untilClosed();
  });

  it("end alone where TLS is spoken and they send plain HTTP, garbage or broken handshakes", async () => {
    const secure = await startService(workspace, { settings: "tls: auto\n" });
    const hello = Buffer.from("16030100c8010000c40303", "hex");
    for (const data of [live, garbage, tunnel, hello, Buffer.alloc(100_000, 0x16)]) {
      const connection = openRaw(secure.port);
      connection.send(data);
      if (data !== hello) await connection.ended();
      connection.socket.resetAndDestroy();
    }
    for (let count = 0; count < 20; count += 1) {
      const socket = connect(secure.port, "127.0.0.1").on("error", () => undefined);
      const handshake = connectTls({ socket, rejectUnauthorized: false }).on("error", () => undefined);
      if (count % 2 === 0) handshake.write(tunnel);
      await until("some bytes", () => socket.bytesRead > 0 || socket.destroyed || undefined);
      socket.resetAndDestroy();
    }
    const ca = readFileSync(join(secure.stateDir, "tls-cert.pem"));
    const trusted = rawConnection(connectTls({ port: secure.port, host: "127.0.0.1", ca }));
    trusted.send(live);
    expect((await trusted.answers(1))[0]?.status).toBe(200);
    trusted.close();
  });

  it("do not keep the service from ending", async () => {
    const ending = await startService(workspace);
    const open = [tunnel, garbage].map((data) => {
      const connection = openRaw(ending.port);
      connection.send(data);
      return connection;
    });
    for (const connection of open) await connection.answers(1);
    ending.kill("SIGTERM");
    await expect(ending.exit).resolves.toEqual({ code: 0, signal: null });
    for (const connection of open) connection.close();
  });
});
