import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CheckMetrics, HealthCheckHistory } from "#contract/checks.ts";
import { errorWith, send, startTestService, type TestReply, type TestService } from "./harness.ts";

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});
afterEach(() => service.app.close());

const get = (path: string, key = service.admin): Promise<TestReply> => send(service, { path: `/api/v1${path}`, key });

describe("GET /health/checks", () => {
  it("runs every check that has not run yet, and sums up", async () => {
    service.checks.plain.finds = "warn";
    const reply = await get("/health/checks");
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({
      summary: { total: 2, passed: 1, warned: 1, failed: 0, skipped: 0, duration_ms: 0 },
      results: [
        {
          check_id: "plain",
          name: "Check of plain",
          status: "warn",
          message: "plain is warn",
          details: { run: 1 },
          duration_ms: 0,
          category: "system",
          severity: "medium",
          checked_at: "2026-01-01T00:00:00.000Z",
          fixable: false,
          since: "2026-01-01T00:00:00.000Z",
          consecutive_failures: 0,
          state_type: "soft",
          attempt: 1,
          max_attempts: 3,
        },
        expect.objectContaining({ check_id: "vital", severity: "critical", status: "pass" }),
      ],
    });
  });

  it("runs no check that is fresher than its interval", async () => {
    for (let times = 0; times < 3; times += 1) await get("/health/checks");
    expect([service.checks.plain.runs(), service.checks.vital.runs()]).toEqual([1, 1]);
    const { results } = (await get("/health/checks")).json as { results: readonly { checked_at: string }[] };
    expect(results.map((result) => result.checked_at)).toEqual(Array(2).fill("2026-01-01T00:00:00.000Z"));
  });
});

describe("GET /health/checks/{check_id}", () => {
  it("always runs the check, and counts its failures until it passes", async () => {
    service.checks.plain.finds = "fail";
    for (let run = 1; run <= 3; run += 1) {
      expect((await get("/health/checks/plain")).json).toMatchObject({
        check_id: "plain",
        status: "fail",
        details: { run },
        consecutive_failures: run,
        since: "2026-01-01T00:00:00.000Z",
      });
    }
    await service.clock.advance(500);
    service.checks.plain.finds = "pass";
    expect((await get("/health/checks/plain")).json).toMatchObject({
      status: "pass",
      consecutive_failures: 0,
      since: "2026-01-01T00:00:00.500Z",
    });
  });

  it("is 404 for a check that does not exist, or is switched off", async () => {
    await service.app.close();
    service = await startTestService({ checkPlan: { checks: { plain: { isEnabled: false } } } });
    for (const path of ["/health/checks/plain", "/health/checks/nothing", "/health/checks/plain/history"]) {
      expect([path, await get(path)]).toMatchObject([path, { status: 404, json: { error: { code: "NOT_FOUND" } } }]);
    }
    expect((await get("/health/checks")).json).toMatchObject({ summary: { total: 1 } });
  });
});

describe("GET /health/checks/{check_id}/history", () => {
  it("gives the newest runs of the window, oldest first, and counts all", async () => {
    for (const status of ["pass", "warn", "fail"] as const) {
      service.checks.plain.finds = status;
      await get("/health/checks/plain");
      await service.clock.advance(100);
    }
    const reply = await get("/health/checks/plain/history?limit=2");
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({
      check_id: "plain",
      runs: [
        { checked_at: "2026-01-01T00:00:00.100Z", status: "warn", message: "plain is warn", duration_ms: 0 },
        { checked_at: "2026-01-01T00:00:00.200Z", status: "fail", message: "plain is fail", duration_ms: 0 },
      ],
      total: 3,
    });
    expect((await get("/health/checks/plain/history?since=2026-01-01T01:00:00.2%2B01:00")).json).toMatchObject({
      runs: [{ status: "fail" }],
      total: 1,
    });
  });

  it("goes back a day by default, and a month at most", async () => {
    const day = 24 * 60 * 60 * 1000;
    const state = { status: "pass", since: 0, consecutiveFailures: 0 } as const;
    for (const days of [31, 29, 2, 0.5]) {
      const checkedAt = service.clock.now() - days * day;
      service.checkHistory.record("plain", { checkedAt, status: "pass", message: "old", durationMs: 1 }, state);
    }
    expect((await get("/health/checks/plain/history")).json).toMatchObject({ total: 1 });
    await service.clock.advance(1_000);
    expect((await get("/health/checks/plain/history?since=2020-01-01T00:00:00Z")).json).toMatchObject({
      total: 3 + service.checks.plain.runs(),
    });
  });

  it("has every run of the last hour and transitions before it, or one of both", async () => {
    service.checks.plain.finds = "pass";
    await service.clock.advance(3_600_000);
    service.checks.plain.finds = "fail";
    await service.clock.advance(2 * 3_600_000);
    const history = async (query: string) =>
      (await get(`/health/checks/plain/history?${query}`)).json as HealthCheckHistory;
    const entries = await history("");
    expect(entries.runs.slice(0, 2).map(({ status }) => status)).toEqual(["pass", "fail"]);
    expect([entries.total, entries.runs.length]).toEqual([2 + 61, 2 + 61]);
    const transitions = await history("resolution=transitions");
    expect(transitions).toEqual({ check_id: "plain", runs: entries.runs.slice(0, 2), total: 2 });
    expect(await history("resolution=transitions&limit=1")).toMatchObject({ runs: [{ status: "fail" }], total: 2 });
    expect(await history("resolution=runs")).toEqual({ check_id: "plain", runs: entries.runs.slice(2), total: 61 });
  });

  it("gives days and the uptime, which add up", async () => {
    const day = 86_400_000;
    service.checks.plain.finds = "pass";
    await service.clock.advance(3_600_000);
    service.checks.plain.finds = "warn";
    await service.clock.advance(3_600_000);
    const { days, uptime, ...rest } = (await get("/health/checks/plain/history?resolution=daily"))
      .json as Required<HealthCheckHistory>;
    expect(rest).toEqual({ check_id: "plain", runs: [], total: 30 });
    expect(days[0]).toEqual({
      day: "2025-12-03",
      runs: 0,
      changes: 0,
      duration_ms: { min: null, mean: null, max: null },
      time_ms: { pass: 0, warn: 0, fail: 0, skip: 0, unknown: day },
    });
    expect(days.at(-1)).toMatchObject({
      day: "2026-01-01",
      runs: service.checks.plain.runs(),
      changes: 1,
      duration_ms: { min: 0, mean: 0, max: 0 },
    });
    const [one, seven, thirty] = uptime;
    expect([one?.days, seven?.days, thirty?.days]).toEqual([1, 7, 30]);
    expect(one).toMatchObject({ since: "2025-12-31T02:00:00.000Z", until: "2026-01-01T02:00:00.000Z" });
    expect(one?.time_ms).toEqual({ pass: 3_659_000, warn: 3_540_000, fail: 0, skip: 0, unknown: day - 7_199_000 });
    expect(one?.percent).toEqual({ pass: 4.235, warn: 4.097, fail: 0, skip: 0, unknown: 91.668 });
    const short = await get("/health/checks/plain/history?resolution=daily&since=2025-12-31T05:00:00Z&limit=1");
    expect(short.json).toMatchObject({ total: 2, days: [{ day: "2026-01-01" }] });
  });
});

describe("GET /health/metrics", () => {
  const metrics = async (query: string) => (await get(`/health/metrics?check=plain${query}`)).json as CheckMetrics;

  it("gives a value for each minute of the window", async () => {
    await service.clock.advance(180_000);
    const answer = await metrics("");
    expect(answer).toMatchObject({ check_id: "plain", step_seconds: 60, series: [{ name: "run", unit: "" }] });
    const [series] = answer.series;
    expect(series?.points.at(-1)).toEqual({ at: "2026-01-01T00:03:00.000Z", value: service.checks.plain.runs() });
    expect(series?.points.map(({ value }) => value)).toEqual(
      Array.from({ length: series?.points.length ?? 0 }, (_, at) => at + 1),
    );
    const window = "&name=run&since=2026-01-01T00:01:00Z&until=2026-01-01T00:02:30Z";
    expect((await metrics(window)).series[0]?.points.map(({ at }) => at)).toEqual([
      "2026-01-01T00:01:00.000Z",
      "2026-01-01T00:02:00.000Z",
    ]);
    expect((await metrics("&name=other")).series).toEqual([]);
  });

  it.each([
    ["until=2026-02-30T00:00:00Z", "until"],
    ["since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z", "since"],
  ])("refuses %s", async (query, field) => {
    expect((await get(`/health/metrics?check=plain&${query}`)).json).toMatchObject(
      errorWith("VALIDATION_ERROR", { field }),
    );
  });
});

describe("GET /health", () => {
  const statuses = ["pass", "warn", "fail", "skip"] as const;
  const expected = { pass: "healthy", warn: "degraded", fail: "degraded", skip: "healthy" } as const;

  it("follows from the last results, and runs nothing", async () => {
    for (const plain of statuses) {
      for (const vital of statuses) {
        Object.assign(service.checks.plain, { finds: plain });
        Object.assign(service.checks.vital, { finds: vital });
        await Promise.all([get("/health/checks/plain"), get("/health/checks/vital")]);
        const runs = service.checks.plain.runs();
        const degraded = [expected[plain], expected[vital]].includes("degraded") ? "degraded" : "healthy";
        expect([plain, vital, (await get("/health")).json]).toMatchObject([
          plain,
          vital,
          { status: vital === "fail" ? "unhealthy" : degraded },
        ]);
        expect(service.checks.plain.runs()).toBe(runs);
      }
    }
  });

  it("is no better than the components, nor than the checks", async () => {
    service.checks.plain.finds = "warn";
    await get("/health/checks/plain");
    service.probes.security.result = { healthy: false, expected: true, reason: "broken" };
    await service.clock.advance(30_000);
    expect((await get("/health")).json).toMatchObject({ status: "unhealthy" });
    service.probes.security.result = { healthy: true, expected: true };
    service.probes.cli.result = { healthy: false, expected: true, reason: "broken" };
    service.checks.vital.finds = "fail";
    await service.clock.advance(60_000);
    expect((await get("/health")).json).toMatchObject({ status: "unhealthy", components: { cli: false } });
  });
});

describe("regular runs of checks", () => {
  it("update the metrics, and log a change of status", async () => {
    service.checks.vital.finds = "fail";
    await service.clock.advance(180_000);
    const { text } = await send(service, { path: "/metrics", key: service.admin });
    expect(text).toContain('svc_check_status{check="plain"} 0');
    expect(text).toContain('svc_check_status{check="vital"} 2');
    expect(text).toMatch(/svc_check_duration_seconds_count\{check="vital"\} [3-9]/);
    const changes = service.logLines().filter(({ msg, check }) => msg === "check changed" && check === "vital");
    expect(changes).toMatchObject([{ status: "fail", message: "vital is fail" }]);
  });

  it("continue while the history cannot be written, which is logged once", async () => {
    service.checkHistory.fault = new Error("database or disk is full");
    await service.clock.advance(180_000);
    expect((await get("/health/checks/plain")).json).toMatchObject({ status: "pass", consecutive_failures: 0 });
    expect(service.checks.plain.runs()).toBeGreaterThan(2);
    expect(service.logLines().filter(({ msg }) => msg === "cannot read or write the history of checks")).toHaveLength(
      1,
    );
  });
});
