import { describe, expect, it } from "vitest";
import { readAdminKey } from "#app/admin-key.ts";
import type { HealthCheckList, HealthCheckResult } from "#contract/checks.ts";
import { type CliSetting, refusal, runInProcess } from "./cli-run.ts";
import { startTestService, type TestService } from "./harness.ts";
import { useSteward } from "./steward.ts";

let service: TestService;
const { steward, withScopes, url } = useSteward(async () => {
  service = await startTestService();
  return service;
});

describe("steward doctor", () => {
  it("prints a summary: exit code 0 for a healthy host, 1 for failed checks", async () => {
    expect(await steward("doctor")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/\nAll healthy: 2 checks\n$/),
    });
    service.checks.vital.finds = "fail";
    service.fixes.repair.planned = { steps: [{ action: "turn it off and on", run: () => Promise.resolve("turned") }] };
    await service.clock.advance(120_000);
    const ill = await steward("doctor");
    expect(ill).toMatchObject({ code: 1 });
    expect(ill.out).toMatch(/✗ fail vital {2}vital is fail\n/);
    expect(ill.out).toMatch(/\nProblems found: 1 failed of 2 checks; 1 can be fixed \(--fix\)\n$/);
    expect((await steward("doctor --check plain")).out).toBe(
      "system\n✓ pass plain  plain is pass\nAll healthy: 1 check\n",
    );
    service.checks.plain.finds = "skip";
    await service.clock.advance(120_000);
    expect((await steward("doctor")).out).not.toContain("plain");
    expect((await steward("doctor")).out).toContain(", 1 skipped (--skipped lists them)");
    expect((await steward("doctor --skipped")).out).toContain("- skip plain");
    service.checks.plain.finds = "pass";
    await service.clock.advance(120_000);
    expect(await steward("doctor --category nothing")).toMatchObject({
      code: 2,
      err: "steward: cannot check: there is no check of category nothing\n",
    });
    expect(JSON.parse((await steward("doctor --json")).out)).toMatchObject({ by: "the service", results: [{}, {}] });
  });

  const repairing = (): string[] => {
    const done: string[] = [];
    service.checks.vital.finds = "fail";
    service.fixes.repair.planned = {
      steps: [
        {
          action: "turn it off and on",
          run() {
            done.push("turned");
            service.checks.vital.finds = "pass";
            return Promise.resolve("done");
          },
        },
      ],
    };
    return done;
  };

  it("shows the plan of a fix, asks, carries it out, and runs the checks again", async () => {
    const done = repairing();
    const { code, out, err } = await steward("doctor --fix", { answers: ["y"], columns: 80 });
    expect(err).toBe("Do it? [y/N] ");
    expect(out).toMatch(
      /vital: repair \(moderate\)\n {2}1\. turn it off and on\n {2}done: turn it off and on: done\nfixed: /,
    );
    expect(out).toMatch(/\nAll healthy: 2 checks\n$/);
    expect({ code, done }).toEqual({ code: 0, done: ["turned"] });
  });

  it("shows the plans of all fixes in a dry run, and asks and changes nothing", async () => {
    const done = repairing();
    const { code, out, err } = await steward("doctor --fix --dry-run");
    expect({ code, err, done }).toEqual({ code: 1, err: "", done: [] });
    expect(out).toMatch(
      /\nvital: repair \(moderate\)\n {2}1\. turn it off and on\n\nProblems found: 1 failed of 2 checks/,
    );
    expect(JSON.parse((await steward("doctor --fix --dry-run --json")).out)).toMatchObject({
      fixes: [{ check_id: "vital", plan: { dry_run: true, steps: ["turn it off and on"] }, result: null }],
    });
    expect(await steward("doctor --dry-run")).toMatchObject(refusal("--dry-run needs --fix"));
    expect(done).toEqual([]);
  });

  it("reports fixes as JSON with --yes", async () => {
    const done = repairing();
    expect(await steward("doctor --fix --json", { answers: ["y"] })).toMatchObject(refusal("add --yes"));
    expect(done).toEqual([]);
    const { code, out, err } = await steward("doctor --fix --json --yes");
    expect({ code, err, done }).toEqual({ code: 0, err: "", done: ["turned"] });
    expect(JSON.parse(out)).toMatchObject({
      by: "the service",
      results: expect.arrayContaining([expect.objectContaining({ check_id: "vital", status: "pass" })]),
      fixes: [
        {
          check_id: "vital",
          plan: { dry_run: true, steps: ["turn it off and on"] },
          result: { success: true, steps: [{ status: "done" }] },
        },
      ],
    });
  });

  it("leaves alone what its key may not fix, names the missing scope, and fixes the rest", async () => {
    const done = repairing();
    const allowed = withScopes("health:read", "health:fix");
    service.fixes.repair.alsoNeeds = ["updates:apply"];
    const { code, out, err } = await steward("doctor --fix --yes", allowed);
    expect([code, err, done]).toEqual([1, "", []]);
    expect(out).toMatch(/\nvital\nleft alone: cannot fix vital by repair: this key lacks the scope updates:apply\n/);
    const asked = await steward("doctor --fix --yes --json", allowed);
    expect(JSON.parse(asked.out)).toMatchObject({ fixes: [{ check_id: "vital", plan: null, result: null }] });
    service.fixes.repair.alsoNeeds = [];
    expect(await steward("doctor --fix --yes", allowed)).toMatchObject({ code: 0 });
    expect(done).toEqual(["turned"]);
  });

  it("reports risky fixes that were left alone as JSON", async () => {
    const ill = { status: "fail", message: "ill", details: {}, fixId: "rebuild" } as const;
    service.checks.vital.finds = () => Promise.resolve(ill);
    service.fixes.rebuild.planned = { steps: [{ action: "rebuild it", run: () => Promise.resolve("rebuilt") }] };
    const { code, out } = await steward("doctor --fix --json --yes");
    expect([code, JSON.parse(out)]).toEqual([
      1,
      expect.objectContaining({ fixes: [{ check_id: "vital", plan: expect.anything(), result: null }] }),
    ]);
  });

  it("says at Ctrl-C that a fix continues, and how to see the result", async () => {
    const done = repairing();
    const ctrlC = new AbortController();
    const hold = Promise.withResolvers<void>();
    service.fixes.repair.planned = {
      steps: [
        {
          action: "turn it off and on",
          async run() {
            ctrlC.abort();
            await hold.promise;
            done.push("turned");
            service.checks.vital.finds = "pass";
            return "done";
          },
        },
      ],
    };
    expect(await steward("doctor --fix --yes", { interrupt: ctrlC.signal })).toMatchObject({
      code: 130,
      err: "steward: the fix continues; to see the result: steward doctor --check vital\n",
    });
    hold.resolve();
    await expect.poll(() => done).toEqual(["turned"]);
    expect(await steward("doctor --check vital")).toMatchObject({ code: 0 });
  });

  it("fixes nothing without a yes, or without a terminal to ask", async () => {
    const done = repairing();
    expect(await steward("doctor --fix", { answers: ["n"] })).toMatchObject({
      code: 1,
      out: expect.not.stringContaining("turn it off"),
      // The question and its plan are not in a file that standard output may be.
      err: "\nvital: repair (moderate)\n  1. turn it off and on\nDo it? [y/N] steward: nothing was done\n",
    });
    expect(await steward("doctor --fix")).toMatchObject({
      ...refusal("there is nobody at a terminal (--yes does it without asking)"),
      out: expect.stringContaining("turn it off and on"),
    });
    expect(done).toEqual([]);
    expect((await steward("doctor --fix --yes")).code).toBe(0);
    expect(done).toEqual(["turned"]);
  });

  it("leaves risky fixes alone without --confirm", async () => {
    let done = 0;
    service.checks.vital.finds = () =>
      Promise.resolve(
        done > 0
          ? { status: "pass", message: "", details: {} }
          : { status: "fail", message: "ill", details: {}, fixId: "rebuild" },
      );
    service.fixes.rebuild.planned = {
      steps: [
        {
          action: "rebuild it",
          run() {
            done += 1;
            return Promise.resolve("");
          },
        },
      ],
    };
    const careful = await steward("doctor --fix --yes");
    expect(careful).toMatchObject({
      code: 1,
      out: expect.stringContaining("left alone: it is risky (--yes --confirm"),
    });
    expect(done).toBe(0);
    expect((await steward("doctor --fix --yes --confirm")).code).toBe(0);
    expect(done).toBe(1);
  });

  it("makes `steward api` exit with 1 for a fix that failed", async () => {
    repairing();
    service.fixes.repair.planned = {
      steps: [{ action: "turn it off and on", run: () => Promise.reject(new Error("it is stuck")) }],
    };
    const failed = await steward("api fix-check vital --yes");
    expect([failed.code, JSON.parse(failed.out)]).toEqual([1, expect.objectContaining({ success: false })]);
    repairing();
    const done = await steward("api fix-check vital --yes");
    expect([done.code, JSON.parse(done.out)]).toEqual([0, expect.objectContaining({ success: true })]);
  });

  const here: HealthCheckList = {
    summary: { total: 1, passed: 1, warned: 0, failed: 0, skipped: 0, duration_ms: 1 },
    results: [
      {
        check_id: "memory",
        name: "Memory",
        status: "pass",
        message: "fine",
        details: {},
        duration_ms: 1,
        category: "memory",
        severity: "high",
        checked_at: "2026-01-01T00:00:00.000Z",
        fixable: false,
        since: "2026-01-01T00:00:00.000Z",
        consecutive_failures: 0,
      },
    ],
  };
  const alone = (): NonNullable<CliSetting["local"]> => ({
    localService: () => Promise.reject(new Error("cannot find a key: there is none")),
    runChecks: () => Promise.resolve(here),
  });

  it("runs the checks itself with --offline, and then fixes nothing", async () => {
    expect(await steward("doctor --offline", { local: alone() })).toEqual({
      code: 0,
      out: "memory\n✓ pass memory  fine\nAll healthy: 1 check\n",
      err: "steward: checking without the service, read-only: as requested (--offline)\n",
    });
    expect(await steward("doctor --offline --fix", { local: alone() })).toMatchObject({
      ...refusal("cannot fix anything without the service"),
      out: expect.any(String),
    });
  });

  it("ends at Ctrl-C while it runs the checks itself", async () => {
    const ctrlC = new AbortController();
    const runChecks = () => {
      setImmediate(() => ctrlC.abort());
      return new Promise<never>(() => undefined);
    };
    const local = { ...alone(), runChecks };
    expect(await steward("doctor --offline", { local, interrupt: ctrlC.signal })).toEqual({
      code: 130,
      out: "",
      err: "steward: checking without the service, read-only: as requested (--offline)\nsteward: ended by Ctrl-C\n",
    });
  });

  it("explains each unhealthy finding with --why", async () => {
    const [plain] = here.results;
    if (plain === undefined) throw new Error("there is no result");
    const result = (check_id: string, status: HealthCheckResult["status"]): HealthCheckResult => ({
      ...plain,
      check_id,
      status,
      message: `${check_id} is ${status}`,
    });
    const results = [
      result("memory", "pass"),
      result("disk_space", "warn"),
      result("apt_status", "fail"),
      result("of_a_plugin", "fail"),
    ];
    const local = { ...alone(), runChecks: () => Promise.resolve({ ...here, results }) };
    const lines = (await steward("doctor --offline --why", { local })).out.split("\n");
    const below = (id: string) => lines.slice(lines.findIndex((line) => line.includes(`${id} is`)) + 1).slice(0, 2);
    expect(below("disk_space")).toEqual([
      "       why: A file system is nearly full: programs that write to it will fail.",
      expect.stringMatching(/^ {7}do: {2}Find what grew /),
    ]);
    expect(below("apt_status")).toEqual([
      expect.stringMatching(/^ {7}why: The package database /),
      expect.stringMatching(/^ {7}do: {2}Finish what was interrupted /),
    ]);
    expect(lines.filter((line) => line.startsWith(" "))).toHaveLength(4);
    expect((await steward("doctor --offline", { local })).out).not.toContain("why:");
  });

  it("runs the checks itself where the local service does not run, and never for another host", async () => {
    await service.app.close();
    const local = {
      ...alone(),
      localService: () => Promise.resolve({ url: url(), adminKeyFile: "/nowhere", readAdminKey }),
    };
    const environment = { STEWARD_API_KEY: service.admin };
    const found = await runInProcess(["doctor"], { environment, local });
    expect(found).toMatchObject({
      code: 0,
      err: expect.stringMatching(/without the service, read-only: cannot reach/),
    });
    const keyless = await runInProcess(["doctor"], { local });
    expect(keyless).toMatchObject({ code: 0, err: expect.stringMatching(/read-only: cannot find a key: \/nowhere/) });
    const elsewhere = await runInProcess(["doctor"], { environment: { ...environment, STEWARD_URL: url() }, local });
    expect(elsewhere).toMatchObject(refusal(/^steward: cannot reach the service: /));
  });
});
