import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { streams } from "#contract/streams.ts";
import { errorWith, pathOf, send, startTestService, type TestRequest, type TestService } from "./harness.ts";

const origin = "https://console.example.org";
let service: TestService;
beforeAll(async () => {
  service = await startTestService({ corsOrigins: [origin, "http://localhost:5173"] });
});
afterAll(() => service.app.close());

const health = "/api/v1/health";
const rows = Object.entries<Operation>(operations);

/** Each from an address of its own: one service answers all, and would refuse an address that has come without a key too often. */
let asked = 0;
const ask = (path: string, headers: Record<string, string>, request: Partial<TestRequest> = {}) => {
  asked += 1;
  const from = `198.18.${asked >> 8}.${asked & 255}`;
  return send(service, { path, from, key: service.admin, headers: { host: "localhost:8470", ...headers }, ...request });
};

const preflight = (path: string, method: string, from = origin) =>
  send(service, {
    method: "OPTIONS",
    path,
    headers: { host: "localhost:8470", origin: from, "access-control-request-method": method },
  });

const corsHeaders = (headers: object): readonly string[] =>
  Object.keys(headers).filter((name) => name.startsWith("access-control-"));

/** A page may read these without being listed (Fetch, "CORS-safelisted response-header name"), or has no use for them. */
const unexposed = new Set([
  ...["cache-control", "content-language", "content-length", "content-type", "expires", "last-modified", "pragma"],
  ...["connection", "keep-alive", "date", "transfer-encoding", "content-encoding", "allow"],
  ...["content-security-policy", "cross-origin-resource-policy", "referrer-policy", "x-content-type-options"],
  ...["access-control-allow-origin", "access-control-expose-headers"],
]);

describe("a page of an origin in the settings", () => {
  it.each(rows)("may read the answer of %s and each of its headers, also of an error", async (_, operation) => {
    const path = pathOf(operation);
    for (const key of [service.admin, ""]) {
      const { headers } = await ask(path, { origin }, { method: operation.method, key });
      expect(headers).toMatchObject({ "access-control-allow-origin": origin });
      expect(headers["vary"]?.split(", ")).toContain("Origin");
      expect(headers).not.toHaveProperty("access-control-allow-credentials");
      const exposed = new Set(headers["access-control-expose-headers"]?.toLowerCase().split(", "));
      const sent = Object.keys(headers).filter((name) => !unexposed.has(name));
      expect(sent.filter((name) => !exposed.has(name))).toEqual([]);
    }
  });

  it.each(rows)("may send %s, which a preflight says without a key", async (_, operation) => {
    const reply = await preflight(pathOf(operation), operation.method);
    expect([reply.status, reply.text]).toEqual([204, ""]);
    const { headers } = reply;
    expect(headers).toMatchObject({ "access-control-allow-origin": origin, "access-control-max-age": "600" });
    expect(headers["access-control-allow-methods"]?.split(", ")).toContain(operation.method);
    const allowed = headers["access-control-allow-headers"]?.split(", ") ?? [];
    expect(allowed).toEqual(expect.arrayContaining(["Authorization", "X-API-Key", "Content-Type"]));
    // Clients begin what continues with a key for repetitions, also where it is not a POST.
    if (operation.method === "POST" || operation.outlives) expect(allowed).toContain("Idempotency-Key");
    if (operation.effect !== "read") expect(allowed).toContain("X-Window-Override");
    if (operation.outlives) expect(allowed).toContain("Prefer");
    expect(corsHeaders(headers)).not.toContain("access-control-allow-credentials");
  });

  it("needs a key, and takes no request of its budget for a preflight", async () => {
    expect((await ask(health, { origin }, { key: "" })).status).toBe(401);
    const before = service.logLines().filter(({ key_id: id }) => id !== undefined).length;
    await preflight(health, "GET");
    expect(service.logLines().filter(({ key_id: id }) => id !== undefined)).toHaveLength(before);
  });

  it("may read the metrics with a key only, also from this machine", async () => {
    const metrics = (headers: Record<string, string>) => ask("/metrics", headers, { key: "", from: "127.0.0.1" });
    expect([(await metrics({})).status, (await metrics({ origin })).status]).toEqual([200, 401]);
  });
});

describe("a page of another origin", () => {
  const others = [
    "https://console.example.org:443",
    "http://console.example.org",
    "https://CONSOLE.example.org",
    "https://console.example.org.evil.example",
    "https://evil.example",
    "null",
    "*",
    "",
    `${origin}, ${origin}`,
    `${origin}/`,
  ];

  it.each(others)("%j is refused, its preflight too", async (other) => {
    for (const reply of [await ask(health, { origin: other }), await preflight(health, "GET", other)]) {
      expect(reply.json).toMatchObject(errorWith("FORBIDDEN", { field: "Origin" }));
      expect(corsHeaders(reply.headers)).toEqual([]);
    }
  });

  it("is any origin where the settings name none", async () => {
    const closed = await startTestService();
    for (const headers of [{ origin }, {}]) {
      const reply = await send(closed, { path: health, key: closed.admin, headers });
      expect([reply.status, reply.headers["vary"], corsHeaders(reply.headers)]).toEqual([
        "origin" in headers ? 403 : 200,
        undefined,
        [],
      ]);
    }
    await closed.app.close();
  });

  it("is not the origin of the service itself", async () => {
    const reply = await ask(health, { origin: "http://localhost:8470" });
    expect([reply.status, corsHeaders(reply.headers)]).toEqual([200, []]);
  });
});

describe("OPTIONS", () => {
  const options = (path: string, request: Partial<TestRequest> = {}) =>
    ask(path, {}, { method: "OPTIONS", ...request });

  it.each(rows)("names the method of %s in Allow", async (_, operation) => {
    const { status, headers, text } = await options(pathOf(operation));
    const allowed = headers["allow"]?.split(", ") ?? [];
    expect([status, text, corsHeaders(headers)]).toEqual([204, "", []]);
    expect(allowed).toEqual(expect.arrayContaining([operation.method, "OPTIONS"]));
    expect(allowed.includes("HEAD")).toBe(allowed.includes("GET"));
    // A key without scopes: 403 for what there is, and 404 with its id for an approval that it may not see.
    const key = service.key([]);
    for (const method of ["GET", "POST", "DELETE"] as const) {
      const { json } = await send(service, { method, path: pathOf(operation), key });
      const isThere = !JSON.stringify(json).includes("this path: it takes");
      expect([method, isThere]).toEqual([method, allowed.includes(method)]);
    }
  });

  it("is answered for streams and pages, and needs a key where they do", async () => {
    for (const { path } of Object.values(streams))
      expect((await options(`/api/v1${path}`)).headers["allow"]).toBe("GET, OPTIONS");
    for (const path of ["/livez", "/api/v1/openapi.json", "/api/v1/docs"])
      expect((await options(path, { key: "" })).headers["allow"]).toBe("GET, HEAD, OPTIONS");
    for (const path of [health, "/metrics", "/api/v1/ws/logs"])
      expect((await options(path, { key: "" })).status).toBe(401);
  });

  it("is 404 for an unknown path, and 401 without a key", async () => {
    for (const path of [
      "/api/v1/nothing",
      "/api/v1/health/",
      "/api/v1/system/services//restart",
      "/%",
      "//",
      "/api/v1/health%00",
    ]) {
      expect([path, (await options(path)).status]).toEqual([
        path,
        path.includes("%") && path !== "/api/v1/health%00" ? 400 : 404,
      ]);
      expect([path, (await options(path, { key: "" })).status]).toEqual([path, 401]);
    }
  });

  it("does not change that other methods are 404", async () => {
    for (const method of ["PUT", "PATCH", "DELETE"] as const)
      expect((await ask(health, {}, { method })).status).toBe(404);
  });

  it("is labelled by the template of its path", async () => {
    await options("/api/v1/system/services/nginx/restart");
    expect(service.logLines().at(-1)).toMatchObject({
      method: "OPTIONS",
      endpoint: "/api/v1/system/services/{name}/restart",
      status: 204,
    });
  });
});
