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

afterEach(async () => {
  const [alive] = await exchange(port, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
  expect(alive?.status).toBe(200);
});

const request = (line: string, headers = ""): string => `${line} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`;
const ask = async (data: string): Promise<RawAnswer | undefined> => (await exchange(port, data))[0];

describe("hostile paths", () => {
  const malformed = ["/static/%", "/%", "/%zz", "/api/v1/auth/keys/%", "/api/v1/auth/keys/%c0%ae", "/%80"];
  const unknown = [
    "/",
    "/static/..%2f..%2fetc/passwd",
    "/../../etc/passwd",
    "/api/v1/docs/../../../package.json",
    "/api/v1/docs/..%2findex.html",
    "//livez",
    "/livez/",
    "/LIVEZ",
    "/livez%00",
    "/api/v1/auth/keys/a/b",
    "/api/v2/health",
    "*",
    "/__proto__",
    "/constructor",
    "/api/v1/system/services/%00/start",
    `/${"a/".repeat(2_000)}`,
  ];

  it.each([...malformed, ...unknown])("%s needs a key before anything is said about it", async (path) => {
    expectError(await ask(request(`GET ${path}`)), "UNAUTHORIZED");
  });

  it.each(malformed)("%s is a malformed path", async (path) => {
    expectError(await ask(request(`GET ${path}`, keyLine)), "VALIDATION_ERROR");
  });

  it.each(unknown)("%s is an unknown path", async (path) => {
    expectError(await ask(request(`GET ${path}`, keyLine)), "NOT_FOUND");
  });

  it.each(["%00", "..%2f..%2f", "-x", "--help", "%2dx", "$(id)", "a%0ab", "%F0%9F%92%A9", "a".repeat(900)])(
    "a unit called %s is refused",
    async (name) => {
      const answer = await ask(request(`POST /api/v1/system/services/${name}/restart?dry_run=true`, keyLine));
      expect(expectError(answer, "VALIDATION_ERROR").details?.field).toBe("name");
    },
  );

  it.each(["%00", "__proto__", "constructor", "..%2f", "a".repeat(900)])("a key called %s is not found", async (id) => {
    expectError(await ask(request(`DELETE /api/v1/auth/keys/${id}`, keyLine)), "NOT_FOUND");
  });

  it("a part of a path that is far too long is refused without being repeated", async () => {
    const answer = await ask(request(`DELETE /api/v1/auth/keys/${"a".repeat(5_000)}`, keyLine));
    expect(expectError(answer, "VALIDATION_ERROR").details?.field).toBe("path");
    expect(answer?.body.length).toBeLessThan(500);
  });
});

describe("methods", () => {
  const odd = ["TRACE", "PROPFIND", "QUERY", "PUT", "PATCH", "DELETE", "M-SEARCH", "LINK", "POST"];

  it.each(odd)("%s needs a key before it is unknown", async (method) => {
    expectError(await ask(request(`${method} /api/v1/health`)), "UNAUTHORIZED");
    expectError(await ask(request(`${method} /api/v1/health`, keyLine)), "NOT_FOUND");
  });

  it("OPTIONS needs a key, and a path", async () => {
    expectError(await ask(request("OPTIONS /api/v1/health")), "UNAUTHORIZED");
    expect(await ask(request("OPTIONS /api/v1/health", keyLine))).toMatchObject({ status: 204, body: "" });
    for (const target of ["*", "/api/v1/nothing", "http://localhost/api/v1/nothing"])
      expectError(await ask(request(`OPTIONS ${target}`, keyLine)), "NOT_FOUND");
  });

  it("an unknown path is unknown whatever the body is", async () => {
    const body = "Content-Type: text/xml\r\nContent-Length: 3\r\n\r\n<a>";
    const head = "POST /api/v1/nothing HTTP/1.1\r\nHost: localhost\r\n";
    expectError(await ask(`${head}${body}`), "UNAUTHORIZED");
    expectError(await ask(`${head}${keyLine}${body}`), "NOT_FOUND");
  });

  it("TRACE sends nothing back of what it was sent", async () => {
    const answer = await ask(request("TRACE /api/v1/health", `${keyLine}X-Marker: seen\r\n`));
    expect(JSON.stringify(answer)).not.toContain("seen");
  });

  it("HEAD answers as GET does, without a body", async () => {
    const [good] = await exchange(port, request("HEAD /api/v1/health", keyLine), { isHead: true });
    expect(good).toMatchObject({ status: 200, body: "" });
    expect(Number(good?.headers["content-length"])).toBeGreaterThan(0);
    const [refused] = await exchange(port, request("HEAD /api/v1/health"), { isHead: true });
    expect(refused).toMatchObject({ status: 401, body: "" });
  });
});

describe("what HTTP offers besides", () => {
  it("pipelined requests are answered in their order", async () => {
    const paths = ["/livez", "/api/v1/health", "/api/v1/nothing", "/api/v1/auth/whoami", "/%", "/livez"];
    const answers = await exchange(port, paths.map((path) => request(`GET ${path}`, keyLine)).join(""), {
      answers: paths.length,
    });
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 200, 400, 200]);
    const ids = answers.map(({ headers }) => headers["x-request-id"]);
    expect(new Set(ids).size).toBe(paths.length);
  });

  it("Expect: 100-continue is honoured", async () => {
    const connection = openRaw(port);
    const headers = `${keyLine}Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n`;
    connection.send(request("POST /api/v1/auth/tokens", headers));
    expect((await connection.answers(1)).map(({ status }) => status)).toEqual([100]);
    connection.send("{}");
    expect((await connection.answers(2)).map(({ status }) => status)).toEqual([100, 200]);
    connection.close();
  });

  it("any other expectation changes nothing", async () => {
    expect((await ask(request("GET /livez", "Expect: miracles\r\n")))?.status).toBe(200);
    expectError(await ask(request("GET /api/v1/health", "Expect: miracles\r\n")), "UNAUTHORIZED");
  });

  it.each(["websocket", "h2c", "TLS/1.0"])("Upgrade: %s on an ordinary path changes nothing", async (protocol) => {
    const upgrade = `Connection: Upgrade\r\nUpgrade: ${protocol}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n`;
    expectError(await ask(request("GET /api/v1/health", upgrade)), "UNAUTHORIZED");
    expect((await ask(request("GET /api/v1/health", keyLine + upgrade)))?.status).toBe(200);
    expectError(await ask(request("GET /api/v1/nothing", keyLine + upgrade)), "NOT_FOUND");
  });

  it("an address in the request line does not lead elsewhere", async () => {
    const answer = await ask(request("GET http://192.0.2.1/api/v1/auth/whoami", keyLine));
    expect(answer?.status).toBe(200);
    expectError(await ask(request("GET http://192.0.2.1/api/v1/auth/whoami")), "UNAUTHORIZED");
  });
});
