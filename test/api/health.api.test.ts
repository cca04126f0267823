import { afterEach, describe, expect, it } from "vitest";
import { send, startTestService, type TestService } from "./harness.ts";

describe("GET /health", () => {
  let service: TestService;
  afterEach(() => service.app.close());
  const health = () => send(service, { path: "/api/v1/health", key: service.admin });

  it("answers with the health status", async () => {
    service = await startTestService();
    await service.clock.advance(90_500);
    const reply = await health();
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({
      status: "healthy",
      version: "1.2.3",
      uptime_seconds: 90,
      components: { cli: true, ops: true, llm: false, security: true },
    });
  });

  it("probes each component at the start and every 30 s, and never twice at once", async () => {
    service = await startTestService();
    const { cli } = service.probes;
    expect(cli.runs()).toBe(1);
    await health();
    await health();
    expect(cli.runs()).toBe(1);
    await service.clock.advance(29_999);
    expect(cli.runs()).toBe(1);
    await service.clock.advance(1);
    expect(cli.runs()).toBe(2);
    cli.result = () => new Promise(() => undefined);
    await service.clock.advance(30_000);
    expect(cli.runs()).toBe(3);
  });

  it.each([
    ["cli", "degraded"],
    ["ops", "unhealthy"],
    ["security", "unhealthy"],
  ] as const)("of an unhealthy %s is %s", async (component, status) => {
    service = await startTestService();
    service.probes[component].result = { healthy: false, expected: true, reason: "broken" };
    await service.clock.advance(30_000);
    const reply = await health();
    expect(reply.status).toBe(200);
    expect(reply.json).toMatchObject({ status, components: { [component]: false } });
    service.probes[component].result = { healthy: true, expected: true };
    await service.clock.advance(30_000);
    expect((await health()).json).toMatchObject({ status: "healthy", components: { [component]: true } });
  });

  it("stays healthy where the host cannot have a component", async () => {
    service = await startTestService();
    service.probes.ops.result = { healthy: false, expected: false, reason: "systemd is not running on this host" };
    await service.clock.advance(30_000);
    expect((await health()).json).toMatchObject({ status: "healthy", components: { ops: false } });
  });

  it("counts a probe that throws or hangs as unhealthy", async () => {
    service = await startTestService();
    service.probes.cli.result = () => Promise.reject(new Error("no route"));
    service.probes.security.result = () => new Promise(() => undefined);
    await service.clock.advance(30_000);
    await service.clock.advance(10_000);
    expect((await health()).json).toMatchObject({ status: "unhealthy", components: { cli: false, security: false } });
    const reasons = service.logLines().filter(({ level }) => level === "warn");
    expect(reasons).toMatchObject([
      { component: "cli", reason: "no route" },
      { component: "security", reason: "no answer after 10 s" },
    ]);
  });
});

describe("liveness and readiness", () => {
  it("need no key, and readiness ends with the shutdown", async () => {
    const service = await startTestService();
    expect((await send(service, { path: "/livez" })).json).toEqual({ status: "ok" });
    expect((await send(service, { path: "/readyz" })).json).toEqual({ status: "ok", checks: "starting" });
    expect((await send(service, { path: "/api/v1/health", key: service.admin })).json).toMatchObject({
      details: { checks: "starting" },
    });
    await send(service, { path: "/api/v1/health/checks", key: service.admin });
    expect((await send(service, { path: "/readyz" })).json).toEqual({ status: "ok" });
    expect((await send(service, { path: "/api/v1/health", key: service.admin })).json).not.toHaveProperty("details");
    service.service.drain();
    expect((await send(service, { path: "/readyz" })).status).toBe(503);
    expect((await send(service, { path: "/livez" })).status).toBe(200);
    await service.app.close();
  });
});
