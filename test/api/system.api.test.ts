import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AlsoChanged } from "#domain/ports/units.ts";
import { createFakeUnits, type FakeUnits, runningUnit } from "../fakes/units.ts";
import { errorWith, send, startTestService, type TestService } from "./harness.ts";

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});
afterEach(() => service.app.close());
/** restarts the service with these units. */
async function use(units: FakeUnits): Promise<void> {
  await service.app.close();
  service = await startTestService({ units });
}

const get = (path: string) => send(service, { path, key: service.admin });
const names = (json: unknown): readonly string[] =>
  (json as { services: { name: string }[] }).services.map(({ name }) => name);

describe("GET /system/services", () => {
  const all = ["backup.service", "broken.service", "cron.service", "masked.service", "never-starts.service"];

  it("lists all services by name", async () => {
    const { json } = await get("/api/v1/system/services");
    expect(names(json)).toEqual(all);
    expect(json).toMatchObject({ total: 5 });
  });

  it("answers with the entry of the contract and the state in systemd", async () => {
    const { json } = await get("/api/v1/system/services?status=active");
    expect(json).toEqual({
      services: [
        {
          name: "cron.service",
          description: "Runs jobs",
          active: true,
          running: true,
          enabled: true,
          active_state: "active",
          sub_state: "running",
          load_state: "loaded",
          unit_file_state: "enabled",
          main_pid: 7,
          memory_bytes: null,
          restarts: 0,
          since: null,
        },
      ],
      total: 1,
    });
  });

  it.each([
    ["all", all],
    ["active", ["cron.service"]],
    ["inactive", ["backup.service", "masked.service", "never-starts.service"]],
    ["failed", ["broken.service"]],
  ])("filters by status %s", async (status, expected) => {
    expect(names((await get(`/api/v1/system/services?status=${status}`)).json)).toEqual(expected);
  });

  it("counts the matches before the limit", async () => {
    const { json } = await get("/api/v1/system/services?limit=2");
    expect(names(json)).toEqual(all.slice(0, 2));
    expect(json).toMatchObject({ total: 5 });
  });

  it("has 100 as its default limit, and takes 1 to 1000", async () => {
    const many = createFakeUnits(Array.from({ length: 1500 }, (_, index) => ({ name: `unit-${index}.service` })));
    await use(many);
    const count = async (query: string) =>
      names((await send(service, { path: `/api/v1/system/services${query}`, key: service.admin })).json).length;
    expect([await count(""), await count("?limit=1"), await count("?limit=1000")]).toEqual([100, 1, 1000]);
  });

  it.each(["0", "-1", "1001", "%20", "1.5", "1&limit=2", "+5"])("refuses limit=%s", async (limit) => {
    const reply = await get(`/api/v1/system/services?limit=${limit}`);
    expect(reply.status).toBe(400);
    expect(reply.json).toMatchObject(errorWith("VALIDATION_ERROR", { field: "limit", issue: expect.any(String) }));
  });
});

describe("POST /system/services/{name}/restart", () => {
  const restart = (name: string, query = "") =>
    send(service, {
      method: "POST",
      path: `/api/v1/system/services/${encodeURIComponent(name)}/restart${query}`,
      key: service.admin,
    });

  it("answers with the entry after the restart", async () => {
    const reply = await restart("cron");
    expect(reply.status).toBe(200);
    expect(reply.json).toMatchObject({
      name: "cron.service",
      active: true,
      running: true,
      main_pid: 1001,
      success: true,
      job_result: "done",
      message: "cron.service restarted",
    });
    expect(service.units.actions).toEqual(["restart cron.service"]);
  });

  it.each([
    [{ after: { activeState: "inactive", subState: "dead" } }, "odd.service ran and ended"],
    [
      { after: { activeState: "inactive", subState: "dead" }, isConditionMet: false },
      "odd.service was not started: a condition of the unit is not met",
    ],
    [{ after: { activeState: "active", subState: "exited" } }, "odd.service restarted"],
  ])("reports the state of the unit afterwards: %j", async (behaviour, message) => {
    await use(createFakeUnits([{ name: "odd.service", ...behaviour }]));
    const reply = await send(service, {
      method: "POST",
      path: "/api/v1/system/services/odd/restart",
      key: service.admin,
    });
    expect([reply.status, reply.json]).toMatchObject([200, { success: true, message }]);
  });

  it.each([
    [{ loadState: "bad-setting" }, "systemd cannot load the unit (bad-setting)"],
    [{ can: { restart: false } }, "it may be requested by dependency only"],
  ])("refuses a unit with %j, and so does its dry run", async (behaviour, issue) => {
    await use(createFakeUnits([{ name: "odd.service", ...behaviour }]));
    for (const query of ["?dry_run=true", ""]) {
      const path = `/api/v1/system/services/odd/restart${query}`;
      const reply = await send(service, { method: "POST", path, key: service.admin });
      expect([reply.status, reply.json]).toMatchObject([
        400,
        { error: { details: { field: "name", issue: expect.stringContaining(issue) } } },
      ]);
    }
    expect(service.units.actions).toEqual([]);
  });

  it("reports why a unit did not start", async () => {
    const reply = await restart("never-starts");
    expect(reply.status).toBe(500);
    expect(reply.json).toMatchObject(errorWith("INTERNAL_ERROR", { job_result: "failed", active_state: "failed" }));
  });

  it.each([
    [
      "dies at once",
      { after: { activeState: "failed", subState: "failed", result: "exit-code" } },
      { job_result: "done", active_state: "failed" },
    ],
    [
      "is being started over and over",
      { after: { activeState: "activating", subState: "auto-restart" } },
      { job_result: "done", active_state: "activating" },
    ],
    [
      "takes too long",
      { jobResult: "running", after: { activeState: "activating", subState: "start" } },
      { job_result: "running", active_state: "activating" },
    ],
    [
      "is up, and nobody can tell whether it was restarted",
      { jobResult: "unknown" },
      { job_result: "unknown", active_state: "active", missing: "systemd", retryable: true },
      503,
    ],
    [
      "vanished with the bus and is down",
      { jobResult: "unknown", after: { activeState: "inactive", subState: "dead" } },
      { job_result: "unknown", active_state: "inactive", missing: "systemd", retryable: true },
      503,
    ],
  ])("is not a success when the unit %s", async (_, behaviour, details, status = 500) => {
    const units = createFakeUnits([{ name: "odd.service", ...behaviour }]);
    await use(units);
    const reply = await send(service, {
      method: "POST",
      path: "/api/v1/system/services/odd/restart",
      key: service.admin,
    });
    expect([reply.status, reply.json]).toMatchObject([status, { error: { details } }]);
  });

  it("resets a unit that its start limit stopped", async () => {
    const units = createFakeUnits([
      { name: "limited.service", activeState: "failed", subState: "failed", result: "start-limit-hit" },
    ]);
    await use(units);
    const path = "/api/v1/system/services/limited/restart";
    const plan = await send(service, { method: "POST", path: `${path}?dry_run=true`, key: service.admin });
    expect(plan.json).toMatchObject({
      dry_run: true,
      steps: ["reset the start limit of limited.service", "restart limited.service"],
      units: ["limited.service"],
      requires_reboot: false,
    });
    expect(units.actions).toEqual([]);
    expect((await send(service, { method: "POST", path, key: service.admin })).status).toBe(200);
    expect(units.actions).toEqual(["reset limited.service", "restart limited.service"]);
  });

  it("does not reset a transient unit, which systemd would remove", async () => {
    const units = createFakeUnits([
      { name: "job.service", activeState: "failed", subState: "failed", unitFileState: "transient" },
    ]);
    await use(units);
    const path = "/api/v1/system/services/job/restart";
    expect((await send(service, { method: "POST", path, key: service.admin })).status).toBe(200);
    expect(units.actions).toEqual(["restart job.service"]);
  });

  it("reports what systemd refuses, in the words of systemd", async () => {
    const units = createFakeUnits([{ name: "manual.service", refusal: "it may be requested by dependency only" }]);
    await use(units);
    const reply = await send(service, {
      method: "POST",
      path: "/api/v1/system/services/manual/restart",
      key: service.admin,
    });
    expect(reply.json).toMatchObject(
      errorWith("VALIDATION_ERROR", { field: "name", issue: "it may be requested by dependency only" }),
    );
  });

  it("answers before it restarts its own service", async () => {
    const units = createFakeUnits([{ name: "steward.service", activeState: "active", subState: "running" }]);
    await use(units);
    const reply = await send(service, {
      method: "POST",
      path: "/api/v1/system/services/steward/restart",
      key: service.admin,
    });
    expect(reply.json).toMatchObject({ success: true, job_result: "pending" });
    expect(units.actions).toEqual(["restart steward.service detached"]);
  });

  it("refuses a misspelt dry run", async () => {
    for (const query of ["?dryrun=true", "?dry_run=yes", "?dry_run=1", "?dry_run="]) {
      expect((await restart("cron", query)).status).toBe(400);
    }
    expect(service.units.actions).toEqual([]);
  });
});

it("GET /system/info answers with the system info", async () => {
  const { status, json } = await get("/api/v1/system/info");
  expect(status).toBe(200);
  expect(json).toEqual({
    hostname: "testhost",
    os: { name: "Debian GNU/Linux", version: "12", kernel: "6.1.0" },
    cpu: { model: "Test CPU", cores: 2, threads: 4, load_percent: 12.5 },
    memory: { total_bytes: 8_000_000_000, available_bytes: 6_000_000_000, percent_used: 25 },
    disk: { path: "/", total_bytes: 100_000_000_000, free_bytes: 40_000_000_000, percent_used: 60 },
  });
});

describe("POST /system/services/{name}/start, stop and reload", () => {
  const post = (path: string) =>
    send(service, { method: "POST", path: `/api/v1/system/services/${path}`, key: service.admin });
  const change = (path: string) => post(path);

  it.each([
    ["backup/start", { name: "backup.service", active: true, message: "backup.service started", job_result: "done" }],
    ["broken/start", { name: "broken.service", active: true, message: "broken.service started", job_result: "done" }],
    ["cron/stop", { name: "cron.service", active: false, message: "cron.service stopped", job_result: "done" }],
    ["cron/reload", { name: "cron.service", active: true, message: "cron.service reloaded", job_result: "done" }],
  ])("%s answers with the entry afterwards", async (path, expected) => {
    expect(await change(path)).toMatchObject({ status: 200, json: { ...expected, success: true } });
  });

  it.each([
    ["cron/start", "cron.service is active already"],
    ["backup/stop", "backup.service is inactive already"],
  ])("%s has nothing to do, and says so in its dry run", async (path, message) => {
    expect(await change(path)).toMatchObject({ status: 200, json: { success: true, message, job_result: "" } });
    const plan = await change(`${path}?dry_run=true`);
    expect(plan).toMatchObject({ status: 200, json: { dry_run: true, steps: [], units: [], reason: message } });
    expect(service.units.actions).toEqual([]);
  });

  it("resets the start limit before a start, and never before a stop", async () => {
    await change("broken/start");
    expect(service.units.actions).toEqual(["reset broken.service", "start broken.service"]);
    service.units.become("broken.service", { activeState: "failed", subState: "failed" });
    await change("broken/stop");
    expect(service.units.actions.slice(2)).toEqual(["stop broken.service"]);
  });

  it.each([
    ["debug-shell/stop", "opens a shell of root"],
    ["debug-shell/start", "opens a shell of root"],
    ["backup/reload", "it does not run (inactive)"],
    ["broken/reload", "it does not run (failed)"],
  ])("%s is refused", async (path, reason) => {
    for (const name of ["dbus.service", "debug-shell.service"]) service.units.become(name, {});
    for (const query of ["", "?dry_run=true"]) {
      const reply = await change(`${path}${query}`);
      expect(reply).toMatchObject({ status: 400, json: errorWith("VALIDATION_ERROR", { field: "name" }) });
      expect(JSON.stringify(reply.json)).toContain(reason);
    }
    expect(service.units.actions).toEqual([]);
  });

  it("refuses to reload a unit without ExecReload, and to stop its own service", async () => {
    const units = createFakeUnits([runningUnit("plain.service"), runningUnit("steward.service")]);
    await use(units);
    for (const [path, remedy] of [
      ["plain/reload", "restart it instead"],
      ["steward/stop", "systemctl stop steward.service"],
    ] as const) {
      const reply = await post(path);
      expect([reply.status, JSON.stringify(reply.json)]).toEqual([400, expect.stringContaining(remedy)]);
    }
    expect(units.actions).toEqual([]);
  });

  it.each([
    ["stop", "it would also stop steward.service, which is this service"],
    ["start", "it would also stop dbus.service: Steward protects it"],
  ])("refuses a %s that would stop another protected unit", async (verb, reason) => {
    const refusal = { reason: "Steward protects it", setting: "services.allow", remedy: "allow it" } as const;
    const protectedOne: AlsoChanged =
      verb === "stop" ? { name: "steward.service", verb: "stop" } : { name: "dbus.service", verb: "stop", refusal };
    const along: readonly AlsoChanged[] = [{ name: "other.service", verb: "stop" }, protectedOne];
    const state = verb === "stop" ? runningUnit("base.service") : { name: "base.service" };
    const units = createFakeUnits([{ ...state, along }]);
    await use(units);
    for (const query of ["", "?dry_run=true"]) {
      const reply = await post(`base/${verb}${query}`);
      expect([reply.status, JSON.stringify(reply.json)]).toEqual([400, expect.stringContaining(reason)]);
    }
    expect(units.actions).toEqual([]);
  });

  it("stops a masked unit that runs", async () => {
    const units = createFakeUnits([runningUnit("odd.service", { loadState: "masked" })]);
    await use(units);
    expect(await post("odd/stop")).toMatchObject({ status: 200, json: { message: "odd.service stopped" } });
  });

  it.each([
    ["reload", { jobResult: "failed" }, 500, { job_result: "failed", active_state: "active" }],
    ["stop", { jobResult: "running", after: { activeState: "deactivating" } }, 500, { job_result: "running" }],
    ["stop", { jobResult: "unknown" }, 503, { job_result: "unknown", retryable: true }],
    ["reload", { jobResult: "unknown" }, 503, { job_result: "unknown", retryable: true }],
  ])("does not report a %s as a success with %j", async (verb, behaviour, status, details) => {
    const units = createFakeUnits([{ ...runningUnit("odd.service"), can: { reload: true }, ...behaviour }]);
    await use(units);
    expect(await post(`odd/${verb}`)).toMatchObject({ status, json: { error: { details } } });
  });

  it.each([
    [
      { activeState: "failed", subState: "failed", result: "timeout" },
      "odd.service stopped, but did not end cleanly (timeout)",
    ],
    [{ activeState: "active", subState: "running" }, "odd.service stopped, and something has started it again since"],
  ])("reports the state after a stop: %j", async (after, message) => {
    await use(createFakeUnits([{ ...runningUnit("odd.service"), after }]));
    expect(await post("odd/stop")).toMatchObject({ status: 200, json: { message } });
  });

  it("plans the units that come along", async () => {
    const units = createFakeUnits([
      {
        ...runningUnit("base.service"),
        along: [
          { name: "app.service", verb: "stop" },
          { name: "base.socket", verb: "trigger" },
        ],
      },
      {
        name: "off.service",
        along: [
          { name: "db.service", verb: "start" },
          { name: "other.service", verb: "stop" },
        ],
      },
    ]);
    await use(units);
    expect((await post("base/stop?dry_run=true")).json).toMatchObject({
      steps: ["stop base.service", "stop app.service, which requires base.service or conflicts with it"],
      units: ["base.service", "app.service"],
      reason: "base.socket can start base.service again",
    });
    expect((await post("off/start?dry_run=true")).json).toMatchObject({
      steps: [
        "start off.service",
        "start db.service, which off.service requires or wants",
        "stop other.service, which requires off.service or conflicts with it",
      ],
      units: ["off.service", "db.service", "other.service"],
    });
    expect(units.actions).toEqual([]);
  });
});

describe("POST /system/services/{name}/enable, disable, mask and unmask", () => {
  const post = (path: string) =>
    send(service, { method: "POST", path: `/api/v1/system/services/${path}`, key: service.admin });

  it.each([
    ["backup/enable", { enabled: true, message: "backup.service enabled; it is not started by that" }, "symlink"],
    ["cron/disable", { enabled: false, active: true, message: "cron.service disabled; it still runs" }, "unlink"],
    ["cron/mask", { unit_file_state: "masked", message: "cron.service masked; it still runs" }, "symlink"],
    ["masked/unmask", { unit_file_state: "disabled", message: "masked.service unmasked" }, "unlink"],
  ])("%s answers with the entry afterwards, and the changed links", async (path, expected, type) => {
    const plan = await post(`${path}?dry_run=true`);
    expect(plan).toMatchObject({ status: 200, json: { steps: [expect.any(String), expect.any(String)] } });
    expect(service.units.actions).toEqual([]);
    expect(await post(path)).toMatchObject({
      status: 200,
      json: {
        ...expected,
        success: true,
        changes: [{ type, path: expect.stringMatching(/^\/etc\/systemd\/system\//) }],
      },
    });
  });

  it.each([
    ["cron/enable", "cron.service is enabled already"],
    ["backup/disable", "backup.service is not enabled (disabled)"],
    ["masked/mask", "masked.service is masked already"],
    ["cron/unmask", "cron.service is not masked"],
  ])("%s has nothing to do", async (path, message) => {
    expect((await post(path)).json).toMatchObject({ success: true, message, changes: [] });
    expect((await post(`${path}?dry_run=true`)).json).toMatchObject({ steps: [], reason: message });
    expect(service.units.actions).toEqual([]);
  });

  it.each([
    ["enable", { unitFileState: "enabled-runtime" }, "enabled"],
    ["mask", { unitFileState: "masked-runtime", loadState: "masked" }, "masked"],
  ])("makes permanent with %s what holds until the next boot", async (verb, state, unitFileState) => {
    const units = createFakeUnits([{ name: "odd.service", ...state }]);
    await use(units);
    expect(await post(`odd/${verb}`)).toMatchObject({ status: 200, json: { unit_file_state: unitFileState } });
    expect(units.actions).toEqual([`${verb} odd.service`]);
  });

  it.each([
    ["made/disable", { unitFileState: "generated" }, "its unit file is generated"],
    ["plain/enable", { unitFileState: "static" }, "no [Install] section"],
    ["user@0/mask", {}, "ends the sessions of a user"],
    ["steward/mask", {}, "systemctl mask steward.service"],
    ["steward/disable", { unitFileState: "enabled" }, "systemctl disable steward.service"],
    [
      "site/mask",
      { file: "/etc/systemd/system/site.service" },
      "its unit file is /etc/systemd/system/site.service, where the link that masks it would be",
    ],
    ["told@evil/enable", {}, "only while it runs or has failed"],
  ])("%s is refused", async (path, state, reason) => {
    const [name = ""] = path.split("/");
    const units = createFakeUnits([{ name: `${name}.service`, ...state }]);
    await use(units);
    for (const query of ["", "?dry_run=true"]) {
      const reply = await post(`${path}${query}`);
      expect([reply.status, JSON.stringify(reply.json)]).toEqual([400, expect.stringContaining(reason)]);
    }
    expect(units.actions).toEqual([]);
  });

  describe("a service whose unit file is elsewhere", () => {
    const file = "/etc/systemd/system/site.service";
    const linked = { name: "site.service", unitFileState: "linked", file, linkedFile: "/opt/site/site.service" };
    const gone = { unitFileState: "", loadState: "not-found" };

    it("loses its link when it is disabled, and the answer says how to link it again", async () => {
      for (const unitFileState of ["linked", "linked-runtime", "enabled"]) {
        const units = createFakeUnits([{ ...linked, unitFileState, after: gone }]);
        await use(units);
        expect((await post("site/disable?dry_run=true")).json).toMatchObject({
          steps: [
            expect.any(String),
            expect.stringContaining(`remove its link ${file} to /opt/site/site.service too`),
            expect.any(String),
          ],
        });
        expect((await post("site/disable")).json).toMatchObject({
          unit_file_state: "",
          message: expect.stringContaining("(systemctl link /opt/site/site.service makes it known again)"),
        });
        expect(units.actions).toEqual(["disable site.service"]);
      }
    });

    it("keeps its entry where systemd has another file of it, or the link is one of a package", async () => {
      const elsewhere = { ...linked, unitFileState: "enabled", after: { unitFileState: "disabled" } };
      const packaged = { ...elsewhere, name: "packaged.service", file: "/usr/lib/systemd/system/packaged.service" };
      await use(createFakeUnits([elsewhere, packaged]));
      expect((await post("site/disable")).json).toMatchObject({ message: "site.service disabled" });
      const plan: unknown = (await post("packaged/disable?dry_run=true")).json;
      expect(plan).toMatchObject({ steps: [expect.any(String), expect.any(String)] });
    });

    it("is not masked, and the error names a remedy that works", async () => {
      await use(createFakeUnits([linked]));
      for (const query of ["", "?dry_run=true"])
        expect(await post(`site/mask${query}`)).toMatchObject({
          status: 400,
          json: {
            error: {
              message: expect.stringMatching(
                /site\.service, a link to \/opt\/site\/site\.service, .*\(stop and disable it instead, which removes that link/,
              ),
            },
          },
        });
    });
  });
});

describe("a change of a service that needs a confirmation", () => {
  it("is refused without it, described by a dry run, and done with it", async () => {
    const units = createFakeUnits(["dbus", "user@0"].map((name) => runningUnit(`${name}.service`)));
    await use(units);
    const post = (path: string, body?: object) =>
      send(service, {
        ...{ method: "POST" as const, path: `/api/v1/system/services/${path}`, key: service.admin },
        ...(body && { body }),
      });
    const details = { field: "confirm", issue: "Must be true" };
    for (const body of [undefined, {}, { confirm: false }]) {
      const reply = await post("dbus/restart", body);
      expect([reply.status, reply.json]).toMatchObject([400, { error: { details } }]);
    }
    const plan = await post("dbus/restart?dry_run=true");
    expect(plan.json).toMatchObject({ risk: "risky", reason: expect.stringContaining("system bus") });
    expect(units.actions).toEqual([]);
    expect((await post("dbus/restart", { confirm: true })).status).toBe(200);
    // Nothing else is permitted by it.
    expect((await post("user@0/stop", { confirm: true })).status).toBe(400);
    for (const verb of ["disable", "mask"]) {
      for (const body of [undefined, { confirm: true }])
        expect([verb, (await post(`dbus/${verb}`, body)).status]).toEqual([verb, 400]);
      const reply = await post(`dbus/${verb}?dry_run=true`);
      expect([reply.status, reply.json]).toMatchObject([
        400,
        { error: { details: { field: "name", setting: "services.allow" } } },
      ]);
    }
    expect(units.actions).toEqual(["restart dbus.service"]);
  });
});
