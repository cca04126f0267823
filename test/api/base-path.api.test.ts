import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { send, startTestService, type TestService } from "./harness.ts";

const base = "/web1";
let service: TestService;

beforeAll(async () => {
  service = await startTestService({
    publicAddress: {
      url: `https://hosts.example.org${base}`,
      origin: "https://hosts.example.org",
      host: "hosts.example.org",
      base,
    },
  });
});
afterAll(() => service.app.close());

const rows = Object.entries<Operation>(operations).map(([name, { method, base: place, path }]) => ({
  name,
  method,
  path: `${place === "root" ? "" : "/api/v1"}${path.replaceAll(/\{\w+\}/g, "x")}`,
}));

describe("a service below a path of a reverse proxy", () => {
  it.each(rows)("finds $name, with and without the path", async ({ method, path }) => {
    const key = service.key([]);
    const [without, below] = await Promise.all(
      [path, `${base}${path}`].map((each) => send(service, { method, path: each, key })),
    );
    expect(below?.status).toBe(without?.status);
    expect(below?.text).not.toContain("cannot find this path");
  });

  it("serves the host name of the proxy, and a page of its origin", async () => {
    const from = (headers: Record<string, string>) =>
      send(service, { method: "GET", path: "/api/v1/auth/whoami", key: service.admin, headers });
    expect((await from({ host: "hosts.example.org" })).status).toBe(200);
    expect((await from({ host: "hosts.example.org", origin: "https://hosts.example.org" })).status).toBe(200);
    expect((await from({ host: "127.0.0.1", origin: "https://hosts.example.org" })).status).toBe(200);
    expect((await from({ host: "hosts.example.org", origin: "https://hosts.example.org:8443" })).status).toBe(403);
    expect((await from({ host: "elsewhere.example.org" })).status).toBe(403);
  });

  it("gives operations an address below the path, also in a replay", async () => {
    const apply = () =>
      send(service, {
        method: "POST",
        path: `${base}/api/v1/updates/snapshots`,
        key: service.admin,
        body: {},
        headers: { prefer: "respond-async", "idempotency-key": "once" },
      });
    const first = await apply();
    expect(first).toMatchObject({
      status: 202,
      headers: { location: expect.stringMatching(/^\/web1\/api\/v1\/operations\//) },
    });
    const again = await apply();
    expect(again.headers).toMatchObject({ location: first.headers["location"], "idempotent-replayed": "true" });
    const found = await send(service, { method: "GET", path: String(first.headers["location"]), key: service.admin });
    expect(found.status).toBe(200);
  });

  it("has the path in its pages and documents", async () => {
    const get = async (path: string, accept = "*/*") =>
      (await service.app.inject({ method: "GET", url: path, headers: { host: "localhost", accept } })).body;
    const headers = { host: "localhost", accept: "text/html" };
    for (const url of ["/", "/web1"])
      expect((await service.app.inject({ method: "GET", url, headers })).headers.location).toBe("/web1/console/");
    expect(await get("/api/v1/docs")).toContain('src="/web1/api/v1/docs/start.js"');
    expect(await get("/api/v1/docs/start.js")).toContain('"/web1/api/v1/openapi.json"');
    expect(JSON.parse(await get("/api/v1/openapi.json"))).toMatchObject({ servers: [{ url: base }] });
    expect(await get("/api/v1/asyncapi.json")).toContain('"/web1/api/v1/ws/logs"');
  });
});
