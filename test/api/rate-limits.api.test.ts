import { afterEach, describe, expect, it } from "vitest";
import { errorWith, send, startTestService, type TestReply, type TestService } from "./harness.ts";

describe("rate limits", () => {
  let service: TestService;
  afterEach(() => service.app.close());

  const start = async (
    rateLimits: { perMinute: number; perHour: number } | "off" = { perMinute: 100, perHour: 1000 },
  ) => {
    service = await startTestService({ rateLimits });
  };
  const get = (key: string, path = "/api/v1/system/info", headers: Record<string, string> = {}) =>
    send(service, { path, key, headers });

  async function spend(key: string, requests: number): Promise<TestReply> {
    let last = await get(key);
    for (let count = 1; count < requests; count += 1) last = await get(key);
    return last;
  }

  it("are in every answer to a key, also in refusals", async () => {
    await start();
    const first = await get(service.admin);
    const inAMinute = Math.ceil((service.clock.now() + 60_000) / 1000);
    expect(first.headers).toMatchObject({
      "x-ratelimit-limit": "100",
      "x-ratelimit-remaining": "99",
      "x-ratelimit-reset": String(inAMinute),
      "ratelimit-policy": '"permin";q=100;w=60, "perhour";q=1000;w=3600',
      ratelimit: '"permin";r=99;t=60',
    });
    const notFound = await get(service.admin, "/api/v1/nope");
    expect(notFound.headers["x-ratelimit-remaining"]).toBe("98");
    const forbidden = await get(service.key([]));
    expect(forbidden.status).toBe(403);
    expect(forbidden.headers["x-ratelimit-remaining"]).toBe("99");
  });

  it("refuse the 101st request in a minute with every header, and no other key", async () => {
    await start();
    expect((await spend(service.admin, 100)).headers["x-ratelimit-remaining"]).toBe("0");
    await service.clock.advance(20_000);
    const refused = await get(service.admin);
    expect(refused.status).toBe(429);
    expect(refused.json).toMatchObject(
      errorWith("RATE_LIMITED", { limit: 100, window_seconds: 60, retry_after_seconds: 40 }),
    );
    expect(refused.headers).toMatchObject({
      "retry-after": "40",
      "x-ratelimit-limit": "100",
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset": String(Math.ceil((service.clock.now() + 40_000) / 1000)),
      "ratelimit-policy": '"permin";q=100;w=60, "perhour";q=1000;w=3600',
      ratelimit: '"permin";r=0;t=40',
    });
    expect((await get(service.key(["system:read"]))).status).toBe(200);
    await service.clock.advance(40_000);
    expect((await get(service.admin)).status).toBe(200);
  });

  it("refuse the 1001st request in an hour, and refused requests cost nothing", async () => {
    await start();
    for (let minute = 0; minute < 10; minute += 1) {
      expect((await spend(service.admin, 100)).status).toBe(200);
      if (minute < 9) await service.clock.advance(60_000);
    }
    await service.clock.advance(60_000);
    const refused = await get(service.admin);
    expect(refused.status).toBe(429);
    expect(refused.headers).toMatchObject({
      "x-ratelimit-limit": "1000",
      "x-ratelimit-remaining": "0",
      "retry-after": String(3600 - 600),
      ratelimit: `"perhour";r=0;t=${3600 - 600}`,
    });
    await spend(service.admin, 50);
    await service.clock.advance(3_000_000);
    const again = await get(service.admin);
    expect(again.status).toBe(200);
    expect(again.headers["x-ratelimit-remaining"]).toBe("99");
  });

  it("are shared by all credentials of a key", async () => {
    await start();
    const reply = await send(service, { method: "POST", path: "/api/v1/auth/tokens", key: service.admin });
    const { access_token: token } = reply.json as { access_token: string };
    const withToken = await send(service, {
      path: "/api/v1/system/info",
      headers: { authorization: `Bearer ${token}` },
    });
    expect(withToken.headers["x-ratelimit-remaining"]).toBe("98");
  });

  it("do not count a 401, metrics and probes", async () => {
    await start();
    await get(service.admin.replace(/.$/, "!"));
    await get(service.admin, "/metrics");
    await get(service.admin, "/livez");
    expect((await get(service.admin)).headers["x-ratelimit-remaining"]).toBe("99");
  });

  it("come before the check of the scope", async () => {
    await start({ perMinute: 1, perHour: 1000 });
    const key = service.key([]);
    expect((await get(key)).status).toBe(403);
    expect((await get(key)).status).toBe(429);
  });

  it("can be switched off", async () => {
    await start("off");
    const last = await spend(service.admin, 150);
    expect(last.status).toBe(200);
    expect(last.headers["x-ratelimit-limit"]).toBeUndefined();
  });

  it.each([-86_400_000, 86_400_000])("are neither ended nor stretched when the clock is set by %d ms", async (step) => {
    await start();
    await spend(service.admin, 101);
    const attempt = () => send(service, { path: "/api/v1/health", key: "stw_guess", from: "203.0.113.9" });
    for (let count = 0; count < 61; count += 1) await attempt();
    service.clock.set(service.clock.now() + step);
    const refused = await get(service.admin);
    expect(refused.status).toBe(429);
    // What is given in seconds since the epoch follows the clock as it is now.
    expect(refused.headers).toMatchObject({
      "retry-after": "60",
      "x-ratelimit-reset": String(Math.ceil(service.clock.now() / 1000) + 60),
    });
    expect((await attempt()).status).toBe(429);
    await service.clock.advance(60_000);
    expect((await get(service.admin)).status).toBe(200);
    expect((await attempt()).status).toBe(401);
  });

  it("slows an address down that keeps failing to log in, and nobody with a good key", async () => {
    await start();
    const attempt = () => send(service, { path: "/api/v1/health", key: "stw_guess", from: "203.0.113.9" });
    for (let count = 0; count < 60; count += 1) expect((await attempt()).status).toBe(401);
    const refused = await attempt();
    expect(refused.status).toBe(429);
    expect(refused.headers["retry-after"]).toBe("60");
    expect((await send(service, { path: "/api/v1/health", key: service.admin, from: "203.0.113.9" })).status).toBe(200);
    expect((await send(service, { path: "/api/v1/health", key: "stw_guess", from: "203.0.113.10" })).status).toBe(401);
    await service.clock.advance(60_000);
    expect((await attempt()).status).toBe(401);
  });

  it("count an IPv6 network as one address", async () => {
    await start();
    const attempt = (host: number) =>
      send(service, { path: "/api/v1/health", from: `2001:db8:1:2::${host.toString(16)}` });
    for (let count = 0; count < 60; count += 1) await attempt(count + 1);
    expect((await attempt(100)).status).toBe(429);
    expect((await send(service, { path: "/api/v1/health", from: "2001:db8:1:3::1" })).status).toBe(401);
  });
});
