import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ErrorBody } from "#contract/error-body.ts";
import type { Operation } from "#contract/operation.ts";
import { isGateable, scopes } from "#contract/scopes.ts";
import type { WindowPlan } from "#domain/access/window-gate.ts";
import type { Calendar } from "#kernel/clock.ts";
import { createFakeCalendar } from "../fakes/calendar.ts";
import { errorWith, send, type TestReply, type TestRequest } from "./harness.ts";
import { type MutableService, mutations, prepareMutation, startMutableService } from "./mutations.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Opens at midnight UTC, when the clock of tests begins. */
const open = createFakeCalendar(dayMs);
const never: Calendar = { latest: () => undefined, next: () => undefined };

const window = (
  name: string,
  { calendar = open, ...rest }: Partial<WindowPlan> & { calendar?: Calendar } = {},
): WindowPlan => ({
  name,
  cron: "0 0 * * *",
  timezone: "UTC",
  allow: [],
  deny: [],
  isSilent: false,
  times: { calendar, durationMs: hourMs, delayMs: 0 },
  ...rest,
});

const firstOpening = Date.parse("2026-01-02T00:00:00Z");
/** Opens at midnight UTC, from tomorrow on. */
const later: Calendar = {
  latest: (at) => (at < firstOpening ? undefined : open.latest(at)),
  next: (at) => (at < firstOpening ? firstOpening : open.next(at)),
};
const tomorrow = "2026-01-02T00:00:00.000Z";

let service: MutableService;
beforeEach(async () => {
  service = await startMutableService();
});
afterEach(() => service.app.close());

const set = (...windows: WindowPlan[]): void => service.service.replaceWindows(windows);
const errorOf = ({ json }: TestReply) => (json as ErrorBody).error;
const restart = (rest: Partial<TestRequest> = {}) =>
  send(service, { method: "POST", path: "/api/v1/system/services/cron/restart", key: service.admin, ...rest });
const override = (reason: string) => ({ headers: { "x-window-override": reason } });
const dry = (request: TestRequest): TestRequest => ({ ...request, path: `${request.path}?dry_run=true` });

/** What a window can hold a mutation back by: its scopes, and those of the fix or call behind it. */
const neededBy = (name: string, { scope, alsoNeeds = [], doesMore }: Operation): readonly string[] => {
  const needed = [scope, ...alsoNeeds];
  // It takes the scope that it took to begin the operation.
  if (name === "cancelOperation") needed.push("updates:apply");
  // The call that is approved here renames the host.
  if (doesMore === "approved") needed.push("system:hostname");
  const ofFixes = doesMore === "fix" ? service.fixes.repair.alsoNeeds : [];
  return [...new Set([...needed, ...ofFixes])].filter((each) =>
    scopes.some((known) => known === each && isGateable(known)),
  );
};

describe.each(mutations)("windows and %s", (name, operation) => {
  it("hold it back by each scope that it needs, and by no other", async () => {
    const holding: string[] = [];
    for (const scope of scopes.filter(isGateable)) {
      set();
      const request = await prepareMutation(service, name);
      set(window("freeze", { deny: [scope] }));
      const { status, json } = await send(service, { ...dry(request), key: service.admin });
      expect([name, scope, status]).toEqual([name, scope, 200]);
      if ("outside_window" in (json as object)) holding.push(scope);
    }
    expect(holding.sort()).toEqual([...neededBy(name, operation)].sort());
  });

  it("refuse it outside, allow it inside, plan it in both, and are overridden only with the scope and a reason", async () => {
    const needed = neededBy(name, operation);
    const [scope] = needed;
    if (scope === undefined) {
      // Anyone who may make a token or a code of a key has it already; a sign-out or the removal of a passkey is never held back, and nobody is kept from holding back.
      expect(["createToken", "createCode", "endSession", "removePasskey", "deny", "cancelApproval"]).toContain(name);
      return;
    }
    const all = scopes.filter((each) => each !== "windows:override");
    const elsewhere = "windows:override@db-*";
    const without = service.key([...all, elsewhere]);
    const prepared = async (...windows: WindowPlan[]): Promise<TestRequest> => {
      set();
      const request = await prepareMutation(service, name);
      set(...windows);
      return request;
    };
    const call = async (held: WindowPlan, rest: Partial<TestRequest> = {}) =>
      send(service, { ...(await prepared(held)), key: service.admin, ...rest });
    const refusal = errorWith("CONFLICT", {
      reason: "outside_window",
      window: "freeze",
      next_window: "2026-01-01T01:00:00.000Z",
    });

    const freeze = window("freeze", { deny: [scope] });
    const forbidden = await call(freeze);
    expect([name, forbidden.status]).toEqual([name, 409]);
    expect(forbidden.json).toMatchObject(refusal);
    const planned = await send(service, { ...dry(await prepared(freeze)), key: without });
    expect(planned.json).toMatchObject({
      dry_run: true,
      outside_window: {
        window: "freeze",
        next_window: "2026-01-01T01:00:00.000Z",
        message: errorOf(forbidden).message,
      },
    });
    const denied = await call(freeze, { key: without, ...override("it burns") });
    expect([denied.status, errorOf(denied)]).toMatchObject([
      403,
      {
        message: `cannot override the window freeze: this key lacks the scope windows:override on this host: it has ${elsewhere}`,
        details: { required_scope: "windows:override" },
      },
    ]);

    const outside = await call(window("night", { calendar: later, allow: [scope] }));
    expect([name, outside.status]).toEqual([name, 409]);
    expect(outside.json).toMatchObject({ error: { details: { window: "night", next_window: tomorrow } } });
    expect(service.audit.entries.at(-1)).toMatchObject({ operation: name, outcome: "refused", error: "CONFLICT" });

    const inside = await call(window("night", { allow: [scope] }));
    expect([name, inside.status < 300]).toEqual([name, true]);

    const overridden = await call(window("night", { calendar: later, allow: [...needed] }), override("it burns"));
    expect([name, overridden.status < 300]).toEqual([name, true]);
    expect(service.audit.entries.filter((each) => each.operation === name).at(-1)).toMatchObject({
      outcome: "ok",
      target: { window: "night", window_override: "it burns" },
    });
  });
});

describe("maintenance windows", () => {
  it("never hold back a read", async () => {
    set(window("freeze", { deny: ["admin"] }));
    for (const path of [
      "/system/info",
      "/system/services",
      "/health",
      "/alerts",
      "/auth/whoami",
      "/auth/keys",
      "/plugins",
    ])
      expect([path, (await send(service, { path: `/api/v1${path}`, key: service.admin })).status]).toEqual([path, 200]);
  });

  it("are checked after authentication and scopes", async () => {
    set(window("freeze", { deny: ["services:restart"] }));
    expect((await restart({ key: "hello", from: "198.51.100.1" })).status).toBe(401);
    expect((await restart({ key: service.key(["system:read"]), ...override("x") })).status).toBe(403);
  });

  it("may name packages of the body", async () => {
    set(window("freeze", { deny: ["packages:install:viewer"] }));
    const install = async (packages: readonly string[]) =>
      send(service, {
        ...dry(await prepareMutation(service, "installPackages")),
        key: service.admin,
        body: { packages },
      });
    expect((await install(["viewer"])).json).toMatchObject({ outside_window: { window: "freeze" } });
    set(window("freeze", { deny: ["packages:install:other"] }));
    expect((await install(["viewer"])).json).not.toHaveProperty("outside_window");
  });

  it("refuse an override without a readable reason, also where nothing is held back", async () => {
    for (const windows of [[], [window("freeze", { deny: ["services:restart"] })]]) {
      set(...windows);
      for (const reason of ["", " ", "   ", "a\tb", "x".repeat(201), "über"]) {
        const reply = await restart(override(reason));
        expect([reason, reply.status, errorOf(reply).details]).toMatchObject([
          reason,
          400,
          { field: "X-Window-Override" },
        ]);
      }
    }
    expect((await restart(override("x".repeat(200)))).status).toBe(200);
    // Nothing was overridden where nothing was held back.
    set();
    expect((await restart(override("for nothing"))).status).toBe(200);
    expect(service.audit.entries.at(-1)?.target).not.toHaveProperty("window_override");
  });

  it("keep what looks like a key out of the audit log", async () => {
    set(window("freeze", { deny: ["services:restart"] }));
    expect((await restart(override(`with ${service.admin}`))).status).toBe(200);
    expect(JSON.stringify(service.audit.entries)).not.toContain(service.admin.slice(13));
  });

  it("are not in the plan of a call that overrides them", async () => {
    set(window("freeze", { deny: ["services:restart"] }));
    const path = "/api/v1/system/services/cron/restart?dry_run=true";
    expect((await restart({ path, ...override("soon") })).json).not.toHaveProperty("outside_window");
    const key = service.key(["services:restart"]);
    expect((await restart({ path, key, ...override("soon") })).json).toHaveProperty("outside_window");
    expect(service.units.actions).toEqual([]);
  });

  it("leave the answer to an earlier request with the same idempotency key as it was", async () => {
    set(window("night", { allow: ["services:restart"] }));
    const again = { headers: { "idempotency-key": "restart-1" } };
    const first = await restart(again);
    expect(first.status).toBe(200);
    await service.clock.advance(2 * hourMs);
    const replay = await restart(again);
    expect([replay.status, replay.headers["idempotent-replayed"], replay.text]).toEqual([200, "true", first.text]);
    expect((await restart()).status).toBe(409);
    // A refusal is not kept: the repetition is carried out once the window is open.
    const refused = { headers: { "idempotency-key": "restart-2" } };
    expect((await restart(refused)).status).toBe(409);
    await service.clock.advance(22 * hourMs);
    expect((await restart(refused)).status).toBe(200);
    expect(service.units.actions).toEqual(["restart cron.service", "restart cron.service"]);
  });

  it("let an operation that was started inside end", async () => {
    set(window("night", { allow: ["updates:apply"] }));
    const request = await prepareMutation(service, "applyUpdates");
    const started = await send(service, { ...request, key: service.admin, headers: { prefer: "respond-async" } });
    expect(started.status).toBe(202);
    await service.clock.advance(2 * hourMs);
    const { id } = started.json as { id: string };
    const { json } = await send(service, { path: `/api/v1/operations/${id}`, key: service.admin });
    expect(json).toMatchObject({ status: "done" });
    expect(
      (await send(service, { ...(await prepareMutation(service, "applyUpdates")), key: service.admin })).status,
    ).toBe(409);
  });

  it("suppress notifications while a silent one is open, and are listed as silences", async () => {
    set(window("quiet", { isSilent: true }), window("loud"), window("later", { isSilent: true, calendar: later }));
    const list = () => send(service, { path: "/api/v1/alerts/silences", key: service.admin });
    const silence = { id: "window:quiet", window: "quiet", until: "2026-01-01T01:00:00.000Z", created_by: "settings" };
    expect((await list()).json).toMatchObject({ silences: [silence], total: 1 });
    const one = { path: "/api/v1/alerts/silences/window:quiet", key: service.admin };
    expect((await send(service, one)).json).toMatchObject(silence);
    const removed = await send(service, { ...one, method: "DELETE" });
    expect([removed.status, errorOf(removed).message]).toEqual([404, expect.stringContaining("ends with the window")]);
    const alerts = await send(service, { path: "/api/v1/alerts", key: service.admin });
    expect(alerts.json).toMatchObject({
      alerts: expect.arrayContaining([expect.objectContaining({ silenced: true })]),
    });
    await service.clock.advance(hourMs);
    expect((await list()).json).toMatchObject({ silences: [], total: 0 });
  });

  it("are listed with their settings and times", async () => {
    set(
      window("night", { allow: ["operator"], deny: ["system:reboot"] }),
      window("day", { calendar: later, timezone: undefined, isSilent: true }),
      window("never", { calendar: never }),
    );
    const { json } = await send(service, { path: "/api/v1/system/windows", key: service.key(["system:read"]) });
    expect(json).toEqual({
      windows: [
        {
          name: "night",
          open: true,
          opened_at: "2026-01-01T00:00:00.000Z",
          closes_at: "2026-01-01T01:00:00.000Z",
          opens_next_at: tomorrow,
          cron: "0 0 * * *",
          timezone: "UTC",
          duration_seconds: 3600,
          delay_seconds: 0,
          allow: ["operator"],
          deny: ["system:reboot"],
          silence: false,
        },
        expect.objectContaining({ name: "day", open: false, closes_at: null, opens_next_at: tomorrow, timezone: null }),
        expect.objectContaining({ name: "never", open: false, opened_at: null, opens_next_at: null }),
      ],
      total: 3,
      limit: null,
      next_cursor: null,
    });
  });
});
