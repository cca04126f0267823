import type { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { roles } from "#contract/scopes.ts";
import type { FixPlan } from "#domain/health/fix.ts";
import { plainManifest } from "../fakes/plugin-directories.ts";
import { errorWith, messageOf, send, startTestService, type TestReply, type TestService } from "./harness.ts";

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});
afterEach(() => service.app.close());

const fix = (id: string, rest: { query?: string; body?: unknown; key?: string } = {}): Promise<TestReply> => {
  const { query = "", body, key = service.admin } = rest;
  return send(service, { method: "POST", path: `/api/v1/health/checks/${id}/fix${query}`, key, body });
};

/** Steps that note that they were done; `repairs` is done by the last one. */
function planOf(done: string[], actions: readonly string[], repairs?: () => void): FixPlan {
  return {
    steps: actions.map((action, at) => ({
      action,
      run() {
        done.push(action);
        if (action.startsWith("break")) return Promise.reject(new Error("the disk is on fire"));
        if (at === actions.length - 1) repairs?.();
        return Promise.resolve(`${action}: done`);
      },
    })),
  };
}

describe("POST /health/checks/{check_id}/fix", () => {
  it("carries out the steps, runs the check again and reports both", async () => {
    const { vital } = service.checks;
    const done: string[] = [];
    vital.finds = "fail";
    service.fixes.repair.planned = planOf(done, ["stop it", "start it"], () => {
      vital.finds = "pass";
    });
    const reply = await fix("vital");
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({
      success: true,
      fix_id: "repair",
      message: "repair is done: vital is pass",
      risk: "moderate",
      steps: [
        { action: "stop it", status: "done", message: "stop it: done", duration_ms: 0 },
        { action: "start it", status: "done", message: "start it: done", duration_ms: 0 },
      ],
      check: expect.objectContaining({ check_id: "vital", status: "pass", fixable: false, fix_id: "repair" }),
    });
    expect(done).toEqual(["stop it", "start it"]);
  });

  it("shows its plan on a dry run, and changes nothing", async () => {
    const done: string[] = [];
    service.checks.vital.finds = "fail";
    service.fixes.repair.planned = {
      ...planOf(done, ["stop it", "start it"]),
      units: ["it.service"],
      packages: ["it"],
      downloadBytes: 5,
      freesBytes: 7,
    };
    const { status, json } = await fix("vital", { query: "?dry_run=true" });
    expect([status, json]).toEqual([
      200,
      {
        dry_run: true,
        steps: ["stop it", "start it"],
        units: ["it.service"],
        packages: ["it"],
        bytes: 5,
        frees_bytes: 7,
        requires_reboot: false,
        plan_token: expect.any(String),
        plan_expires_at: expect.any(String),
        fix_id: "repair",
        risk: "moderate",
      },
    ]);
    expect(done).toEqual([]);
  });

  it("changes nothing where the check passes or is skipped", async () => {
    const done: string[] = [];
    service.fixes.repair.planned = planOf(done, ["stop it"]);
    for (const status of ["pass", "skip"] as const) {
      service.checks.vital.finds = status;
      const message = `nothing to fix: vital is ${status}`;
      expect((await fix("vital")).json).toMatchObject({ success: true, message, steps: [], check: { status } });
      const { json } = await fix("vital", { query: "?dry_run=true" });
      expect(json).toMatchObject({ dry_run: true, steps: [], fix_id: "repair", reason: message });
    }
    // Also where the check says that no fix repairs what it skips.
    service.checks.vital.finds = () =>
      Promise.resolve({ status: "skip", message: "nobody can tell", details: {}, fixId: null });
    expect(await fix("vital")).toMatchObject({ status: 200, json: { success: true, steps: [] } });
    expect(done).toEqual([]);
  });

  it("ends at a step that fails, and skips the rest", async () => {
    const done: string[] = [];
    service.checks.vital.finds = "fail";
    service.fixes.repair.planned = planOf(done, ["stop it", "break it", "start it"]);
    expect((await fix("vital")).json).toMatchObject({
      success: false,
      message: "repair could not break it: the disk is on fire",
      steps: [
        { action: "stop it", status: "done" },
        { action: "break it", status: "failed", message: "the disk is on fire" },
        { action: "start it", status: "skipped", message: "a step before it failed" },
      ],
      check: { status: "fail" },
    });
    expect(done).toEqual(["stop it", "break it"]);
  });

  it("is a success when its steps succeeded, and says what is still wrong", async () => {
    const { vital } = service.checks;
    vital.finds = "fail";
    service.fixes.repair.planned = planOf([], ["stop it"]);
    expect((await fix("vital")).json).toMatchObject({
      success: true,
      message: "repair is done (stop it: done); it is not enough: vital is fail",
      check: { status: "fail", fixable: true },
    });
    service.fixes.repair.planned = planOf([], ["stop it"], () => {
      vital.finds = "warn";
    });
    expect((await fix("vital")).json).toMatchObject({
      success: true,
      message: "repair is done (stop it: done); it is better, but not healthy: vital is warn",
    });
    const many = ["one", "two", "three", "four", "five"];
    service.fixes.repair.planned = planOf([], many);
    expect((await fix("vital")).json).toMatchObject({
      message: "repair is done (one: done; two: done; three: done; and 2 more steps); it is not enough: vital is warn",
    });
  });

  it("is offered only where its plan has steps", async () => {
    const { vital } = service.checks;
    const found = async () => (await send(service, { path: "/api/v1/health/checks/vital", key: service.admin })).json;
    vital.finds = "fail";
    service.fixes.repair.planned = { steps: [], reason: "all of it is in use" };
    expect(await found()).toMatchObject({ status: "fail", fixable: false, fix_id: "repair" });
    // It may be asked for all the same, and says why it did nothing.
    expect((await fix("vital")).json).toMatchObject({
      success: false,
      message: "repair did nothing: all of it is in use",
    });
    vital.finds = "warn";
    service.fixes.repair.planned = planOf([], ["repair it"]);
    expect(await found()).toMatchObject({ status: "warn", fixable: true, fix_id: "repair" });
    // The last of what it could do.
    service.fixes.repair.planned = planOf([], ["repair it"], () => {
      service.fixes.repair.planned = { steps: [] };
    });
    expect((await fix("vital")).json).toMatchObject({ success: true, check: { status: "warn", fixable: false } });
  });

  it("is a success when what it was for is gone and something else is wrong", async () => {
    const { vital } = service.checks;
    vital.finds = "fail";
    service.fixes.rebuild.planned = planOf([], ["rebuild it"]);
    service.fixes.repair.planned = planOf([], ["repair it"], () => {
      vital.finds = () => Promise.resolve({ status: "fail", message: "also worn out", details: {}, fixId: "rebuild" });
    });
    expect((await fix("vital")).json).toMatchObject({
      success: true,
      message: "repair is done; another problem remains: also worn out",
      check: { status: "fail", fixable: true, fix_id: "rebuild" },
    });
  });

  it("does not take a check that fails itself for another finding", async () => {
    const { vital } = service.checks;
    vital.finds = () => Promise.resolve({ status: "fail", message: "worse", details: {}, fixId: "rebuild" });
    service.fixes.rebuild.planned = planOf([], ["rebuild it"], () => {
      vital.finds = () => Promise.reject(new Error("nobody answers"));
    });
    expect((await fix("vital", { body: { confirm: true } })).json).toMatchObject({
      success: true,
      message:
        "rebuild completed all its steps (rebuild it: done); it is unknown whether it helped: The check itself failed: nobody answers",
      check: { status: "fail", fixable: false },
    });
    const reply = await fix("vital");
    expect(reply.status).toBe(400);
    expect(reply.json).toMatchObject({
      error: { details: { issue: "there is no fix for what was found: The check itself failed: nobody answers" } },
    });
  });

  it("says that its result is unknown where the service stops during the check", async () => {
    const { vital } = service.checks;
    const gate = Promise.withResolvers<string>();
    const started = Promise.withResolvers<void>();
    vital.finds = "fail";
    const run = (): Promise<string> => {
      started.resolve();
      return gate.promise;
    };
    service.fixes.repair.planned = { steps: [{ action: "wait", run }] };
    const reply = fix("vital");
    await started.promise;
    const closed = service.app.close();
    vital.finds = () => new Promise(() => undefined);
    gate.resolve("over");
    expect((await reply).json).toMatchObject({
      success: false,
      message: "repair completed all its steps; it is unknown whether it helped: the service is stopping",
      check: { message: "vital is fail" },
    });
    await closed;
  });

  it("reports why it could not be planned", async () => {
    service.checks.vital.finds = "fail";
    service.fixes.repair.planned = () => Promise.reject(new Error("nobody answers"));
    expect((await fix("vital")).json).toMatchObject({ success: false, message: "repair did nothing: nobody answers" });
    expect(await fix("vital", { query: "?dry_run=true" })).toMatchObject({
      status: 200,
      json: { dry_run: true, steps: [], reason: "nobody answers" },
    });
  });

  it("carries out a risky fix only with a confirmation", async () => {
    const { vital } = service.checks;
    const done: string[] = [];
    vital.finds = () => Promise.resolve({ status: "fail", message: "worse", details: {}, fixId: "rebuild" });
    service.fixes.rebuild.planned = planOf(done, ["rebuild it"]);
    for (const body of [undefined, {}, { confirm: false }]) {
      const reply = await fix("vital", { body });
      expect(reply.status).toBe(400);
      expect(reply.json).toMatchObject({ error: { details: { field: "confirm", issue: "Must be true" } } });
    }
    expect((await fix("vital", { query: "?dry_run=true" })).json).toMatchObject({ risk: "risky" });
    expect(done).toEqual([]);
    expect((await fix("vital", { body: { confirm: true } })).json).toMatchObject({ fix_id: "rebuild", risk: "risky" });
    expect(done).toEqual(["rebuild it"]);
  });

  it("refuses a finding without a fix", async () => {
    service.checks.vital.finds = () =>
      Promise.resolve({ status: "warn", message: "held on purpose", details: {}, fixId: null });
    const reply = await fix("vital");
    expect(reply.status).toBe(400);
    expect(reply.json).toMatchObject({
      error: { details: { field: "check_id", issue: "there is no fix for what was found: held on purpose" } },
    });
  });

  it("runs one of a kind at a time, and another kind beside it", async () => {
    const { vital } = service.checks;
    const gate = Promise.withResolvers<string>();
    vital.finds = "fail";
    service.fixes.repair.planned = { steps: [{ action: "wait", run: () => gate.promise }] };
    const first = fix("vital");
    await expect.poll(async () => (await fix("vital")).status).toBe(409);
    expect((await fix("vital")).json).toMatchObject(errorWith("CONFLICT", { operation_id: "operation-1" }));
    vital.finds = () => Promise.resolve({ status: "fail", message: "worse", details: {}, fixId: "rebuild" });
    service.fixes.rebuild.planned = planOf([], ["rebuild it"]);
    expect((await fix("vital", { body: { confirm: true } })).status).toBe(200);
    vital.finds = "pass";
    gate.resolve("over");
    expect((await first).json).toMatchObject({ success: true });
    vital.finds = "fail";
    service.fixes.repair.planned = planOf([], ["stop it"]);
    expect((await fix("vital")).status).toBe(200);
  });

  it("reports the steps at the time limit, and does not begin the next", async () => {
    const { vital } = service.checks;
    vital.finds = "fail";
    const started = Promise.withResolvers<void>();
    const untilAborted = (signal: AbortSignal): Promise<string> =>
      new Promise((_, reject) => {
        started.resolve();
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      });
    const next = { action: "continue", run: () => Promise.resolve("continued") };
    service.fixes.repair.planned = { steps: [{ action: "wait", run: untilAborted }, next] };
    const reply = fix("vital");
    await started.promise;
    await service.clock.advance(10 * 60_000);
    expect((await reply).json).toMatchObject({
      success: false,
      steps: [{ status: "failed", message: "not done within 600 s" }, { status: "skipped" }],
    });
  });

  it("runs the check after the fix, not with a run that began before", async () => {
    const { vital } = service.checks;
    vital.finds = "fail";
    const old = Promise.withResolvers<void>();
    let other: Promise<TestReply> | undefined;
    const step = async (): Promise<string> => {
      vital.finds = async () => {
        await old.promise;
        return { status: "fail", message: "as it was", details: {} };
      };
      const runs = vital.runs();
      other = send(service, { path: "/api/v1/health/checks/vital", key: service.admin });
      await expect.poll(() => vital.runs()).toBe(runs + 1);
      vital.finds = "pass";
      return "repaired";
    };
    service.fixes.repair.planned = { steps: [{ action: "repair it", run: step }] };
    const reply = fix("vital");
    await expect.poll(() => other !== undefined).toBe(true);
    old.resolve();
    expect((await reply).json).toMatchObject({ success: true, check: { status: "pass" } });
    expect((await other)?.json).toMatchObject({ status: "fail", message: "as it was" });
  });

  it("keeps its connection open while nothing moves on it", async () => {
    const { vital } = service.checks;
    const sockets: Socket[] = [];
    service.app.server.on("connection", (socket: Socket) => sockets.push(socket));
    const url = await service.app.listen({ host: "127.0.0.1", port: 0 });
    const gate = Promise.withResolvers<string>();
    vital.finds = "fail";
    service.fixes.repair.planned = { steps: [{ action: "wait", run: () => gate.promise }] };
    const reply = fetch(`${url}/api/v1/health/checks/vital/fix`, {
      method: "POST",
      headers: { "X-API-Key": service.admin },
    });
    await expect.poll(() => sockets[0]?.timeout).toBe(0);
    gate.resolve("over");
    expect((await reply).status).toBe(200);
    await expect.poll(() => sockets[0]?.timeout).toBeGreaterThan(0);
  });

  it("audits the operation that it begins, also where it fails", async () => {
    const { vital } = service.checks;
    const begin: FixPlan["steps"][number]["run"] = (_, onOperation) => {
      onOperation?.("operation-of-updates");
      return Promise.reject(new Error("no luck"));
    };
    vital.finds = "fail";
    service.fixes.repair.planned = { steps: [{ action: "begin it", run: begin }] };
    await fix("vital");
    const target = { check_id: "vital", fix_id: "repair" };
    expect(service.audit.entries).toMatchObject([
      { operation: "fixCheck", target, operation_id: "operation-of-updates", status: 200, outcome: "failed" },
    ]);
  });

  it("says what it leaves alone, in its plan and its result", async () => {
    const { vital } = service.checks;
    vital.finds = "fail";
    const plan = planOf([], ["stop it"], () => {
      vital.finds = "pass";
    });
    service.fixes.repair.planned = { ...plan, reason: "notes.txt stays" };
    expect((await fix("vital", { query: "?dry_run=true" })).json).toMatchObject({
      steps: ["stop it"],
      reason: "notes.txt stays",
    });
    expect((await fix("vital")).json).toMatchObject({ message: "repair is done: vital is pass; notes.txt stays" });
  });

  it("is audited, logged and counted", async () => {
    const { vital } = service.checks;
    vital.finds = "fail";
    service.fixes.repair.planned = planOf([], ["break it"]);
    await fix("vital");
    service.fixes.repair.planned = planOf([], ["repair it"], () => {
      vital.finds = "pass";
    });
    await fix("vital");
    expect(service.audit.entries).toMatchObject([
      { operation: "fixCheck", target: { check_id: "vital", fix_id: "repair" }, status: 200 },
      { operation: "fixCheck", target: { check_id: "vital", fix_id: "repair" }, status: 200 },
    ]);
    const logged = service.logLines().filter(({ msg }) => ["cannot fix a check", "check fixed"].includes(String(msg)));
    expect(logged).toMatchObject([
      { level: "warn", msg: "cannot fix a check", check: "vital", fix: "repair", operation_id: "operation-1" },
      { level: "info", msg: "check fixed", check: "vital", fix: "repair", operation_id: "operation-2" },
    ]);
    const { text } = await send(service, { path: "/metrics", key: service.admin });
    expect(text).toContain('svc_check_fixes_total{fix="repair",result="success"} 1');
    expect(text).toContain('svc_check_fixes_total{fix="repair",result="failure"} 1');
  });
});

describe("the scopes of a fix", () => {
  const done: string[] = [];
  beforeEach(() => {
    done.length = 0;
    service.checks.vital.finds = "fail";
    service.fixes.repair.planned = planOf(done, ["do it"]);
  });
  const missing = (required: string) => ({
    status: 403,
    json: errorWith("FORBIDDEN", { required_scope: required, granted: expect.any(Array) }),
  });
  /** Both answers of a call and of its dry run, which are to be alike. */
  const bothWays = async (scopes: readonly string[]): Promise<TestReply> => {
    const key = service.key(scopes);
    const dry = await fix("vital", { key, query: "?dry_run=true" });
    const real = await fix("vital", { key });
    expect([dry.status, real.status]).toEqual([real.status, real.status]);
    return real;
  };
  const hookFor = async (): Promise<readonly unknown[]> => {
    const { plugins, admin } = service;
    const role = { type: "hook", events: ["pre_fix"], onFailure: "allow" } as const;
    plugins.directories.put("watcher", { ...plainManifest("watcher"), role });
    await send(service, { method: "POST", path: "/api/v1/plugins/watcher/enable", key: admin });
    return plugins.sandbox.calls;
  };

  it.each(["updates:apply", "services:restart", "updates:read"] as const)(
    "of a fix that needs %s are that and health:fix, before anything is run",
    async (scope) => {
      service.fixes.repair.alsoNeeds = [scope];
      service.fixes.rebuild.alsoNeeds = [scope];
      const asked = await hookFor();
      const runs = service.checks.vital.runs();
      for (const scopes of [["health:fix"], ["health:fix:vital"], roles.admin.filter((each) => each !== scope)]) {
        expect(await bothWays(scopes)).toMatchObject(missing(scope));
      }
      expect(messageOf(await bothWays(["health:fix", `${scope}@db-*`]))).toBe(
        `cannot fix vital by repair: this key lacks the scope ${scope} on this host: it has ${scope}@db-*`,
      );
      expect([done, asked, service.checks.vital.runs()]).toEqual([[], [], runs]);
      expect(await bothWays(["health:fix:vital", scope])).toMatchObject({ status: 200 });
      expect([done, asked.length]).toEqual([["do it"], 1]);
      expect(service.audit.entries.find(({ status }) => status === 403)).toMatchObject({
        operation: "fixCheck",
        outcome: "refused",
        error: "FORBIDDEN",
      });
    },
  );

  it("are those of the fix that would be used, whatever its plan is", async () => {
    service.fixes.rebuild.alsoNeeds = ["updates:apply"];
    expect(await bothWays(["health:fix"])).toMatchObject({ status: 200 });
    const found = (status: "fail" | "pass") => () =>
      Promise.resolve({ status, message: "", details: {}, ...(status === "fail" && { fixId: "rebuild" }) });
    service.checks.vital.finds = found("fail");
    expect(await bothWays(["health:fix"])).toMatchObject(missing("updates:apply"));
    service.fixes.repair.alsoNeeds = ["updates:apply"];
    service.fixes.rebuild.alsoNeeds = [];
    service.checks.vital.finds = found("pass");
    expect(await bothWays(["health:fix"])).toMatchObject(missing("updates:apply"));
  });

  it("on units have to cover every unit of the plan", async () => {
    service.fixes.repair.alsoNeeds = ["services:restart"];
    const asked = await hookFor();
    const plan = (units?: readonly string[]): void => {
      service.fixes.repair.planned = { ...planOf(done, ["restart"]), ...(units !== undefined && { units }) };
    };
    const narrowed = ["health:fix", "services:restart:a.service", "services:restart:app-*"];
    plan(["a.service", "app-1.service", "b.service"]);
    expect(await bothWays(narrowed)).toMatchObject(missing("services:restart:b.service"));
    // A plan that does not say which units it touches may touch any.
    for (const units of [undefined, []]) {
      plan(units);
      expect(await bothWays(narrowed)).toMatchObject(missing("services:restart"));
    }
    expect([done, asked]).toEqual([[], []]);
    plan(["a.service", "app-1.service"]);
    expect(await bothWays(narrowed)).toMatchObject({ status: 200 });
    expect(done).toEqual(["restart"]);
    service.fixes.repair.planned = { steps: [], reason: "no unit is in the failed state any more" };
    expect(await bothWays(narrowed)).toMatchObject({ status: 200 });
  });

  it("leave no lock behind when they refuse a fix", async () => {
    service.fixes.repair.alsoNeeds = ["services:restart"];
    service.fixes.repair.planned = { ...planOf(done, ["restart"]), units: ["b.service"] };
    const key = service.key(["health:fix", "services:restart:a.service"]);
    expect((await fix("vital", { key })).status).toBe(403);
    expect((await fix("vital")).status).toBe(200);
  });
});
