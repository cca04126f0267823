import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { groupMs } from "#domain/notifications/grouping.ts";
import { NotificationFailed } from "#domain/ports/notifications.ts";
import { createFakeCalendar } from "../fakes/calendar.ts";
import { createFakeProbe, type FakeProbe } from "../fakes/probe.ts";
import { send, startTestService, type TestRequest, type TestService } from "./harness.ts";

let service: TestService;
/** A component that settings add. */
let website: FakeProbe;
beforeEach(async () => {
  website = createFakeProbe();
  service = await startTestService({
    addedProbes: { website: website.probe },
    notifyFrom: { plain: "fail", vital: "fail" },
  });
});
afterEach(() => service.app.close());

const ask = (path: string, request: Partial<TestRequest> = {}) =>
  send(service, { path: `/api/v1${path}`, key: service.admin, ...request });
const post = (path: string, body: unknown, request: Partial<TestRequest> = {}) =>
  ask(path, { method: "POST", body, ...request });

const minuteMs = 60_000;
const titles = (channel: "chat" | "email") => service.notifiers[channel].taken.map(({ title }) => title);
const unwell = { healthy: false, expected: true, reason: "it answers 500" };
const well = { healthy: true, expected: true };

describe("a component of the settings", () => {
  it("is in the health status, in the metrics, and reported by chat and mail when it changes", async () => {
    expect((await ask("/health")).json).toMatchObject({ status: "healthy", components: { website: true, ops: true } });
    website.result = unwell;
    await service.clock.advance(30_000);
    expect((await ask("/health")).json).toMatchObject({
      status: "degraded",
      components: { website: false, ops: true },
    });
    const { text } = await send(service, { path: "/metrics", from: "127.0.0.1" });
    expect(text).toContain('svc_component_up{component="website"} 0');
    expect(text).toContain('svc_component_up{component="ops"} 1');
    expect(text).toContain('svc_notifications_total{channel="chat",outcome="sent"} 1');
    website.result = well;
    await service.clock.advance(30_000);
    for (const channel of ["chat", "email"] as const)
      expect(titles(channel)).toEqual([
        "website is unhealthy on host.example.org",
        "website is healthy again on host.example.org",
      ]);
    expect(service.notifiers.chat.taken[0]?.facts).toContainEqual(["Reason", "it answers 500"]);
  });

  it("of the service itself is reported as well", async () => {
    service.probes.security.result = { healthy: false, expected: true, reason: "the cannot write the audit log" };
    await service.clock.advance(30_000);
    expect(titles("email")).toEqual(["security is unhealthy on host.example.org"]);
  });
});

describe("GET /alerts", () => {
  it("lists the four alerts of the contract", async () => {
    const { json } = await ask("/alerts");
    expect(json).toEqual({
      ...{ total: 4, limit: null, next_cursor: null },
      firing: 0,
      alerts: [
        expect.objectContaining({
          name: "HighCPUUsage",
          severity: "warning",
          state: "inactive",
          value: 10,
          for_seconds: 300,
        }),
        expect.objectContaining({ name: "HighMemoryUsage", severity: "warning", threshold: 85 }),
        expect.objectContaining({ name: "DiskSpaceLow", severity: "critical", threshold: 90 }),
        {
          name: "ServiceDown",
          severity: "critical",
          condition: "the service's scrape target is down",
          threshold: 0,
          for_seconds: 60,
          state: "not_evaluated",
          evaluated_by: "systemd",
          since: null,
          value: null,
          silenced: false,
        },
      ],
    });
  });

  it("shows which alert fires and since when, and mail reports it", async () => {
    service.usage.cpu = 97;
    await service.clock.advance(5 * minuteMs + 15_000);
    expect((await ask("/alerts")).json).toMatchObject({
      firing: 1,
      alerts: [{ state: "firing", value: 97 }, {}, {}, {}],
    });
    await service.clock.advance(30_000);
    expect(titles("email")).toEqual(["[firing] HighCPUUsage (warning) on host.example.org"]);
    expect(titles("chat")).toEqual([]);
  });
});

describe("silences", () => {
  const wanted = { alert: "HighCPUUsage", until: "2026-01-01T02:00:00Z", comment: "a <b>big</b> build" };

  it("are made, listed, suppress notifications, and are removed", async () => {
    const made = await post("/alerts/silences", wanted);
    expect(made.status).toBe(201);
    expect(made.json).toEqual({
      id: expect.any(String),
      alert: "HighCPUUsage",
      until: "2026-01-01T02:00:00.000Z",
      comment: "a <b>big</b> build",
      created_at: "2026-01-01T00:00:00.000Z",
      created_by: "test",
    });
    expect((await ask("/alerts/silences")).json).toMatchObject({ silences: [made.json] });
    service.usage.cpu = 97;
    await service.clock.advance(60 * minuteMs);
    expect((await ask("/alerts")).json).toMatchObject({ firing: 1, alerts: [{ silenced: true }, {}, {}, {}] });
    expect(titles("email")).toEqual([]);
    const { id } = made.json as { id: string };
    const removed = await ask(`/alerts/silences/${id}`, { method: "DELETE" });
    expect(removed.json).toMatchObject({ id, success: true });
    expect((await ask(`/alerts/silences/${id}`, { method: "DELETE" })).status).toBe(404);
    await service.clock.advance(5 * minuteMs);
    expect(titles("email")).toEqual(["[firing] HighCPUUsage (warning) on host.example.org"]);
  });

  it("are audited, and a dry run makes none", async () => {
    const dry = await post("/alerts/silences?dry_run=true", wanted);
    expect(dry.json).toMatchObject({
      dry_run: true,
      steps: ["notify nobody of HighCPUUsage until 2026-01-01T02:00:00.000Z"],
    });
    expect((await ask("/alerts/silences")).json).toMatchObject({ silences: [] });
    const { id } = (await post("/alerts/silences", wanted)).json as { id: string };
    await ask(`/alerts/silences/${id}?dry_run=true`, { method: "DELETE" });
    expect(service.alertStore.silences()).toHaveLength(1);
    expect(JSON.stringify(service.audit.entries)).toContain("HighCPUUsage");
  });

  it.each([
    [{ ...wanted, until: "2026-02-01T00:00:00Z" }, "until", "is more than 30 days ahead"],
    [{ ...wanted, until: "2026-01-01T00:00:00Z" }, "until", "is in the past"],
    [{ ...wanted, check: "vital" }, "check", "cannot be given together with alert"],
    [{ until: wanted.until }, "alert", "is missing: an alert, or a check in `check`"],
    [{ until: wanted.until, check: "vitals" }, "check", "is not the id of a health check"],
  ])("are refused: %j", async (body, field, issue) => {
    const { status, json } = await post("/alerts/silences", body);
    expect(status).toBe(400);
    expect(json).toMatchObject({ error: { details: { field, ...(issue !== undefined && { issue }) } } });
  });

  it("take a key for health:fix, which may be narrowed to silences", async () => {
    const reader = service.key(["metrics:read"]);
    expect((await ask("/alerts/silences", { key: reader })).status).toBe(200);
    expect((await post("/alerts/silences", wanted, { key: reader })).status).toBe(403);
    expect((await post("/alerts/silences", wanted, { key: service.key(["health:fix:disk_space"]) })).status).toBe(403);
    expect((await post("/alerts/silences", wanted, { key: service.key(["health:fix:silences"]) })).status).toBe(201);
  });
});

describe("a health check", () => {
  const failing = (check: "plain" | "vital", isFailing = true): void => {
    service.checks[check].finds = isFailing ? "fail" : "pass";
  };

  it("is reported once it has failed three times in a row, and when it has recovered", async () => {
    failing("plain");
    for (const [attempt, type] of [
      [1, "soft"],
      [2, "soft"],
      [3, "hard"],
      [3, "hard"],
    ] as const) {
      const { json } = await ask("/health/checks/plain");
      expect(json).toMatchObject({ state_type: type, attempt, max_attempts: 3 });
      await service.clock.advance(groupMs);
      expect(titles("email")).toHaveLength(type === "hard" ? 1 : 0);
      await service.clock.advance(groupMs);
    }
    failing("plain", false);
    expect((await ask("/health/checks/plain")).json).toMatchObject({ state_type: "hard", attempt: 3 });
    await service.clock.advance(groupMs);
    expect(titles("email")).toEqual([
      "[failed] Check of plain on host.example.org",
      "[recovered] Check of plain on host.example.org",
    ]);
    expect(titles("chat")).toEqual([]);
    const { json } = await ask("/alerts/notifications");
    expect(json).toMatchObject({
      notifications: [{ kind: "check_recovered" }, { kind: "check_failed", subject: "plain" }],
    });
  });

  it("is not reported while it is silenced, and is afterwards", async () => {
    const until = "2026-01-01T04:00:00.000Z";
    const made = await post("/alerts/silences", { check: "vital", until });
    expect(made).toMatchObject({ status: 201, json: { check: "vital", until } });
    expect(made.json).not.toHaveProperty("alert");
    failing("vital");
    await ask("/health/checks/vital");
    expect(titles("email")).toEqual([]);
    const { id } = made.json as { id: string };
    const removed = await ask(`/alerts/silences/${id}`, { method: "DELETE" });
    expect(removed.json).toMatchObject({ message: "vital is no longer silenced" });
    await ask("/health/checks/vital");
    expect(titles("email")).toEqual(["[failed] Check of vital on host.example.org"]);
  });
});

describe("a notified event", () => {
  const facts = () => service.notifiers.email.taken.map(({ title, facts: all }) => [title, Object.fromEntries(all)]);

  it("is the use of an expired key, once an hour, and not of an unknown key", async () => {
    const expired = service.key(["health:read"], service.clock.now() + 1_000);
    await service.clock.advance(1_000);
    for (const key of [expired, expired, `${expired.slice(0, -4)}AAAA`, "sk_unknown"])
      expect((await ask("/health/checks", { key })).status).toBe(401);
    expect(facts()).toEqual([
      [
        expect.stringMatching(/^An expired key was used on host\.example\.org: /),
        expect.objectContaining({ Expired: "2026-01-01T00:00:01.000Z" }),
      ],
    ]);
    expect(JSON.stringify(facts())).not.toContain(expired);
  });

  it("is a changed audit log, once a day", async () => {
    const { audit, clock } = service;
    await clock.advance(10 * minuteMs);
    expect(facts()).toEqual([]);
    audit.broken = { file: "/state/audit/audit-000000000001.log", line: 17, seq: 17, what: "entry 17 was changed" };
    await clock.advance(24 * 60 * minuteMs);
    await expect
      .poll(facts)
      .toEqual([
        [
          "The audit log was changed on host.example.org",
          expect.objectContaining({ Where: "/state/audit/audit-000000000001.log:17", Found: "entry 17 was changed" }),
        ],
      ]);
  });

  it("is an operation that failed", async () => {
    service.packageManager.repository.set("library", { version: "2.1", isSecurity: false });
    service.packageManager.broken.add("library");
    const { json } = await post("/updates/apply", {});
    expect(json).toMatchObject({ success: false });
    await expect
      .poll(facts)
      .toEqual([
        [
          "[failed] updates.apply on host.example.org",
          expect.objectContaining({ Result: (json as { error: string }).error }),
        ],
      ]);
  });
});

describe("a digest of notifications", () => {
  it("is sent at its times", async () => {
    const daily = await startTestService({ digest: createFakeCalendar(24 * 60 * minuteMs) });
    daily.checks.plain.finds = "warn";
    try {
      await daily.clock.advance(24 * 60 * minuteMs);
      await expect
        .poll(() => daily.notifiers.email.taken.map(({ title }) => title))
        .toEqual(["[report] host.example.org: 1 warning"]);
      expect(daily.notifiers.email.taken[0]?.facts).toContainEqual(["plain (warn)", "plain is warn"]);
    } finally {
      await daily.app.close();
    }
  });
});

describe("notifications", () => {
  it("are listed with their outcome, newest first", async () => {
    service.notifiers.email.fault = new NotificationFailed("the mail server says: 550 no", false);
    website.result = unwell;
    await service.clock.advance(30_000);
    const { json } = await ask("/alerts/notifications");
    expect(json).toMatchObject({
      total: 2,
      notifications: [
        { channel: "email", to: ["ops@example.org"], outcome: "failed", error: "the mail server says: 550 no" },
        { channel: "chat", to: [], outcome: "sent", attempts: 1, kind: "component_down", subject: "website" },
      ],
    });
    expect((await ask("/alerts/notifications?limit=1")).json).toMatchObject({ total: 2, notifications: [{}] });
  });

  it("are not sent by a dry run", async () => {
    const { json } = await post("/alerts/notifications/test?dry_run=true", {});
    expect(json).toMatchObject({ steps: ["send a test notification to chat", "send a test notification to email"] });
    expect(service.notifiers.chat.taken).toEqual([]);
  });
});
