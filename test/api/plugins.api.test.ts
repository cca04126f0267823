import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { HealthCheckList } from "#contract/checks.ts";
import type { Plugin, PluginList } from "#contract/plugins.ts";
import type { PluginManifest } from "#domain/ports/plugins.ts";
import { PluginNotRun } from "#domain/ports/plugins.ts";
import { createFakeConfirmedPlugins } from "../fakes/confirmed-plugins.ts";
import { createFakePluginDirectories, plainManifest } from "../fakes/plugin-directories.ts";
import { openStream } from "../process/support/ws-client.ts";
import {
  createTestPlugins,
  errorWith,
  send,
  settled,
  startTestService,
  type TestPlugins,
  type TestReply,
  type TestService,
} from "./harness.ts";

const { permissions: none } = plainManifest("any");
const changed = "it changed on disk since it was enabled: enable it again to accept it as it is now";

let plugins: TestPlugins;
let service: TestService;

async function start(overrides: Parameters<typeof startTestService>[0] = {}): Promise<void> {
  service = await startTestService({ plugins, ...overrides });
}
async function restart(overrides: Parameters<typeof startTestService>[0] = {}): Promise<void> {
  await service.app.close();
  await start(overrides);
}
beforeEach(async () => {
  plugins = createTestPlugins();
  await start();
});
afterEach(() => service.app.close());

const get = (path: string): Promise<TestReply> => send(service, { path: `/api/v1${path}`, key: service.admin });
const post = (path: string, body?: unknown, key = service.admin): Promise<TestReply> =>
  send(service, { method: "POST", path: `/api/v1${path}`, key, body });
const enable = (name: string, body?: unknown) => post(`/plugins/${name}/enable`, body);
const disable = (name: string) => post(`/plugins/${name}/disable`);
const run = (name: string, body: unknown = {}) => post(`/plugins/${name}/run`, body);
const list = async () => ((await get("/plugins")).json as PluginList).plugins;
const find = async (name: string): Promise<Plugin | undefined> => (await list()).find((each) => each.name === name);
const checkIds = async () =>
  ((await get("/health/checks")).json as HealthCheckList).results.map(({ check_id: id }) => id);
const check = async (id: string) => (await get(`/health/checks/${id}`)).json;
const metrics = async () => (await send(service, { path: "/metrics", key: service.admin })).text;

type Role = PluginManifest["role"];
const checkRole = (rest: Partial<Extract<Role, { type: "check" }>> = {}): Pick<PluginManifest, "role"> => ({
  role: {
    type: "check",
    title: "Age",
    severity: "high",
    intervalMs: undefined,
    output: "nagios",
    guardsUpdates: false,
    ...rest,
  },
});
const hookRole = (
  events: Extract<Role, { type: "hook" }>["events"],
  onFailure: "allow" | "veto" = "allow",
): Pick<PluginManifest, "role"> => ({ role: { type: "hook", events, onFailure } });

/** Puts a plugin into its directory and enables it. */
async function add(name: string, manifest: Partial<PluginManifest> = {}): Promise<void> {
  plugins.directories.put(name, manifest);
  const { json } = await enable(name);
  expect(json).toMatchObject({ success: true });
}
/** A hook that writes down what it is given, and answers with what it is given. */
async function addHook(name: string, role: ReturnType<typeof hookRole>, stdout = ""): Promise<void> {
  plugins.sandbox.behave(name, { stdout });
  await add(name, role);
}
const veto = (reason: unknown): string => JSON.stringify({ veto: true, reason });
/** What plugins got on standard input, by name. */
const reported = (name?: string) =>
  plugins.sandbox.calls
    .filter(({ manifest }) => name === undefined || manifest.name === name)
    .map(({ stdin = "" }) => JSON.parse(stdin) as Record<string, unknown>);
describe("GET /plugins", () => {
  it("is empty where there are no plugins", async () => {
    expect((await get("/plugins")).json).toEqual({ plugins: [] });
  });

  it("lists all by name with their permissions, and those that cannot be loaded with their fault", async () => {
    plugins.directories.spoil("zebra", "plugin.yaml:3:1: exec: must be given");
    plugins.directories.put("backup", {
      version: "2.1.0",
      author: "<script>",
      description: "Backs up",
      permissions: { ...none, user: "root", network: "full", read: ["/srv"], write: ["/var/backups"], tasks: 65 },
    });
    plugins.directories.put("age", checkRole());
    expect(await list()).toEqual([
      {
        name: "age",
        version: "1.0.0",
        type: "check",
        enabled: false,
        author: "",
        description: "",
        permissions: [],
        needs_confirmation: false,
        path: "/etc/steward/plugins/age",
        fault: null,
      },
      {
        name: "backup",
        version: "2.1.0",
        type: "command",
        enabled: false,
        author: "<script>",
        description: "Backs up",
        permissions: [
          "runs as root",
          "reaches the network",
          "reads /srv",
          "changes /var/backups",
          "starts up to 65 processes",
        ],
        needs_confirmation: true,
        path: "/etc/steward/plugins/backup",
        fault: null,
      },
      {
        name: "zebra",
        version: "",
        type: "command",
        enabled: false,
        author: "",
        description: "",
        permissions: [],
        needs_confirmation: false,
        path: "/etc/steward/plugins/zebra",
        fault: "plugin.yaml:3:1: exec: must be given",
      },
    ]);
  });
});

describe("enabling a plugin", () => {
  it("makes it run, outlasts a restart, and is idempotent", async () => {
    plugins.directories.put("greet");
    const first = await enable("greet");
    expect(first.status).toBe(200);
    expect(first.json).toMatchObject({ name: "greet", enabled: true, success: true, message: "greet is enabled" });
    const [entry] = plugins.enabled.all();
    expect((await enable("greet")).json).toMatchObject({ success: true, message: "greet is enabled already" });
    expect(plugins.enabled.all()).toEqual([entry]);
    await restart();
    expect(await find("greet")).toMatchObject({ enabled: true, fault: null });
    expect((await run("greet")).status).toBe(200);
  });

  it("is audited with the digest of its files", async () => {
    const { loaded } = plugins.directories.put("greet");
    await enable("greet");
    expect(service.audit.entries.at(-1)).toMatchObject({
      operation: "enablePlugin",
      target: { name: "greet", path: "/etc/steward/plugins/greet", digest: "digest" in loaded ? loaded.digest : "" },
    });
  });

  it("as root is refused until root has confirmed it, where root keeps its own list", async () => {
    const confirmed = createFakeConfirmedPlugins();
    plugins = { ...createTestPlugins(), confirmed };
    await restart();
    const { path, loaded } = plugins.directories.put("rooted", { permissions: { ...none, user: "root" } });
    const digest = "digest" in loaded ? loaded.digest : "";
    plugins.directories.put("plain");
    expect((await enable("plain")).json).toMatchObject({ success: true });
    // To say it over HTTP is needed besides, and is not enough.
    expect((await enable("rooted")).status).toBe(400);
    const remedy = "run on this host: sudo steward plugins confirm rooted";
    const refused = {
      success: false,
      enabled: false,
      message: expect.stringMatching(new RegExp(`^cannot enable rooted: it asks to run as root, .*${remedy}`)),
    };
    for (let times = 0; times < 2; times += 1)
      expect((await enable("rooted", { confirm: true })).json).toMatchObject(refused);
    expect((await post("/plugins/rooted/enable?dry_run=true", { confirm: true })).json).toMatchObject({
      steps: [],
      reason: refused.message,
    });
    confirmed.confirm({ path, digest });
    expect((await enable("rooted", { confirm: true })).json).toMatchObject({ success: true, enabled: true });
    expect((await run("rooted")).status).toBe(200);

    // As it was with another release: enabled, and not confirmed.
    confirmed.confirm({ path, digest: "other" });
    expect(await find("rooted")).toMatchObject({ enabled: true, fault: expect.stringContaining(remedy) });
    expect((await run("rooted")).json).toMatchObject(
      errorWith("UNAVAILABLE", { reason: expect.stringContaining(remedy), retryable: false }),
    );
    expect(plugins.sandbox.calls.map(({ manifest }) => manifest.name)).toEqual(["rooted"]);
    confirmed.confirm({ path, digest });
    expect((await run("rooted")).status).toBe(200);
    expect((await disable("rooted")).json).toMatchObject({ success: true });
  });

  it("as root takes a confirmation", async () => {
    plugins.directories.put("rooted", { permissions: { ...none, user: "root" } });
    for (const body of [undefined, {}, { confirm: false }]) {
      const refused = await enable("rooted", body);
      expect(refused.status).toBe(400);
      expect(refused.json).toMatchObject({ error: { details: { field: "confirm", issue: "Must be true" } } });
    }
    expect(plugins.enabled.all()).toEqual([]);
    expect((await enable("rooted", { confirm: true })).json).toMatchObject({ success: true, enabled: true });
  });

  it("is refused with the reason where its sandbox cannot be made on this host", async () => {
    plugins.directories.put("greet");
    plugins.sandbox.refuseStart("greet", "systemd did not start it: Failed to start: bad unit file setting");
    const message = "cannot enable greet: systemd did not start it: Failed to start: bad unit file setting";
    expect((await post("/plugins/greet/enable?dry_run=true")).json).toMatchObject({ steps: [], reason: message });
    const refused = await enable("greet");
    expect(refused.status).toBe(200);
    expect(refused.json).toMatchObject({ success: false, enabled: false, message });
    expect([plugins.enabled.all(), plugins.sandbox.calls]).toEqual([[], []]);
    plugins.sandbox.refuseStart("greet", undefined);
    expect((await post("/plugins/greet/enable?dry_run=true")).json).toMatchObject({ steps: ["enable greet 1.0.0"] });
    expect((await enable("greet")).json).toMatchObject({ success: true, enabled: true });
    // What is enabled already and has not changed is not tried again.
    plugins.sandbox.refuseStart("greet", "no memory");
    expect((await enable("greet")).json).toMatchObject({ success: true, message: "greet is enabled already" });
  });

  it("is refused where it cannot be loaded", async () => {
    plugins.directories.spoil("broken", "no manifest");
    const reply = await enable("broken", { confirm: true });
    expect(reply.status).toBe(200);
    expect(reply.json).toMatchObject({
      success: false,
      enabled: false,
      message: "cannot enable broken: no manifest",
      fault: "no manifest",
    });
    expect(plugins.enabled.all()).toEqual([]);
  });

  it.each(["plain", "elsewhere"])("refuses a check under the name of one of the service: %s", async (name) => {
    plugins.directories.put(name, checkRole());
    const fault = `cannot be a check named ${name}: the service has one of that name`;
    expect((await enable(name)).json).toMatchObject({ success: false, enabled: false, fault });
    plugins.directories.put(name);
    expect((await enable(name)).json).toMatchObject({ success: true });
  });

  it("is planned without running it", async () => {
    plugins.directories.put("greet");
    plugins.directories.spoil("broken", "no manifest");
    const plan = async (path: string) => (await post(`/plugins/${path}?dry_run=true`)).json;
    expect(await plan("greet/enable")).toMatchObject({ dry_run: true, steps: ["enable greet 1.0.0"] });
    expect(await plan("broken/enable")).toMatchObject({ steps: [], reason: "cannot enable broken: no manifest" });
    expect(await plan("greet/disable")).toMatchObject({ steps: [], reason: "greet is not enabled" });
    expect(plugins.enabled.all()).toEqual([]);
    await enable("greet");
    expect(await plan("greet/enable")).toMatchObject({ steps: [], reason: "greet is enabled already" });
    expect(await plan("greet/disable")).toMatchObject({ steps: ["disable greet"] });
    expect(await plan("greet/run")).toMatchObject({ steps: ['run "/etc/steward/plugins/greet/run" in its sandbox'] });
    expect(plugins.sandbox.calls).toEqual([]);
    plugins.directories.touch("greet");
    expect(await plan("greet/enable")).toMatchObject({ steps: ["enable greet 1.0.0"] });
  });

  it("accepts one that has changed on disk, which does not run until then", async () => {
    await add("greet");
    plugins.directories.touch("greet");
    expect(await find("greet")).toMatchObject({ enabled: true, fault: changed });
    const refused = await run("greet");
    expect(refused.status).toBe(503);
    expect(refused.json).toMatchObject({ error: { code: "UNAVAILABLE", message: `cannot run greet: ${changed}` } });
    expect(plugins.sandbox.calls).toEqual([]);
    expect((await enable("greet")).json).toMatchObject({ success: true, message: "greet is enabled as it is now" });
    expect((await run("greet")).status).toBe(200);
  });

  it("takes effect after safe mode, and so does disabling", async () => {
    await add("greet");
    await add("age", checkRole());
    plugins.directories.put("later");
    await restart({ isSafeMode: true });
    const fault = "safe mode: the service was started without plugins";
    expect((await list()).map(({ name, enabled, fault: why }) => [name, enabled, why])).toEqual([
      ["age", true, fault],
      ["greet", true, fault],
      ["later", false, fault],
    ]);
    expect(await checkIds()).toEqual(["plain", "vital"]);
    expect((await run("greet")).status).toBe(503);
    expect((await enable("later")).json).toMatchObject({ success: false, message: `cannot enable later: ${fault}` });
    expect((await disable("age")).json).toMatchObject({ success: true, enabled: false });
    await restart();
    expect((await list()).map(({ name, enabled, fault: why }) => [name, enabled, why])).toEqual([
      ["age", false, null],
      ["greet", true, null],
      ["later", false, null],
    ]);
  });
});

describe("disabling a plugin", () => {
  it("ends its runs, and is idempotent", async () => {
    await add("slow");
    plugins.sandbox.behave("slow", () => new Promise(() => undefined));
    const running = run("slow");
    await settled(service, () => plugins.sandbox.calls.length === 1);
    expect((await disable("slow")).json).toMatchObject({ success: true, enabled: false, message: "slow is disabled" });
    expect((await running).json).toMatchObject({
      error: { code: "UNAVAILABLE", message: "cannot run slow: it was ended, since it has been disabled" },
    });
    expect((await disable("slow")).json).toMatchObject({ success: true, message: "slow is not enabled" });
    expect((await run("slow")).status).toBe(400);
    await restart();
    expect(await find("slow")).toMatchObject({ enabled: false });
  });

  it("is possible where its directory is gone", async () => {
    await add("age", checkRole());
    plugins.directories.remove("age");
    expect(await find("age")).toMatchObject({ enabled: true, type: "check", fault: "its directory is gone" });
    expect(await check("age")).toMatchObject({ status: "fail", details: { error: "its directory is gone" } });
    expect((await enable("age")).json).toMatchObject({ success: false });
    expect((await disable("age")).json).toMatchObject({ success: true, enabled: false });
    expect(await list()).toEqual([]);
    expect((await disable("age")).status).toBe(404);
    expect(await checkIds()).toEqual(["plain", "vital"]);
  });
});

describe("POST /plugins/{name}/run", () => {
  it("answers with the output of the plugin", async () => {
    await add("greet", { command: ["/etc/steward/plugins/greet/run", "--first"] });
    plugins.sandbox.behave("greet", { exitCode: 3, stdout: "out\ufffd", stderr: "err", isTruncated: true });
    const reply = await run("greet", { args: ["$(id)", "", "--x"], stdin: "hello" });
    expect(reply.json).toEqual({ exit_code: 3, stdout: "out\ufffd", stderr: "err", duration_ms: 0, truncated: true });
    expect(plugins.sandbox.calls).toMatchObject([
      { path: "/etc/steward/plugins/greet", args: ["$(id)", "", "--x"], stdin: "hello" },
    ]);
    expect(await metrics()).toContain('svc_plugin_runs_total{plugin="greet",result="failure"} 1');
  });

  it("refuses plugins that are not commands", async () => {
    await add("age", checkRole());
    const reply = await run("age");
    expect(reply.status).toBe(400);
    expect(reply.json).toMatchObject({
      error: { message: "cannot run age: it is a check, not a command", details: { field: "name" } },
    });
  });

  it.each([
    [{ args: ["a\u0000b"] }, "args"],
    [{ args: Array.from({ length: 129 }, () => "x") }, "args"],
  ])("refuses %j", async (body, field) => {
    await add("greet");
    const reply = await run("greet", body);
    expect(reply.status).toBe(400);
    expect(reply.json).toMatchObject({ error: { details: { field: expect.stringContaining(field) } } });
    expect(plugins.sandbox.calls).toEqual([]);
  });

  it("answers with the reason and the output of a run that was ended", async () => {
    await add("greet");
    const output = { stdout: "started\n", stderr: "trouble\n" };
    plugins.sandbox.behave("greet", () => Promise.reject(new PluginNotRun("it took longer than 1 s", { output })));
    const failure = { code: "UNAVAILABLE", message: "cannot run greet: it took longer than 1 s" };
    expect((await run("greet")).json).toMatchObject({
      error: { ...failure, details: { ...output, retryable: false } },
    });
    await add("age", checkRole());
    plugins.sandbox.behave("age", () => Promise.reject(new PluginNotRun("it took longer than 1 s", { output })));
    expect(await check("age")).toMatchObject({
      status: "fail",
      details: { error: "it took longer than 1 s", ...output },
    });
  });

  it("ends a run at its time limit although its sandbox does not", async () => {
    await add("slow", { timeoutMs: 10_000 });
    plugins.sandbox.behave("slow", () => new Promise(() => undefined));
    const running = run("slow");
    await settled(service, () => plugins.sandbox.calls.length === 1);
    await service.clock.advance(15_000);
    expect((await running).json).toMatchObject({ error: { message: "cannot run slow: it did not end within 10 s" } });
  });

  it("runs eight at once and no more", async () => {
    await add("slow");
    const release = Promise.withResolvers<{ exitCode: number; stdout: string; stderr: string; isTruncated: boolean }>();
    plugins.sandbox.behave("slow", () => release.promise);
    const running = Array.from({ length: 8 }, () => run("slow"));
    await settled(service, () => plugins.sandbox.calls.length === 8);
    expect((await run("slow")).json).toMatchObject(errorWith("UNAVAILABLE", { retryable: true }));
    release.resolve({ exitCode: 0, stdout: "", stderr: "", isTruncated: false });
    for (const reply of await Promise.all(running)) expect(reply.status).toBe(200);
    expect((await run("slow")).status).toBe(200);
  });
});

describe("a check plugin", () => {
  it("is in the list, the stream and the metrics at once, and gone from them when it is disabled", async () => {
    const url = await service.app.listen({ host: "127.0.0.1", port: 0 });
    const open = () => openStream(url, "/api/v1/ws/health", { headers: { "X-API-Key": service.admin } });
    const stream = await open();
    await stream.first(2);
    plugins.sandbox.behave("age", { exitCode: 1, stdout: "3 days old | age=3d\n" });
    await add("age", checkRole());
    const [, , frame] = await stream.first(3);
    expect(frame).toMatchObject({ check_id: "age", name: "Age", status: "warn", severity: "high", category: "custom" });
    expect(await checkIds()).toEqual(["plain", "vital", "age"]);
    expect(await metrics()).toContain('svc_check_status{check="age"} 1');
    expect((await get("/health")).json).toMatchObject({ status: "degraded" });

    await disable("age");
    expect(await checkIds()).toEqual(["plain", "vital"]);
    expect((await get("/health/checks/age")).status).toBe(404);
    expect((await get("/health/checks/age/history")).status).toBe(404);
    expect(await metrics()).not.toContain('"age"');
    expect((await get("/health")).json).toMatchObject({ status: "healthy" });
    const later = await open();
    expect((await later.first(2)).map(({ check_id: id }) => id)).toEqual(["plain", "vital"]);

    await enable("age");
    await checkIds();
    expect((await get("/health/checks/age/history")).json).toMatchObject({ total: 2 });
    for (const { socket } of [stream, later]) socket.terminate();
  });

  it("may be switched off by settings, which otherwise have to name existing checks", async () => {
    await add("age", checkRole());
    await restart({ checkPlan: { checks: { age: { isEnabled: false }, agee: {} } } });
    expect(await find("age")).toMatchObject({ enabled: true });
    expect(await checkIds()).toEqual(["plain", "vital"]);
    expect(service.logLines()).toContainEqual(
      expect.objectContaining({ msg: "settings for checks that do not exist", checks: ["agee"] }),
    );
  });

  it("fails where it gives no result or has changed, and cannot be fixed", async () => {
    await add("age", checkRole());
    plugins.sandbox.behave("age", () => Promise.reject(new PluginNotRun("it could not be started")));
    expect(await check("age")).toMatchObject({
      status: "fail",
      message: "The plugin gave no result: it could not be started",
      details: { error: "it could not be started" },
      fixable: false,
    });
    expect((await post("/health/checks/age/fix")).json).toMatchObject(
      errorWith("VALIDATION_ERROR", { issue: "there is no fix for this check" }),
    );
    plugins.directories.touch("age");
    for (let count = 0; count < 2; count += 1)
      expect(await check("age")).toMatchObject({ status: "fail", details: { error: changed } });
    const reported = service.notifiers.email.taken.filter(({ title }) =>
      title.startsWith("The plugin age does not run"),
    );
    expect(reported).toMatchObject([{ facts: expect.arrayContaining([["Reason", changed]]) }]);
    await restart();
    expect(await check("age")).toMatchObject({ status: "fail", details: { error: changed } });
    expect(service.logLines()).toContainEqual(
      expect.objectContaining({ level: "warn", plugin: "age", fault: changed, msg: "enabled plugin does not run" }),
    );
  });
});

describe("plugin directories that a reload replaces", () => {
  it("keep running the plugins that stay the same", async () => {
    await add("age", checkRole());
    await add("gone", checkRole());
    await settled(service, () => plugins.sandbox.calls.length === 2);
    const other = createFakePluginDirectories();
    other.put("age", checkRole());
    other.put("fresh");
    service.service.replacePluginDirectories(other);
    await service.clock.advance(0);
    expect((await list()).map(({ name, fault }) => [name, fault])).toEqual([
      ["age", null],
      ["fresh", null],
      ["gone", "its directory is gone"],
    ]);
    expect(await checkIds()).toEqual(["plain", "vital", "age"]);
    expect(plugins.sandbox.calls).toHaveLength(2);
  });
});

describe("hooks around checks", () => {
  it("may hold a check back, which is then skipped", async () => {
    await addHook("window", hookRole(["pre_check"]), veto("maintenance\u0007 until noon"));
    const { plain } = service.checks;
    const runs = plain.runs();
    expect(await check("plain")).toMatchObject({
      status: "skip",
      message: "held back by window: maintenance until noon",
      details: { held_back_by: "window" },
    });
    expect(plain.runs()).toBe(runs);
    expect(reported("window").at(-1)).toMatchObject({
      event: "pre_check",
      at: "2026-01-01T00:00:00.000Z",
      subject: { check_id: "plain", name: "Check of plain", category: "system", severity: "medium" },
    });
    expect(await metrics()).toContain('svc_plugin_runs_total{plugin="window",result="veto"}');
    await disable("window");
    expect(await check("plain")).toMatchObject({ status: "pass" });
  });

  it("are logged and counted where they give no answer", async () => {
    await addHook("window", hookRole(["pre_check"]), "veto: true");
    expect(await check("plain")).toMatchObject({ status: "pass" });
    expect(service.logLines()).toContainEqual(
      expect.objectContaining({ level: "warn", plugin: "window", event: "pre_check", msg: "no answer from a hook" }),
    );
    expect(await metrics()).toContain('svc_plugin_runs_total{plugin="window",result="failure"} 1');
  });

  it("are notified of what a check found", async () => {
    await addHook("listener", hookRole(["post_check"]));
    await check("plain");
    service.checks.plain.finds = "fail";
    await check("plain");
    await settled(service, () => reported("listener").length === 2);
    expect(reported("listener")).toMatchObject([
      { event: "post_check", subject: { check_id: "plain", status: "pass", previous_status: null } },
      { event: "post_check", subject: { check_id: "plain", status: "fail", previous_status: "pass" } },
    ]);
  });
});

describe("hooks around fixes", () => {
  const fix = (query = "") => post(`/health/checks/vital/fix${query}`);
  let done: number;
  beforeEach(() => {
    done = 0;
    service.checks.vital.finds = "fail";
    service.fixes.repair.planned = {
      steps: [
        {
          action: "repair it",
          run() {
            done += 1;
            service.checks.vital.finds = "pass";
            return Promise.resolve("repaired");
          },
        },
      ],
    };
  });

  it("may hold a fix back before anything is done", async () => {
    await addHook("freeze", hookRole(["pre_fix"]), veto("change freeze"));
    expect((await fix("?dry_run=true")).json).toMatchObject({ steps: ["ask the hook freeze (pre_fix)", "repair it"] });
    expect(plugins.sandbox.calls).toEqual([]);
    const refused = await fix();
    expect(refused.status).toBe(403);
    expect(refused.json).toMatchObject({
      error: {
        code: "FORBIDDEN",
        message: "cannot fix vital: held back by freeze: change freeze",
        details: { hook: "freeze", reason: "change freeze" },
      },
    });
    expect(done).toBe(0);
    expect(reported("freeze")).toMatchObject([
      {
        event: "pre_fix",
        subject: { check_id: "vital", fix_id: "repair", risk: "moderate", check: { status: "fail" } },
      },
    ]);
    await disable("freeze");
    expect((await fix()).json).toMatchObject({ success: true });
  });

  it("are notified of the result, and cannot break a fix", async () => {
    await addHook("listener", hookRole(["post_fix"]));
    plugins.sandbox.behave("a-broken", () => Promise.reject(new Error("out of order")));
    await add("a-broken", hookRole(["pre_fix", "post_fix"]));
    expect((await fix()).json).toMatchObject({ success: true });
    await settled(service, () => reported("listener").length === 1);
    expect(reported("listener")).toMatchObject([
      { event: "post_fix", subject: { check_id: "vital", fix_id: "repair", result: { success: true } } },
    ]);
    expect(done).toBe(1);
  });
});

describe("hooks around updates", () => {
  const apply = (query = "", body: unknown = {}) => post(`/updates/apply${query}`, body);
  beforeEach(() => service.packageManager.repository.set("editor", { version: "1.1", isSecurity: false }));

  it("may hold an update back before an operation is stored", async () => {
    await addHook("freeze", hookRole(["pre_update", "pre_rollback"]), veto("change freeze"));
    expect((await apply("?dry_run=true")).json).toMatchObject({
      steps: ["ask the hook freeze (pre_update)", "take a snapshot", "update editor from 1.0 to 1.1"],
    });
    const refused = await apply("", { packages: ["editor"] });
    expect(refused.status).toBe(403);
    expect(refused.json).toMatchObject({ error: { details: { hook: "freeze", reason: "change freeze" } } });
    expect((await get("/operations")).json).toMatchObject({ operations: [], total: 0 });
    expect(reported()).toMatchObject([
      {
        event: "pre_update",
        subject: { type: "packages", packages: ["editor"], create_snapshot: true, key_id: service.admin.slice(4, 12) },
      },
    ]);
    expect((await post("/updates/snapshots")).status).toBe(201);
    const snapshots = (await get("/updates/snapshots")).json as { snapshots: { id: string }[] };
    const id = snapshots.snapshots[0]?.id ?? "";
    expect((await post(`/updates/rollback/${id}?dry_run=true`)).json).toMatchObject({
      steps: ["ask the hook freeze (pre_rollback)", "verify the snapshot", "take a safety snapshot"],
    });
    const rollback = await post(`/updates/rollback/${id}`);
    expect(rollback.status).toBe(403);
    expect(reported().at(-1)).toMatchObject({ event: "pre_rollback", subject: { snapshot_id: id } });
    await disable("freeze");
    expect((await apply()).json).toMatchObject({ success: true });
  });

  it("hold back an update right after a start, but nothing in safe mode", async () => {
    await addHook("freeze", hookRole(["pre_update", "pre_check"]), veto("change freeze"));
    await restart();
    expect((await apply()).status).toBe(403);
    await service.clock.advance(20_000);
    expect([service.checks.plain.runs(), service.checks.vital.runs()]).toEqual([0, 0]);
    await restart({ isSafeMode: true });
    service.packageManager.repository.set("editor", { version: "1.1", isSecurity: false });
    expect((await apply()).json).toMatchObject({ success: true });
  });
});

describe("a start of the service", () => {
  it("continues where plugins cannot be loaded", async () => {
    await restart({ loadPlugins: () => Promise.reject(new Error("the disk is on fire")) });
    expect((await send(service, { path: "/readyz" })).status).toBe(200);
    expect(service.logLines()).toContainEqual(expect.objectContaining({ level: "error", msg: "cannot load plugins" }));
  });
});
