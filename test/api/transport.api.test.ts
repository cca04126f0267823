import type { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { errorWith, send, startTestService, type TestRequest, type TestService } from "./harness.ts";

let service: TestService;
beforeEach(async () => {
  service = await startTestService({ allowedHosts: ["box.example.org"] });
});
afterEach(() => service.app.close());

const health = (headers: Record<string, string>, request: Partial<TestRequest> = {}) =>
  send(service, { path: "/api/v1/health", key: service.admin, headers, ...request });

describe("Host and Origin of other sites", () => {
  it.each([
    "localhost",
    "localhost:8470",
    "127.0.0.1:8470",
    "[::1]:8470",
    "192.0.2.7",
    "box.example.org",
    "BOX.example.org.:443",
  ])("serves Host %s", async (host) => {
    expect((await health({ host })).status).toBe(200);
  });

  it.each(["evil.example", "localhost.evil.example", "box.example.org.evil.example", "127.0.0.1.evil.example:8470"])(
    "refuses Host %s, also where no key is needed",
    async (host) => {
      for (const path of ["/api/v1/health", "/metrics", "/livez", "/api/v1/openapi.json", "/api/v1/asyncapi.json"]) {
        const reply = await health({ host }, { path });
        expect([path, reply.status, reply.json]).toMatchObject([path, 403, errorWith("FORBIDDEN", { field: "Host" })]);
      }
    },
  );

  it.each(["a b", "localhost:port", "[::1", "http://localhost", "localhost/x", "user@localhost"])(
    "refuses the malformed Host %j",
    async (host) => {
      expect((await health({ host })).json).toMatchObject(errorWith("VALIDATION_ERROR", { field: "Host" }));
    },
  );

  it("refuses a foreign Origin and serves its own", async () => {
    const host = "localhost:8470";
    for (const origin of [
      "https://evil.example",
      "null",
      "http://localhost",
      "http://localhost:84700",
      "http://localhost:8470.evil.example",
    ]) {
      expect([origin, (await health({ host, origin })).status]).toEqual([origin, 403]);
    }
    expect((await health({ host, origin: "http://localhost:8470" })).status).toBe(200);
    const reply = await health({ host });
    expect(reply.headers["access-control-allow-origin"]).toBeUndefined();
    expect(reply.headers["set-cookie"]).toBeUndefined();
  });

  it("refuses what a page from elsewhere made a browser ask for without an Origin, and follows links", async () => {
    const asked = async (site: string, mode: string) =>
      (await health({ host: "localhost:8470", "sec-fetch-site": site, "sec-fetch-mode": mode })).status;
    for (const site of ["cross-site", "same-site"]) {
      for (const mode of ["no-cors", "cors", "same-origin", "websocket"])
        expect([site, mode, await asked(site, mode)]).toEqual([site, mode, 403]);
      expect([site, await asked(site, "navigate")]).toEqual([site, 200]);
    }
    for (const site of ["same-origin", "none"]) expect([site, await asked(site, "cors")]).toEqual([site, 200]);
  });

  it("does not believe forwarding headers of anybody", async () => {
    const entryOf = async (headers: Record<string, string>, from: string) => {
      await send(service, { method: "DELETE", path: "/api/v1/auth/keys/nobody", key: service.admin, headers, from });
      return service.audit.entries.at(-1)?.remote_address;
    };
    expect(await entryOf({ "x-forwarded-for": "10.0.0.1" }, "192.0.2.1")).toBe("192.0.2.1");
    const behind = await startTestService({ trustedProxies: ["192.0.2.1"] });
    const forwarded = { "x-forwarded-for": "198.51.100.4" };
    await send(behind, {
      method: "DELETE",
      path: "/api/v1/auth/keys/nobody",
      key: behind.admin,
      headers: forwarded,
      from: "192.0.2.1",
    });
    await send(behind, {
      method: "DELETE",
      path: "/api/v1/auth/keys/nobody",
      key: behind.admin,
      headers: forwarded,
      from: "192.0.2.9",
    });
    expect(behind.audit.entries.map(({ remote_address }) => remote_address)).toEqual(["198.51.100.4", "192.0.2.9"]);
    await behind.app.close();
  });
});

describe("metrics without a key", () => {
  const metrics = (from: string, headers: Record<string, string> = {}) =>
    send(service, { path: "/metrics", from, headers });

  it("are for a peer on loopback that forwards for nobody", async () => {
    for (const from of ["127.0.0.1", "127.5.5.5", "::1", "::ffff:127.0.0.1"])
      expect([from, (await metrics(from)).status]).toEqual([from, 200]);
    for (const from of ["192.0.2.1", "10.0.0.1", "::2"])
      expect([from, (await metrics(from)).status]).toEqual([from, 401]);
  });

  /** What programs in front send beside the request, as their documentation or their default settings have it. */
  const proxies: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    "RFC 7239": { forwarded: "for=192.0.2.60;proto=http;by=203.0.113.43" },
    "nginx as its documentation has it": { "x-real-ip": "192.0.2.60", "x-forwarded-for": "192.0.2.60" },
    "nginx, protocol alone": { "x-forwarded-proto": "https" },
    "nginx, host alone": { "x-forwarded-host": "steward.example.org" },
    "nginx, Host as it came in": { host: "steward.example.org:443" },
    "nginx, Host an address": { host: "203.0.113.7" },
    "HAProxy, option forwardfor": { "x-forwarded-for": "192.0.2.60" },
    "HAProxy, Host as it came in": { host: "203.0.113.7:8470" },
    "Apache mod_proxy": { "x-forwarded-for": "192.0.2.60", "x-forwarded-server": "www" },
    "Apache mod_proxy, ProxyAddHeaders Off": { via: "1.1 www" },
    Squid: { via: "1.1 squid (squid/5.7)", "cache-control": "max-age=259200" },
    Varnish: { "x-varnish": "32770" },
    Envoy: { "x-envoy-expected-rq-timeout-ms": "15000", "x-request-id": "c6a0" },
    "Traefik and Kubernetes ingress": { "x-forwarded-port": "443", "x-scheme": "https" },
    Cloudflare: { "cf-connecting-ip": "192.0.2.60" },
    "Cloudflare, ray alone": { "cf-ray": "1-FRA" },
    "Cloudflare Enterprise": { "true-client-ip": "192.0.2.60" },
    "RFC 8586": { "cdn-loop": "cdn.example" },
    CloudFront: { "x-amz-cf-id": "abc" },
    "AWS load balancers": { "x-amzn-trace-id": "Root=1" },
    Azure: { "x-azure-clientip": "192.0.2.60" },
    Fastly: { "fastly-client-ip": "192.0.2.60" },
    Akamai: { "x-akamai-edgescape": "geo" },
    IIS: { "x-original-url": "/metrics" },
    WebLogic: { "wl-proxy-client-ip": "192.0.2.60" },
    "a tunnel with a header of its own": { "x-somebodys-tunnel": "1" },
  };

  it.each(Object.entries(proxies))("are refused to requests through %s", async (_, headers) => {
    // So that it is not turned away for its name alone.
    const named = await startTestService({ allowedHosts: ["steward.example.org"] });
    expect((await send(named, { path: "/metrics", from: "127.0.0.1", headers })).status).toBe(401);
    const key = named.key(["metrics:read"]);
    expect((await send(named, { path: "/metrics", from: "127.0.0.1", headers, key })).status).toBe(200);
    await named.app.close();
  });

  const clients: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    Prometheus: {
      host: "127.0.0.1:8470",
      accept: "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
      "accept-encoding": "gzip",
      "user-agent": "Prometheus/2.42.0",
      "x-prometheus-scrape-timeout-seconds": "10",
    },
    curl: { host: "localhost:8470", accept: "*/*", "user-agent": "curl/7.88.1" },
    "curl, IPv6": { host: "[::1]:8470", accept: "*/*" },
    "an OpenTelemetry collector": {
      host: "127.0.0.1:8470",
      "user-agent": "otelcol/0.1",
      traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    },
    "a browser on this machine": {
      host: "127.0.0.1:8470",
      "sec-fetch-mode": "navigate",
      "sec-fetch-site": "none",
      "sec-ch-ua": "x",
      "upgrade-insecure-requests": "1",
      "accept-language": "en",
    },
  };

  it.each(Object.entries(clients))("are served to %s", async (_, headers) => {
    expect((await metrics("127.0.0.1", headers)).status).toBe(200);
  });

  it("follow the settings", async () => {
    const never = await startTestService({ metricsPublic: "never" });
    expect((await send(never, { path: "/metrics", from: "127.0.0.1" })).status).toBe(401);
    expect((await send(never, { path: "/metrics", from: "127.0.0.1", key: never.key(["metrics:read"]) })).status).toBe(
      200,
    );
    await never.app.close();
    const always = await startTestService({ metricsPublic: "always" });
    expect((await send(always, { path: "/metrics", from: "192.0.2.1" })).status).toBe(200);
    await always.app.close();
  });

  it("are in the Prometheus format, and count what was answered", async () => {
    await health({});
    await send(service, { path: "/api/v1/health" });
    await send(service, { path: "/nope" });
    await send(service, { path: "/%" });
    await send(service, { method: "POST", path: "/api/v1/system/services/cron/restart", key: service.admin });
    const reply = await metrics("127.0.0.1");
    expect(reply.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
    const requests = reply.text.split("\n").filter((line) => line.startsWith("svc_requests_total"));
    expect(requests).toEqual([
      'svc_requests_total{method="GET",endpoint="/api/v1/health",status="200"} 1',
      'svc_requests_total{method="GET",endpoint="/api/v1/health",status="401"} 1',
      'svc_requests_total{method="GET",endpoint="unmatched",status="401"} 2',
      'svc_requests_total{method="POST",endpoint="/api/v1/system/services/{name}/restart",status="200"} 1',
    ]);
    const buckets = [...reply.text.matchAll(/duration_seconds_bucket\{le="([^"]+)",method="POST"/g)].map(
      ([, le]) => le,
    );
    expect(buckets).toEqual(["0.01", "0.05", "0.1", "0.5", "1", "5", "+Inf"]);
    expect(reply.text).toMatch(/^svc_active_connections \d+$/m);
  });
});

describe("request bodies", () => {
  const post = (request: Partial<TestRequest>) =>
    send(service, { method: "POST", path: "/api/v1/auth/keys", key: service.admin, ...request });

  it.each([
    ["malformed", "{"],
    ["not JSON", "name=x"],
    ["two values", "{}{}"],
    ["a prototype", '{"name":"x","scopes":[],"__proto__":{"admin":true}}'],
    ["a constructor", '{"name":"x","scopes":[],"constructor":{"prototype":{"admin":true}}}'],
    ["a byte order mark alone", "\uFEFF"],
    ["very deep", `${"[".repeat(100_000)}${"]".repeat(100_000)}`],
  ])("refuses one that is %s [malformed-requests]", async (_, text) => {
    const reply = await post({ text });
    expect(reply.json).toMatchObject(errorWith("VALIDATION_ERROR", { field: "body", issue: expect.any(String) }));
    expect(Object.hasOwn(Object.prototype, "admin")).toBe(false);
  });

  it("refuses other media types", async () => {
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "application/xml",
      "nonsense",
    ]) {
      const reply = await post({ text: "{}", headers: { "content-type": type } });
      expect([type, reply.json]).toMatchObject([type, errorWith("VALIDATION_ERROR", { field: "Content-Type" })]);
    }
  });

  it("refuses more than 1 MiB", async () => {
    const fits = JSON.stringify({ name: "x", scopes: [], padding: "" });
    const padded = (size: number) => ({ name: "x", scopes: [], padding: "p".repeat(size - fits.length) });
    expect((await post({ body: padded(1024 * 1024) })).json).toMatchObject({
      error: { details: { field: "padding" } },
    });
    expect((await post({ body: padded(1024 * 1024 + 1) })).json).toMatchObject(
      errorWith("VALIDATION_ERROR", { field: "body", issue: "Must be at most 1 MiB" }),
    );
  });

  it("refuses members on a mutation that takes none, and takes an empty body", async () => {
    const restart = (request: Partial<TestRequest>) =>
      post({ path: "/api/v1/system/services/cron/restart", ...request });
    expect((await restart({ body: { force: true } })).json).toMatchObject({
      error: { details: { field: "force", issue: "Unknown field" } },
    });
    expect((await restart({ body: {} })).status).toBe(200);
    expect((await restart({ text: "" })).status).toBe(200);
    expect((await restart({})).status).toBe(200);
  });

  it("refuses a wrong key before it reads the body", async () => {
    expect((await post({ text: "{", key: "wrong" })).status).toBe(401);
    expect((await post({ text: "{", key: service.key([]) })).status).toBe(403);
  });
});

describe("every answer", () => {
  it("has a request id of its own and is not to be stored", async () => {
    const requests: Partial<TestRequest>[] = [
      {},
      { path: "/nope" },
      { path: "/%" },
      { key: "wrong" },
      { path: "/livez" },
      { path: "/metrics" },
      { method: "POST", path: "/api/v1/auth/keys", text: "{" },
    ];
    const replies = await Promise.all(requests.map((request) => health({}, request)));
    expect(new Set(replies.map(({ headers }) => headers["x-request-id"])).size).toBe(requests.length);
    for (const { headers } of replies) {
      expect(headers).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
    }
  });

  it("is logged under that id with the key's id, and never with what the client sent", async () => {
    const reply = await health({}, { path: `/api/v1/health?api_key=${service.admin}&x=${"private"}` });
    const line = service.logLines().find(({ request_id }) => request_id === reply.headers["x-request-id"]);
    expect(line).toMatchObject({
      level: "info",
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      msg: "request",
      key_id: service.admin.slice(4, 12),
      method: "GET",
      endpoint: "/api/v1/health",
      status: 400,
      remote_address: "192.0.2.1",
    });
    expect(JSON.stringify(line)).not.toContain("private");
    expect(JSON.stringify(service.logLines())).not.toContain(service.admin.slice(13));
  });

  it("is logged at debug level for polled paths", async () => {
    const replies = await Promise.all(
      [{ path: "/livez" }, { path: "/metrics" }, { path: "/metrics", key: "wrong" }].map((each) => health({}, each)),
    );
    const lines = service.logLines();
    const levels = replies.map(
      ({ headers }) => lines.find(({ request_id }) => request_id === headers["x-request-id"])?.["level"],
    );
    expect(levels).toEqual(["debug", "debug", "info"]);
  });

  it("has no body for HEAD, and the status of GET", async () => {
    const reply = await health({}, { method: "HEAD" });
    expect([reply.status, reply.text]).toEqual([200, ""]);
    expect((await health({}, { method: "HEAD", key: "wrong" })).status).toBe(401);
  });
});

describe("the reference", () => {
  it("is there for everybody, with a policy that admits nothing from outside", async () => {
    const page = await send(service, { path: "/api/v1/docs" });
    expect(page.status).toBe(200);
    expect(page.headers["content-security-policy"]).toContain("default-src 'none'; script-src 'self'");
    const links = [...page.text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, link]) => link ?? "");
    expect(links.length).toBe(3);
    for (const path of links) {
      const asset = await send(service, { path });
      expect([path, asset.status, asset.text.length > 100]).toEqual([path, 200, true]);
    }
    expect(page.text).not.toMatch(/https?:\/\//);
    const document = await send(service, { path: "/api/v1/openapi.json" });
    expect(document.json).toMatchObject({ openapi: "3.1.0", info: { version: "1.2.3" } });
    const ofStreams = await send(service, { path: "/api/v1/asyncapi.json" });
    expect(ofStreams.json).toMatchObject({ asyncapi: "3.0.0", info: { version: "1.2.3" } });
  });
});

describe("the root page", () => {
  const root = (headers: Record<string, string>, more: object = {}) => send(service, { path: "/", headers, ...more });

  it.each(["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "TEXT/HTML; q=0.5"])(
    "leads a browser (%s) to the console",
    async (accept) => {
      const { status, headers } = await root({ accept });
      expect([status, headers["location"]]).toEqual([302, "console/"]);
      expect(headers).toMatchObject({ vary: "Accept", "cache-control": "no-store" });
    },
  );

  it("is an unknown path for other clients", async () => {
    for (const accept of ["*/*", "application/json", "text/html;q=0", "text/htmlx", ""])
      expect([accept, (await root({ accept })).status]).toEqual([accept, 401]);
    expect((await root({ accept: "*/*" }, { key: service.admin })).status).toBe(404);
    expect((await root({ accept: "text/html" }, { method: "POST" })).status).toBe(401);
    expect((await root({ accept: "text/html", host: "evil.example" })).status).toBe(403);
    expect((await root({ accept: "text/html", origin: "http://evil.example" })).status).toBe(403);
    expect((await send(service, { path: "/other", headers: { accept: "text/html" } })).status).toBe(401);
  });
});

describe("a path that there is not", () => {
  const at = (path: string, request: Partial<TestRequest> = {}) =>
    send(service, { path, key: service.admin, ...request });

  it.each([
    ["/api/v1/health/", "/api/v1/health"],
    ["/api/v1/system/services/nginx//?limit=1", "/api/v1/system/services/nginx"],
    ["/health", "/api/v1/health"],
    ["/system/services/nginx/", "/api/v1/system/services/nginx"],
  ])("%s gets the one that was meant", async (path, meant) => {
    const { status, json } = await at(path);
    expect([status, json]).toEqual([
      404,
      {
        error: {
          ...{ code: "NOT_FOUND", message: `cannot find this path (did you mean ${meant}?)` },
          details: {
            ...{ field: "path", issue: "Not found" },
            faults: [{ field: "path", issue: "Not found", did_you_mean: meant }],
          },
        },
      },
    ]);
  });

  it("gets a link to the documentation where none is like it", async () => {
    for (const path of ["/api/v1/nothing", "/", "//", "/nothing/"])
      expect((await at(path)).json).toMatchObject({
        error: { message: "cannot find this path (see /api/v1/docs)", details: { field: "path" } },
      });
  });

  it("gets its methods where it takes others, but not without a key", async () => {
    expect(await at("/api/v1/updates/apply")).toMatchObject({
      status: 404,
      json: errorWith("NOT_FOUND", { field: "method", issue: "Must be one of POST, OPTIONS" }),
    });
    const { json } = await at("/api/v1/health", { method: "DELETE" });
    expect(json).toMatchObject({ error: { message: "cannot DELETE this path: it takes GET, HEAD, OPTIONS" } });
    expect(JSON.stringify((await send(service, { path: "/health/" })).json)).not.toContain("/api/v1/health");
  });
});

describe("a key in the query", () => {
  it("is refused with where it belongs, and goes with no other", async () => {
    const alone = await send(service, { path: `/api/v1/health?api_key=${service.admin}` });
    expect([alone.status, alone.json]).toMatchObject([
      401,
      {
        error: {
          message: expect.stringMatching(
            /^cannot take the key from api_key in the query: only streams take it, .*X-API-Key/,
          ),
        },
      },
    ]);
    const beside = await send(service, { path: `/api/v1/health?api_key=${service.admin}`, key: service.admin });
    const issue = expect.stringMatching(/^Only streams take it/);
    expect([beside.status, beside.json]).toMatchObject([
      400,
      errorWith("VALIDATION_ERROR", { field: "api_key", issue }),
    ]);
    expect(JSON.stringify([alone.json, beside.json])).not.toContain(service.admin);
  });
});

describe("a query parameter", () => {
  it("that is given twice is refused", async () => {
    const { status, json } = await send(service, { path: "/api/v1/system/logs?limit=5&limit=6", key: service.admin });
    expect([status, json]).toMatchObject([
      400,
      errorWith("VALIDATION_ERROR", { field: "limit", issue: "Must be given once" }),
    ]);
  });
});

describe("an answer that does not come in time", () => {
  it.each(["/api/v1/health/checks/plain", "/api/v1/system/logs?grep=x"])(
    "is an error with a body when the connection is about to be closed: %s",
    async (path) => {
      const held = Promise.withResolvers<never>();
      held.promise.catch(() => undefined);
      let asked = 0;
      const hang = (): Promise<never> => {
        asked += 1;
        return held.promise;
      };
      service.checks.plain.finds = hang;
      service.journal.hold = hang;
      const sockets: Socket[] = [];
      service.app.server.on("connection", (socket) => sockets.push(socket));
      const url = await service.app.listen({ host: "127.0.0.1", port: 0 });
      const answer = fetch(`${url}${path}`, { headers: { "X-API-Key": service.admin } });
      await expect.poll(() => asked).toBe(1);
      // What Node says of a connection on which nothing has moved for a minute.
      for (const socket of sockets) socket.emit("timeout");
      const response = await answer;
      expect([response.status, await response.json()]).toMatchObject([503, { error: { code: "UNAVAILABLE" } }]);
      held.reject(new Error("ended"));
    },
  );
});
