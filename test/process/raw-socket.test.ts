import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { expectError } from "./support/error-answer.ts";
import type { RawAnswer } from "./support/raw-socket.ts";
import { exchange, openRaw } from "./support/raw-socket.ts";
import type { RunningService } from "./support/service.ts";
import { startService } from "./support/service.ts";
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

// Whatever was sent, the service goes on.
afterEach(async () => {
  const [alive] = await exchange(port, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
  expect(alive?.status).toBe(200);
});

const request = (line: string, headers = "", body = ""): string =>
  `${line} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n${body}`;
const ask = async (data: string | Buffer): Promise<RawAnswer | undefined> => (await exchange(port, data))[0];
const json = "Content-Type: application/json\r\n";

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
  ])("%s is refused with an error body", async (_, data) => {
    expectError(await ask(data), "VALIDATION_ERROR");
  });

  it.each([
    ["a missing Host", "GET /livez HTTP/1.1\r\n\r\n"],
    ["an empty Host", "GET /livez HTTP/1.1\r\nHost:\r\n\r\n"],
    ["a malformed Host", "GET /livez HTTP/1.1\r\nHost: a/b@c\r\n\r\n"],
    ["a missing Host in HTTP/1.0", "GET /livez HTTP/1.0\r\n\r\n"],
    ["two Hosts", "GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: elsewhere.example\r\n\r\n"],
  ])("%s is refused", async (_, data) => {
    expect(expectError(await ask(data), "VALIDATION_ERROR").details?.field).toBe("Host");
  });

  it("a foreign Host is refused", async () => {
    expectError(await ask("GET /livez HTTP/1.1\r\nHost: rebound.example\r\n\r\n"), "FORBIDDEN");
  });
});

describe("sizes", () => {
  it.each([
    ["5,000 headers", request("GET /livez", "a: b\r\n".repeat(5_000))],
    ["a header of 100 KB", request("GET /livez", `A: ${"x".repeat(100_000)}\r\n`)],
    ["a header name of 100 KB", request("GET /livez", `${"x".repeat(100_000)}: a\r\n`)],
    ["a request line of 100 KB", request(`GET /${"x".repeat(100_000)}`)],
    ["a query of 100 KB", request(`GET /livez?${"x".repeat(100_000)}`)],
  ])("%s is refused", async (_, data) => {
    const { details } = expectError(await ask(data), "VALIDATION_ERROR");
    expect(details?.issue).toBe("Headers are too large");
  });

  it("no header is lost behind many others: a forwarding header is always seen", async () => {
    for (const count of [10, 100, 500, 1_000, 1_999, 2_500]) {
      const many = request("GET /metrics", `${"Accept: b\r\n".repeat(count)}X-Forwarded-For: 192.0.2.1\r\n`);
      expect((await ask(many))?.status).not.toBe(200);
    }
  });

  const over = 1024 * 1024 + 1;
  const huge = `"${"x".repeat(over - 2)}"`;
  const upload = "POST /api/v1/auth/tokens";

  it.each([
    ["announced", () => request(upload, `${keyLine}${json}Content-Length: ${over}\r\n`)],
    ["announced and sent", () => request(upload, `${keyLine}${json}Content-Length: ${over}\r\n`, huge)],
    ["announced as a petabyte", () => request(upload, `${keyLine}${json}Content-Length: 1125899906842624\r\n`)],
    [
      "chunked",
      () =>
        request(
          upload,
          `${keyLine}${json}Transfer-Encoding: chunked\r\n`,
          `${over.toString(16)}\r\n${huge}\r\n0\r\n\r\n`,
        ),
    ],
  ])("a body over 1 MiB is refused: %s", async (_, data) => {
    const fault = { field: "body", issue: "Must be at most 1 MiB" };
    expect(expectError(await ask(data()), "VALIDATION_ERROR").details).toEqual({ ...fault, faults: [fault] });
  });

  it("a body of exactly 1 MiB is read", async () => {
    const body = `{"scopes":[]${" ".repeat(1024 * 1024 - 13)}}`;
    const answer = await ask(request(upload, `${keyLine}${json}Content-Length: ${body.length}\r\n`, body));
    expect({ length: body.length, status: answer?.status }).toEqual({ length: 1024 * 1024, status: 200 });
  });
});

describe("bodies that lie", () => {
  const upload = "POST /api/v1/auth/tokens";

  it.each([
    ["a broken chunk", "Transfer-Encoding: chunked\r\n", "zz\r\n{}\r\n0\r\n\r\n"],
    ["a chunk longer than it says", "Transfer-Encoding: chunked\r\n", "1\r\n{}\r\n0\r\n\r\n"],
    ["both a length and chunks", "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\n\r\n"],
    ["two different lengths", "Content-Length: 2\r\nContent-Length: 3\r\n", "{}"],
    ["a negative length", "Content-Length: -1\r\n", "{}"],
    ["a length that is no number", "Content-Length: two\r\n", "{}"],
    ["a length that overflows", "Content-Length: 99999999999999999999999\r\n", "{}"],
    ["an unknown transfer coding", "Transfer-Encoding: zip\r\n", "{}"],
    ["a length shorter than the body", "Content-Length: 1\r\n", "{}"],
  ])("%s is refused", async (_, headers, body) => {
    expectError(await ask(request(upload, `${keyLine}${json}${headers}`, body)), "VALIDATION_ERROR");
  });

  it("a client that goes away in the middle of its body leaves nothing behind", async () => {
    for (let count = 0; count < 20; count += 1) {
      const connection = openRaw(port);
      connection.send(request(upload, `${keyLine}${json}Content-Length: 100\r\n`, '{"scopes":'));
      if (count % 2 === 0) connection.socket.resetAndDestroy();
      else connection.socket.end();
      if (count % 2 === 1) await connection.ended();
      connection.close();
    }
  });
});
