import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { UpdateRefused } from "#domain/ports/packages.ts";
import { createFakeFileSystems, fakeFileSystem } from "../fakes/file-systems.ts";
import { fakePackage } from "../fakes/package-manager.ts";
import { createFakeSnapshotBackend } from "../fakes/snapshot-backend.ts";
import { fakeStaleProcess } from "../fakes/stale-code.ts";
import { fakeCondition } from "./conditions.ts";
import { send, startTestService, type TestReply, type TestService } from "./harness.ts";

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});
afterEach(() => service.app.close());

const get = (path: string): Promise<TestReply> => send(service, { path: `/api/v1${path}`, key: service.admin });
const post = (path: string, rest: { body?: unknown; headers?: Record<string, string>; key?: string } = {}) =>
  send(service, { method: "POST", path: `/api/v1${path}`, key: service.admin, ...rest });

/** One security update and two others. */
function offerThree(): void {
  const { repository } = service.packageManager;
  repository.set("editor", { version: "1.1", isSecurity: false });
  repository.set("library", { version: "2.1", isSecurity: true });
  repository.set("server", { version: "3.1", isSecurity: false });
}
const versions = () =>
  Object.fromEntries([...service.packageManager.packages].map(([name, { version }]) => [name, version]));
const old = { editor: "1.0", library: "2.0", server: "3.0" };
const fresh = { editor: "1.1", library: "2.1", server: "3.1" };

describe("GET /updates/check", () => {
  it("reports available updates from the lists as they are", async () => {
    offerThree();
    const held = service.packageManager.packages.get("server");
    if (held !== undefined) service.packageManager.packages.set("server", { ...held, isHeld: true });
    service.packageManager.listsAt = service.clock.now() - 90_000;
    const { status, json } = await get("/updates/check");
    expect([status, json]).toEqual([
      200,
      {
        system: { available: false, version: "", release_date: "", is_security: false, changelog: "" },
        packages: {
          total: 2,
          security: 1,
          updates: [
            { name: "editor", architecture: "amd64", current_version: "1.0", new_version: "1.1", is_security: false },
            { name: "library", architecture: "amd64", current_version: "2.0", new_version: "2.1", is_security: true },
          ],
        },
        held: ["server"],
        package_manager: "apt",
        security_known: true,
        checked_at: "2025-12-31T23:58:30.000Z",
        cache_age_seconds: 90,
        requires_reboot: false,
        requires_restart: [],
      },
    ]);
    expect(service.packageManager.refreshes()).toBe(0);
  });

  it("refreshes the lists on request, and reports a newer release", async () => {
    service.packageManager.newRelease = {
      version: "12.9",
      releaseDate: "2025-12-20",
      isSecurity: false,
      changelog: "news",
    };
    expect((await get("/updates/check?refresh=true")).json).toMatchObject({
      system: { available: true, version: "12.9", release_date: "2025-12-20", is_security: false, changelog: "news" },
    });
    expect(service.packageManager.refreshes()).toBe(1);
  });

  it("updates the metrics of available and security updates", async () => {
    offerThree();
    const metrics = async () => (await send(service, { path: "/metrics", key: service.admin })).text;
    expect(await metrics()).not.toContain("svc_updates_available{");
    await get("/updates/check");
    expect(await metrics()).toContain('svc_updates_available{kind="all"} 3');
    expect(await metrics()).toContain('svc_updates_available{kind="security"} 1');
  });

  it("audits each refresh with its result, and no plain check", async () => {
    const key = service.key(["updates:read"]);
    const check = (query: string) => send(service, { path: `/api/v1/updates/check${query}`, key });
    await check("?refresh=true");
    service.packageManager.lockedBy = { pid: 7, program: "apt-get" };
    await check("?refresh=true");
    await check("?refresh=false");
    await check("");
    const [, keyId] = key.split("_");
    const entry = { operation: "checkUpdates", key_id: keyId, target: { refresh: "true" }, dry_run: false };
    expect(service.audit.entries).toMatchObject([
      { ...entry, status: 200 },
      { ...entry, status: 503 },
    ]);
  });
});

describe("GET /updates/check of repositories that do not answer", () => {
  it("says which, without the password in its address", async () => {
    const refresh = () => Promise.reject(new Error("Failed to fetch http://me:secret@mirror.example/InRelease"));
    Object.assign(service.packageManager.lists, { refresh });
    const { status, json } = await get("/updates/check?refresh=true");
    expect([status, json]).toMatchObject([
      503,
      {
        error: {
          code: "UNAVAILABLE",
          message: "cannot bring the lists up to date: Failed to fetch http://mirror.example/InRelease",
          details: { missing: "package lists", retryable: true },
        },
      },
    ]);
  });
});

describe("POST /updates/apply", () => {
  it("takes a snapshot, updates, and reports what it did", async () => {
    offerThree();
    service.packageManager.requiresReboot = true;
    const { status, json } = await post("/updates/apply", { body: { type: "packages", security_only: false } });
    expect([status, json]).toEqual([
      200,
      {
        success: true,
        snapshot_id: "20260101-000000",
        packages_updated: 3,
        requires_reboot: true,
        operation_id: "operation-1",
        packages: [
          { name: "editor", from: "1.0", to: "1.1" },
          { name: "library", from: "2.0", to: "2.1" },
          { name: "server", from: "3.0", to: "3.1" },
        ],
        requires_restart: [],
        error: null,
      },
    ]);
    expect(versions()).toEqual(fresh);
    expect((await get("/updates/snapshots")).json).toMatchObject({
      snapshots: [{ id: "20260101-000000", kind: "before_update", backend: "packages", packages_count: 3 }],
    });
  });

  it.each([
    [{ security_only: true }, { ...old, library: "2.1" }],
    [{ packages: ["editor"] }, { ...old, editor: "1.1" }],
    [{}, fresh],
  ])("applies with %j just what was asked for", async (body, expected) => {
    offerThree();
    expect((await post("/updates/apply", { body })).json).toMatchObject({ success: true });
    expect(versions()).toEqual(expected);
  });

  it("shows the exact plan on a dry run, and changes nothing", async () => {
    offerThree();
    const { status, json } = await post("/updates/apply?dry_run=true", { body: { security_only: true, guard: true } });
    expect([status, json]).toEqual([
      200,
      {
        dry_run: true,
        steps: [
          "take a snapshot",
          "update library from 2.0 to 2.1",
          "watch checks and units, and roll back if one is worse",
        ],
        units: [],
        packages: ["library"],
        bytes: 1000,
        requires_reboot: false,
        plan_token: expect.any(String),
        plan_expires_at: expect.any(String),
        rollback: "full",
        rollback_lacks: [],
      },
    ]);
    expect(versions()).toEqual(old);
    expect((await get("/operations")).json).toMatchObject({ operations: [], total: 0 });
  });

  it("rolls a guarded update back by itself when the host is worse than before", async () => {
    offerThree();
    service.becomes(() =>
      fakeCondition({ units: { "server.service": versions()["server"] === "3.1" ? "failed" : "active" } }),
    );
    expect((await post("/updates/apply", { body: { guard: true } })).json).toMatchObject({
      success: false,
      packages_updated: 0,
      guard: {
        outcome: "rolled_back",
        worse: ["unit server.service: was active (running), now failed, result exit-code"],
        restarted: [],
        remaining: [],
      },
    });
    expect(versions()).toEqual(old);
  });

  it("refuses what the package manager cannot tell, and a guard without a way back", async () => {
    for (const [body, field] of [
      [{ guard: true, create_snapshot: false }, "guard"],
      [{ packages: ["nothing"] }, "packages"],
    ] as const) {
      const { status, json } = await post("/updates/apply", { body });
      expect([body, status]).toEqual([body, 400]);
      expect(json).toMatchObject({ error: { details: { field: expect.stringContaining(field) } } });
    }
    const manager = {
      ...service.packageManager,
      name: "pacman",
      capabilities: { ...service.packageManager.capabilities, knowsSecurity: false },
    } as const;
    const other = await startTestService({
      hostUpdates: () => Promise.resolve({ manager, backend: createFakeSnapshotBackend() }),
    });
    const path = "/api/v1/updates/apply";
    const body = { security_only: true, guard: true, create_snapshot: false };
    const reply = await send(other, { method: "POST", path, key: other.admin, body });
    const first = { field: "security_only", issue: "pacman does not distinguish security updates from others" };
    const second = { field: "guard", issue: "A guarded update needs a snapshot to return to" };
    expect([reply.status, reply.json]).toMatchObject([
      400,
      { error: { details: { ...first, faults: [first, second] } } },
    ]);
    await other.app.close();
  });

  it("says what the snapshot could not return, and refuses only where a full rollback is required", async () => {
    offerThree();
    service.snapshots.nowhere.add("server");
    const plan = await post("/updates/apply?dry_run=true");
    expect(plan.json).toMatchObject({
      steps: expect.arrayContaining(["take a snapshot, which cannot return server 3.0"]),
      rollback: "partial",
      rollback_lacks: ["server"],
    });
    for (const body of [{ guard: true }, { create_snapshot: "required" }]) {
      const refused = await post("/updates/apply?dry_run=true", { body });
      expect(refused).toMatchObject({
        status: 503,
        json: { error: { message: expect.stringContaining("server 3.0"), details: { packages: ["server"] } } },
      });
      expect(await post("/updates/apply", { body })).toMatchObject({
        status: 503,
        json: { error: { message: "cannot take the snapshot: server 3.0 is nowhere; nothing was changed" } },
      });
      expect(versions()).toEqual(old);
    }
    expect((await post("/updates/apply")).json).toMatchObject({ success: true });
    expect((await get("/updates/snapshots")).json).toMatchObject({
      snapshots: [{ rollback: "partial", rollback_lacks: ["server"] }],
    });
    expect(service.snapshots.kept).toEqual(["editor 1.1", "library 2.1", "server 3.1"]);
    const { json } = await get("/updates/snapshots");
    const path = `/updates/rollback/${(json as { snapshots: readonly { id: string }[] }).snapshots[0]?.id}?dry_run=true`;
    expect(await post(path)).toMatchObject({ status: 503, json: { error: { details: { packages: ["server"] } } } });
    expect((await post(path, { body: { partial: true } })).json).toMatchObject({
      packages: ["editor", "library"],
      rollback: "partial",
      reason: "not returned to, since their files are not available: server 3.0",
    });
  });

  it("is refused on a dry run too without space for it", async () => {
    const other = await startTestService({
      fileSystems: createFakeFileSystems([fakeFileSystem({ path: "/", freeBytes: 1000 })]),
    });
    other.packageManager.repository.set("editor", { version: "1.1", isSecurity: false });
    const request = { method: "POST", key: other.admin, body: {} } as const;
    for (const query of ["?dry_run=true", ""]) {
      const { status, json } = await send(other, { ...request, path: `/api/v1/updates/apply${query}` });
      expect([status, json]).toMatchObject([
        503,
        { error: { message: expect.stringMatching(/^cannot update: \/ has /), details: { missing: "disk space" } } },
      ]);
    }
    await other.app.close();
  });

  it("names the running operation before it inspects packages that are being changed", async () => {
    offerThree();
    service.packageManager.hangs = true;
    await post("/updates/apply", { headers: { prefer: "respond-async" } });
    await expect.poll(() => service.packageManager.started).toEqual(["operation-1"]);
    const halfWay = () => Promise.reject(new UpdateRefused("dependencies cannot be met"));
    Object.assign(service.packageManager, { plan: halfWay });
    const { status, json } = await post("/updates/apply");
    expect([status, json]).toMatchObject([409, { error: { details: { operation_id: "operation-1" } } }]);
  });

  it("with a plan token is simulated once by the service, which plans it again, and once by its task", async () => {
    offerThree();
    const { plan: simulate } = service.packageManager;
    let simulations = 0;
    Object.assign(service.packageManager, {
      plan(...asked: Parameters<typeof simulate>) {
        simulations += 1;
        return simulate(...asked);
      },
    });
    const plan = (await post("/updates/apply?dry_run=true")).json as { readonly plan_token: string };
    expect(simulations).toBe(1);
    const { status } = await post("/updates/apply", { headers: { "x-plan-token": plan.plan_token } });
    expect([status, simulations, versions()]).toEqual([200, 3, fresh]);
  });

  it("says on a dry run whether a reboot completes it", async () => {
    offerThree();
    service.packageManager.packages.set("libc6", fakePackage("libc6", "1"));
    service.packageManager.repository.set("libc6", { version: "2", isSecurity: true });
    const plan = (names: readonly string[]) => post("/updates/apply?dry_run=true", { body: { packages: names } });
    expect((await plan(["libc6"])).json).toMatchObject({ requires_reboot: true });
    expect((await plan(["editor"])).json).toMatchObject({ requires_reboot: false });
  });

  it("is audited with its operation", async () => {
    offerThree();
    await post("/updates/apply");
    expect(service.audit.entries).toMatchObject([
      { operation: "operation.ended", operation_id: "operation-1", target: { kind: "updates.apply" }, outcome: "ok" },
      { operation: "applyUpdates", operation_id: "operation-1", status: 200 },
    ]);
  });
});

describe("Prefer: respond-async", () => {
  it("answers with the address of the operation, where the result is found later", async () => {
    offerThree();
    const reply = await post("/updates/apply", { headers: { prefer: "respond-async" } });
    expect(reply.status).toBe(202);
    expect(reply.headers).toMatchObject({
      location: "/api/v1/operations/operation-1",
      "preference-applied": "respond-async",
    });
    expect(reply.json).toMatchObject({ id: "operation-1", kind: "updates.apply", status: "queued", result: null });
    await expect.poll(() => versions()).toEqual(fresh);
    await expect
      .poll(async () => (await get("/operations/operation-1")).json)
      .toMatchObject({
        status: "done",
        progress: { percent: 100 },
        result: { success: true, packages_updated: 3 },
        error: null,
        log: ["changed editor", "changed library", "changed server"],
      });
    expect((await get("/operations?status=done")).json).toMatchObject({
      total: 1,
      operations: [{ id: "operation-1" }],
    });
    expect((await get("/operations?status=failed")).json).toMatchObject({ total: 0 });
  });

  it("with wait=N answers with the result where it is there in time, else with the address", async () => {
    offerThree();
    service.launcher.fault = undefined;
    const inTime = await post("/updates/apply", { headers: { prefer: "respond-async, wait=10" } });
    expect([inTime.status, inTime.headers["preference-applied"]]).toEqual([200, "respond-async, wait=10"]);
    expect(inTime.json).toMatchObject({ success: true, packages_updated: 3 });
    offerThree();
    const atOnce = await post("/updates/apply", { headers: { prefer: "wait=0" } });
    expect([atOnce.status, atOnce.headers["preference-applied"]]).toEqual([202, "wait=0"]);
    expect(atOnce.headers["location"]).toMatch(/^\/api\/v1\/operations\/operation-\d+$/);
    const planned = await post("/updates/apply?dry_run=true", { headers: { prefer: "respond-async, wait=10" } });
    expect([planned.status, planned.headers["preference-applied"]]).toEqual([200, undefined]);
  });

  it("is ignored where nothing outlives its request", async () => {
    expect((await post("/system/services/cron/restart", { headers: { prefer: "respond-async" } })).status).toBe(200);
  });
});

describe("Idempotency-Key", () => {
  it("is refused for another request and in a malformed form, and is not shared between keys", async () => {
    offerThree();
    const headers = { "idempotency-key": "one" };
    await post("/updates/apply", { headers, body: { security_only: true } });
    const other = await post("/updates/apply", { headers, body: {} });
    expect([other.status, other.json]).toMatchObject([400, { error: { details: { field: "Idempotency-Key" } } }]);
    const foreign = await post("/updates/apply", { headers, key: service.key(["updates:apply"]) });
    expect(foreign.json).toMatchObject({ operation_id: "operation-2", packages_updated: 2 });
    const malformed = { "idempotency-key": "x".repeat(256) };
    expect((await post("/system/services/cron/restart", { headers: malformed })).status).toBe(400);
  });

  it("finds the failed operation again, and never begins a second one", async () => {
    offerThree();
    const headers = { "idempotency-key": "one" };
    service.packageManager.lockedBy = { pid: 7, program: "apt-get" };
    expect((await post("/updates/apply", { headers, body: { create_snapshot: false } })).status).toBe(503);
    service.packageManager.lockedBy = undefined;
    const again = await post("/updates/apply", { headers, body: { create_snapshot: false } });
    // The operation is the one that failed: it was started under this key, and is never started twice.
    expect(again.json).toMatchObject({ error: { details: { operation_id: "operation-1" } } });
    expect(service.packageManager.started).toEqual([]);
  });
});

describe("snapshots", () => {
  const take = async (): Promise<string> => {
    const { json } = await post("/updates/snapshots", { body: { description: "before I try something" } });
    return (json as { id: string }).id;
  };

  it("are taken, listed newest first, compared and deleted", async () => {
    const made = await post("/updates/snapshots", { body: { description: "before I try something" } });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({
      description: "before I try something",
      kind: "manual",
      protected: false,
      packages_count: 3,
      created_at: expect.stringMatching(/^2026-01-01T00:00:/),
    });
    const { id } = made.json as { id: string };
    offerThree();
    await post("/updates/apply", { body: { security_only: true } });
    const listed = (await get("/updates/snapshots")).json as { snapshots: readonly { id: string; kind: string }[] };
    expect(listed.snapshots.map(({ kind }) => kind)).toEqual(["before_update", "manual"]);
    expect((await get(`/updates/snapshots/${id}/diff`)).json).toEqual({
      snapshot_id: id,
      packages: [{ name: "library", from: "2.0", to: "2.1" }],
      files: [],
    });
    const path = `/api/v1/updates/snapshots/${id}`;
    const request = { method: "DELETE", path, key: service.admin } as const;
    expect((await send(service, { ...request, path: `${path}?dry_run=true` })).json).toMatchObject({
      steps: [`delete the snapshot ${id}`],
    });
    expect((await send(service, request)).json).toEqual({
      success: true,
      message: `snapshot ${id} deleted`,
      snapshot_id: id,
    });
    expect((await send(service, request)).status).toBe(404);
  });

  it("are returned to, behind a safety snapshot", async () => {
    const id = await take();
    offerThree();
    await post("/updates/apply", { body: { create_snapshot: false } });
    const plan = await post(`/updates/rollback/${id}?dry_run=true`);
    expect(plan.json).toMatchObject({
      steps: [
        "verify the snapshot",
        "take a safety snapshot",
        "return editor from 1.1 to 1.0",
        "return library from 2.1 to 2.0",
        "return server from 3.1 to 3.0",
      ],
    });
    expect(versions()).toEqual(fresh);
    const { status, json } = await post(`/updates/rollback/${id}`);
    expect([status, json]).toMatchObject([
      200,
      { success: true, snapshot_id: id, packages_changed: 3, requires_reboot: false, files_restored: 0 },
    ]);
    expect(versions()).toEqual(old);
    const { safety_snapshot_id: safety } = json as { safety_snapshot_id: string };
    expect((await post(`/updates/rollback/${safety}`)).json).toMatchObject({ success: true });
    expect(versions()).toEqual(fresh);
  });

  it("refuse to downgrade what does not survive it, unless it is named", async () => {
    const { packages, repository } = service.packageManager;
    packages.set("mysql-server-8.0", fakePackage("mysql-server-8.0", "8.0.35-1"));
    repository.set("mysql-server-8.0", { version: "8.0.36-1", isSecurity: true });
    const { json: plan } = await post("/updates/apply?dry_run=true", { body: { guard: true } });
    expect(plan).toMatchObject({ steps: expect.arrayContaining([expect.stringContaining("because of mysql-server")]) });
    const applied = await post("/updates/apply");
    const { snapshot_id: id } = applied.json as { snapshot_id: string };
    const refusal = {
      error: {
        code: "CONFLICT",
        message: expect.stringContaining("mysql-server-8.0 from 8.0.36-1 to 8.0.35-1 (MySQL upgrades"),
        details: { packages: [expect.objectContaining({ name: "mysql-server-8.0" })], retryable: false },
      },
    };
    const query = `/updates/rollback/${id}`;
    expect((await post(`${query}?dry_run=true`)).json).toMatchObject(refusal);
    expect((await post(query)).json).toMatchObject(refusal);
    expect(versions()).toMatchObject({ "mysql-server-8.0": "8.0.36-1" });
    const body = { allow_downgrade: ["mysql-server-8.0"] };
    expect((await post(query, { body })).json).toMatchObject({ success: true });
    expect(versions()).toMatchObject({ "mysql-server-8.0": "8.0.35-1" });
  });

  it("that are damaged are refused before anything is touched", async () => {
    const id = await take();
    offerThree();
    await post("/updates/apply", { body: { create_snapshot: false } });
    service.snapshots.damaged.add(id);
    expect((await post(`/updates/rollback/${id}`)).json).toMatchObject({
      error: { code: "UNAVAILABLE", message: expect.stringContaining("nothing was touched") },
    });
    expect(versions()).toEqual(fresh);
  });

  it.each(["nothing", "..", "20260101-000000%00", "%2e%2e%2fetc", "-rf", "20990101-000000"])(
    "are not found by %s",
    async (id) => {
      expect((await post(`/updates/rollback/${id}`)).status).toBe(404);
      expect((await get(`/updates/snapshots/${id}/diff`)).status).toBe(404);
    },
  );
});

describe("what still runs replaced code", () => {
  beforeEach(() => {
    service.staleCode.processes = [fakeStaleProcess("cron.service"), fakeStaleProcess("dbus.service", { pid: 101 })];
    service.units.become("dbus.service", { activeState: "active" });
  });

  it("is listed, planned, restarted, and gone from the list", async () => {
    expect((await get("/updates/stale")).json).toMatchObject({
      restartable: ["cron.service"],
      left: [{ unit: "dbus.service" }],
      processes: [{ pid: 100, unit: "cron.service", files: ["/usr/lib/libtls.so.3"] }, { pid: 101 }],
      service_manager: false,
    });
    expect((await post("/updates/restart-stale?dry_run=true")).json).toMatchObject({
      steps: ["restart cron.service"],
      units: ["cron.service"],
      reason: expect.stringMatching(/^dbus\.service is left alone: /),
    });
    expect(service.units.actions).toEqual([]);
    expect(await post("/updates/restart-stale")).toMatchObject({
      status: 200,
      json: { success: true, restarted: [{ unit: "cron.service", success: true }], left: [{ unit: "dbus.service" }] },
    });
    expect((await get("/updates/stale")).json).toMatchObject({ restartable: [] });
  });

  it("is restarted by an update on request, which its plan says", async () => {
    offerThree();
    const body = { restart_stale: true };
    expect((await post("/updates/apply?dry_run=true", { body })).json).toMatchObject({
      steps: expect.arrayContaining(["restart services that then use replaced files"]),
    });
    expect((await post("/updates/apply", { body })).json).toMatchObject({
      success: true,
      restarted: [{ unit: "cron.service", success: true }],
    });
  });
});
