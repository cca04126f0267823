import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readAdminKey } from "#app/admin-key.ts";
import type { HealthCheckList } from "#contract/checks.ts";
import { type CliSetting, runInProcess } from "./cli-run.ts";
import { startTestService, type TestService } from "./harness.ts";

let service: TestService;
let url: string;
beforeEach(async () => {
  service = await startTestService();
  url = await service.app.listen({ host: "127.0.0.1", port: 0 });
});
afterEach(() => {
  service.service.cut();
  return service.app.close();
});

const steward = (argv: readonly string[], { environment, ...setting }: CliSetting = {}) =>
  runInProcess(argv, {
    environment: { STEWARD_URL: url, STEWARD_API_KEY: service.admin, ...environment },
    now: service.clock.now,
    ...setting,
  });
const withScopes = (...scopes: readonly string[]) => ({ environment: { STEWARD_API_KEY: service.key(scopes) } });

describe("a word that is no command of its group", () => {
  it.each([
    [
      ["updates", "install"],
      "steward: unknown command 'install' of updates: there are check, apply, stale, restart-stale, history",
    ],
    [
      ["updates", "aply", "--guard"],
      "steward: unknown command 'aply' of updates: there are check, apply, stale, restart-stale, history",
    ],
    [["keys", "x\u001b[2J\ny"], "steward: unknown command 'x [2J y' of keys: there are create, list, revoke"],
  ])("is said to be none: %j", async (argv, message) => {
    expect(await steward(argv)).toEqual({ code: 2, out: "", err: `${message} (--help says more)\n` });
  });

  it("is none where its group does not end there", async () => {
    expect(await steward(["updates", "check", "x"])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/too many arguments/),
    });
    expect((await steward(["updates", "--json"])).code).toBe(0);
    expect((await steward(["updates"])).code).toBe(0);
  });
});

describe("steward status", () => {
  it("says at a glance how the host is", async () => {
    const { code, out, err } = await steward(["status"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/ healthy\n/);
    expect(out).toMatch(/ system {2}\S+/);
    expect(out).toMatch(/ service {2}version 1\.2\.3/);
    expect(out).toMatch(/ failed {2}broken\.service \(failed\)\n/);
  });

  it("names what is not well, with exit code 1, and fits the terminal", async () => {
    service.checks.vital.finds = () =>
      Promise.resolve({ status: "fail", message: `on\nfire${"!".repeat(99)}`, details: {} });
    await steward(["check", "vital"]);
    const { code, out } = await steward(["status"], { columns: 40, hasColours: true });
    expect(code).toBe(1);
    expect(out).toContain("\u001b[31munhealthy\u001b[39m");
    expect(out).toContain("\u001b[31mvital: on fire!!!!!!!!!!!!!…\u001b[39m");
  });

  it("does not miss a language model where none is configured", async () => {
    expect((await steward(["status"])).out).toMatch(/^components {2}healthy; llm not configured$/m);
    // Who may not see connectors is told what /health says.
    expect((await steward(["status"], withScopes("health:read"))).out).toMatch(/^components {2}unhealthy: llm$/m);
  });

  it("leaves out what the key may not see", async () => {
    const { code, out, err } = await steward(["status"], withScopes("health:read"));
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).not.toContain("system");
    expect(out).not.toContain("broken");
    const refused = await steward(["status"], withScopes("system:read"));
    expect(refused).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringMatching(/^steward: this key lacks the scope health:read \(FORBIDDEN, request \S+\)\n$/),
    });
  });
});

describe("steward services", () => {
  it("lists services, or those in a state", async () => {
    expect((await steward(["services"])).out).toMatch(/^SERVICE +STATE .*\n.*broken\.service +failed/s);
    const { out } = await steward(["services", "--status", "failed"]);
    expect(out).toContain("broken.service");
    expect(out).not.toContain("cron.service");
    expect((await steward(["services", "-n", "2"])).out).toMatch(/\n2 of 5 services \(--limit shows more\)\n$/);
    expect(JSON.parse((await steward(["services", "list", "--json"])).out)).toMatchObject({ total: 5 });
  });

  it("restarts one, or says what would be done", async () => {
    expect((await steward(["services", "restart", "cron", "--dry-run"])).out).toMatch(/^ {2}1\. .*cron\.service/);
    expect(service.units.actions).toEqual([]);
    expect(await steward(["services", "restart", "cron"])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^cron\.service restarted, it is active \(running\)\n$/),
    });
    expect(await steward(["services", "restart", "no-such"])).toMatchObject({
      code: 2,
      err: expect.stringContaining("NOT_FOUND"),
    });
    expect(await steward(["services", "restart", "cron"], withScopes("services:restart:ssh.service"))).toMatchObject({
      code: 2,
      err: expect.stringContaining("lacks the scope services:restart:cron.service"),
    });
  });
});

describe("steward logs", () => {
  beforeEach(() => {
    const now = service.clock.now() * 1000;
    service.journal.write({ message: "long ago", time: now - 2 * 3_600_000_000 });
    service.journal.write({
      message: "out of memory",
      unit: "kernel",
      identifier: "kernel",
      pid: null,
      priority: 3,
      time: now - 60_000_000,
    });
    service.journal.write({ message: "one\ntwo \u001b[2J", unit: "app-1.service", identifier: "app" });
  });

  it("prints entries as journalctl does", async () => {
    const { code, out, err } = await steward(["logs"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(
      /^\w{3} \d\d \d\d:\d\d:\d\d testhost kernel: out of memory\n\w{3} \d\d \d\d:\d\d:\d\d testhost app\[42\]: one\n {31,}two \n$/,
    );
  });

  it("asks for what the flags of journalctl say", async () => {
    await steward(["logs", "-u", "nginx", "-p", "warning", "-g", "time", "-t", "x", "-n", "5", "-r", "--since", "-1h"]);
    expect(service.journal.queries.at(-1)).toMatchObject({ limit: 5, order: "desc" });
    expect((await steward(["logs", "-n", "1", "-r", "-o", "cat"])).out).toBe("one\ntwo \n");
    expect((await steward(["logs", "-n", "9", "-o", "cat"])).out).toContain("long ago");
    expect((await steward(["logs", "-p", "err", "-o", "cat"])).out).toBe("out of memory\n");
    expect((await steward(["logs", "-k", "-o", "cat"])).out).toBe("out of memory\n");
    expect(
      (await steward(["logs", "-o", "json"])).out
        .split("\n")
        .filter(Boolean)
        .map((line) => (JSON.parse(line) as { pid: unknown }).pid),
    ).toEqual([null, 42]);
    expect(JSON.parse((await steward(["logs", "--json"])).out)).toMatchObject({ total: 2, logs: [{}, {}] });
  });

  it("says at a terminal that there is nothing, or more", async () => {
    expect((await steward(["logs", "-n", "1"], { columns: 80 })).err).toMatch(/^-- 1 of 3 entries/);
    expect(await steward(["logs", "-u", "nobody"], { columns: 80 })).toEqual({
      code: 0,
      out: "",
      err: "-- No entries --\n",
    });
    expect((await steward(["logs", "-u", "nobody"])).err).toBe("");
  });

  it("says in a pipe, too, that there is more than was asked for without a number", async () => {
    const now = service.clock.now() * 1000;
    for (let count = 1001; count > 0; count -= 1) {
      service.journal.write({ message: "many", unit: "many.service", time: now - count * 1_000_000 });
    }
    const { code, out, err } = await steward(["logs", "-u", "many", "-o", "json"]);
    expect({ code, err }).toEqual({ code: 0, err: "-- 1000 of 1001 entries; -n and --since choose others --\n" });
    expect(out.trim().split("\n")).toHaveLength(1000);
    expect((await steward(["logs", "-u", "many", "--since", "-10m"])).err).toBe("");
    expect((await steward(["logs", "-u", "many", "-n", "5"])).err).toBe("");
    expect((await steward(["logs", "-u", "many", "--json"])).err).toBe("");
    const cursor = (JSON.parse(out.split("\n").at(-5) ?? "") as { cursor: string }).cursor;
    expect(await steward(["logs", "-u", "many", "--after-cursor", cursor, "-o", "cat"])).toMatchObject({
      out: "many\nmany\nmany\n",
      err: "",
    });
    const before = await steward(["logs", "-u", "many", "-r", "--after-cursor", cursor]);
    expect(before.err).toBe("");
  });

  it("says where a message is cut, and prints all of it with --entry", async () => {
    const message = `${"x".repeat(9 * 2 ** 20)} end`;
    const cursor = service.journal.write({ message, unit: "long.service" });
    const { out } = await steward(["logs", "-u", "long", "-n", "1", "-o", "cat"]);
    expect(out.slice(-400)).toContain(`xxx\n… (cut; the whole: steward logs --entry '${cursor}')\n`);
    expect((await steward(["logs", "--entry", cursor, "-o", "cat"])).out === `${message}\n`).toBe(true);
    expect(await steward(["logs", "--entry", cursor.replace("a", "f")])).toMatchObject({
      code: 0,
      err: "-- No entries --\n",
    });
  });

  it("takes -n without a number, and --no-pager, as journalctl does", async () => {
    for (let count = 0; count < 12; count += 1) service.journal.write({ message: `${count}`, unit: "few.service" });
    await service.clock.advance(60_000);
    const newest = Array.from({ length: 10 }, (_, at) => `${at + 2}\n`).join("");
    expect(await steward(["logs", "-u", "few", "-o", "cat", "--no-pager", "-n"])).toEqual({
      code: 0,
      out: newest,
      err: "",
    });
    expect(await steward(["logs", "-n", "-u", "few", "-o", "cat"])).toMatchObject({ out: newest });
  });

  it.each([
    [["logs", "--since", "soon"], /argument 'soon' is invalid.*yesterday/],
    [["logs", "-p", "loud"], /argument 'loud' is invalid.*emerg/],
    [["logs", "-n", "0"], /whole number from 1 to 10000/],
    [["logs", "-u", "a", "-u", "b"], /is invalid: it can be given once: a pattern/],
    [["logs", "-f", "-r"], /--follow goes with neither/],
    [["logs", "-k", "-u", "x"], /--dmesg is the unit kernel/],
    [["logs", "--since", "now", "--until", "-1h"], /VALIDATION_ERROR/],
  ])("refuses %j with exit code 2", async (argv, message) => {
    expect(await steward(argv)).toMatchObject({ code: 2, out: "", err: expect.stringMatching(message) });
  });

  it("follows from now on where no old lines are wanted", async () => {
    const ctrlC = new AbortController();
    const { follow } = service.journal;
    Object.assign(service.journal, {
      follow(...given: Parameters<typeof follow>) {
        setTimeout(() => service.journal.write({ message: "fresh" }), 100);
        return follow(...given);
      },
    });
    const onText = (text: string): void => {
      if (text.includes("fresh")) ctrlC.abort();
    };
    expect(await steward(["logs", "-f", "-n", "0", "-o", "cat"], { interrupt: ctrlC.signal, onText })).toEqual({
      code: 130,
      out: "fresh\n",
      err: "",
    });
  });

  it("misses nothing that is written before a follow has found its first entry", async () => {
    const ctrlC = new AbortController();
    const { query, follow } = service.journal;
    let follows = 0;
    Object.assign(service.journal, {
      async query(...given: Parameters<typeof query>) {
        const answer = await query(...given);
        // It has been asked for what there is, and its stream is not open yet.
        if (given[0].grep !== undefined) service.journal.write({ message: "first wanted", unit: "late.service" });
        return answer;
      },
      follow(...given: Parameters<typeof follow>) {
        follows += 1;
        return follow(...given);
      },
    });
    const onText = (text: string): void => {
      if (text.includes("wanted")) ctrlC.abort();
    };
    const argv = ["logs", "-f", "-g", "wanted", "-o", "cat"];
    expect(await steward(argv, { interrupt: ctrlC.signal, onText })).toEqual({
      code: 130,
      out: "first wanted\n",
      err: "",
    });
    expect(follows).toBeGreaterThan(0);
  });

  it("misses nothing of an outage before a follow has found its first entry, and gives none twice", async () => {
    const ctrlC = new AbortController();
    const { follow } = service.journal;
    let isCut = false;
    Object.assign(service.journal, {
      follow(...given: Parameters<typeof follow>) {
        if (!isCut) setTimeout(() => service.service.cut(), 100);
        isCut = true;
        return follow(...given);
      },
    });
    const onText = (text: string): void => {
      if (text.includes("lost")) service.journal.write({ message: "wanted in between" });
      if (text.includes("in between")) service.journal.write({ message: "wanted later" });
      if (text.includes("later")) ctrlC.abort();
    };
    const argv = ["logs", "-f", "-g", "wanted", "-o", "cat"];
    expect(await steward(argv, { interrupt: ctrlC.signal, onText })).toEqual({
      code: 130,
      out: "wanted in between\nwanted later\n",
      err: "steward: lost the connection, making it again\nsteward: the connection is back\n",
    });
  }, 15_000);

  it("follows, and ends at Ctrl-C with 130 and without a word", async () => {
    const ctrlC = new AbortController();
    let printed = "";
    const running = steward(["logs", "-f", "-o", "cat"], {
      interrupt: ctrlC.signal,
      onText(text) {
        printed += text;
        if (text.includes("two")) setTimeout(() => service.journal.write({ message: "fresh" }), 200);
        if (text.includes("fresh")) ctrlC.abort();
      },
    });
    expect(await running).toEqual({ code: 130, out: "long ago\nout of memory\none\ntwo \nfresh\n", err: "" });
    expect(printed).toContain("fresh");
  });
});

describe("steward doctor", () => {
  it("ends with the sum in words: exit code 0 where all is well, 1 where not", async () => {
    expect(await steward(["doctor"])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/\nAll is well: 2 checks\n$/),
    });
    service.checks.vital.finds = "fail";
    service.fixes.mend.planned = { steps: [{ action: "turn it off and on", run: () => Promise.resolve("turned") }] };
    await service.clock.advance(120_000);
    const ill = await steward(["doctor"]);
    expect(ill).toMatchObject({ code: 1 });
    expect(ill.out).toMatch(/✗ fail vital {2}vital is fail\n/);
    expect(ill.out).toMatch(/\nFound trouble: 1 failed of 2 checks; 1 can be fixed \(--fix\)\n$/);
    expect((await steward(["doctor", "--check", "plain"])).out).toBe(
      "system\n✓ pass plain  plain is pass\nAll is well: 1 check\n",
    );
    expect(await steward(["doctor", "--category", "nothing"])).toMatchObject({
      code: 2,
      err: "steward: cannot check: there is no check of category nothing\n",
    });
    expect(JSON.parse((await steward(["doctor", "--json"])).out)).toMatchObject({
      by: "the service",
      results: [{}, {}],
    });
  });

  const mending = (): string[] => {
    const done: string[] = [];
    service.checks.vital.finds = "fail";
    service.fixes.mend.planned = {
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

  it("shows what a fix would do, asks, does it, and looks again", async () => {
    const done = mending();
    const { code, out, err } = await steward(["doctor", "--fix"], { answers: ["y"], columns: 80 });
    expect(err).toBe("Do it? [y/N] ");
    expect(out).toMatch(
      /vital: mend \(moderate\)\n {2}1\. turn it off and on\n {2}done: turn it off and on: done\nfixed: /,
    );
    expect(out).toMatch(/\nAll is well: 2 checks\n$/);
    expect({ code, done }).toEqual({ code: 0, done: ["turned"] });
  });

  it("shows whoever is asked what they are asked about where the output is a file", async () => {
    const done = mending();
    const { code, out, err } = await steward(["doctor", "--fix"], { answers: ["n"] });
    expect(err).toBe("\nvital: mend (moderate)\n  1. turn it off and on\nDo it? [y/N] steward: nothing was done\n");
    expect(out).not.toContain("turn it off");
    expect({ code, done }).toEqual({ code: 1, done: [] });
  });

  it("tells a program all that was done, where it is told not to ask", async () => {
    const done = mending();
    expect(await steward(["doctor", "--fix", "--json"], { answers: ["y"] })).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining("with both, --yes is needed"),
    });
    expect(done).toEqual([]);
    const { code, out, err } = await steward(["doctor", "--fix", "--json", "--yes"]);
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

  it("leaves alone what its key may not fix, says which scope is missing, and fixes the rest", async () => {
    const done = mending();
    const allowed = withScopes("health:read", "health:fix");
    service.fixes.mend.does = ["change_packages"];
    const { code, out, err } = await steward(["doctor", "--fix", "--yes"], allowed);
    expect([code, err, done]).toEqual([1, "", []]);
    expect(out).toMatch(
      /\nvital\nleft alone: cannot fix vital: this key lacks the scope updates:apply, which the fix mend takes\n/,
    );
    const asked = await steward(["doctor", "--fix", "--yes", "--json"], allowed);
    expect(JSON.parse(asked.out)).toMatchObject({ fixes: [{ check_id: "vital", plan: null, result: null }] });
    service.fixes.mend.does = ["set_clock"];
    expect(await steward(["doctor", "--fix", "--yes"], allowed)).toMatchObject({ code: 0 });
    expect(done).toEqual(["turned"]);
  });

  it("tells a program what was left alone, too", async () => {
    const ill = { status: "fail", message: "ill", details: {}, fixId: "rebuild" } as const;
    service.checks.vital.finds = () => Promise.resolve(ill);
    service.fixes.rebuild.planned = { steps: [{ action: "rebuild it", run: () => Promise.resolve("rebuilt") }] };
    const { code, out } = await steward(["doctor", "--fix", "--json", "--yes"]);
    expect([code, JSON.parse(out)]).toEqual([
      1,
      expect.objectContaining({ fixes: [{ check_id: "vital", plan: expect.anything(), result: null }] }),
    ]);
  });

  it("says at Ctrl-C that a fix goes on, and what shows what came of it", async () => {
    const done = mending();
    const ctrlC = new AbortController();
    const hold = Promise.withResolvers<void>();
    service.fixes.mend.planned = {
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
    expect(await steward(["doctor", "--fix", "--yes"], { interrupt: ctrlC.signal })).toMatchObject({
      code: 130,
      err: "steward: the fix goes on; to see what came of it: steward doctor --check vital\n",
    });
    hold.resolve();
    await expect.poll(() => done).toEqual(["turned"]);
    expect(await steward(["doctor", "--check", "vital"])).toMatchObject({ code: 0 });
  });

  it("does nothing when the answer is no, or nobody is there to give one", async () => {
    const done = mending();
    expect(await steward(["doctor", "--fix"], { answers: ["n"] })).toMatchObject({
      code: 1,
      err: expect.stringContaining("nothing was done"),
    });
    expect(await steward(["doctor", "--fix"])).toMatchObject({
      code: 2,
      err: expect.stringContaining("there is nobody at a terminal (--yes does it without asking)"),
    });
    expect(done).toEqual([]);
    expect((await steward(["doctor", "--fix", "--yes"])).code).toBe(0);
    expect(done).toEqual(["turned"]);
  });

  it("leaves what is risky alone without --confirm", async () => {
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
    const careful = await steward(["doctor", "--fix", "--yes"]);
    expect(careful).toMatchObject({
      code: 1,
      out: expect.stringContaining("left alone: it is risky (--yes --confirm"),
    });
    expect(done).toBe(0);
    expect((await steward(["doctor", "--fix", "--yes", "--confirm"])).code).toBe(0);
    expect(done).toBe(1);
  });

  it("ends with 1 as an operation of `steward api` too, where an answer says that it did not succeed", async () => {
    mending();
    service.fixes.mend.planned = {
      steps: [{ action: "turn it off and on", run: () => Promise.reject(new Error("it is stuck")) }],
    };
    const failed = await steward(["api", "fix-check", "vital", "--yes"]);
    expect([failed.code, JSON.parse(failed.out)]).toEqual([1, expect.objectContaining({ success: false })]);
    mending();
    const done = await steward(["api", "fix-check", "vital", "--yes"]);
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

  it("looks with its own eyes when it is told to, and fixes nothing then", async () => {
    expect(await steward(["doctor", "--offline"], { local: alone() })).toEqual({
      code: 0,
      out: "memory\n✓ pass memory  fine\nAll is well: 1 check\n",
      err: "steward: checking without the service, read-only: as it was told\n",
    });
    expect(await steward(["doctor", "--offline", "--fix"], { local: alone() })).toMatchObject({
      code: 2,
      err: expect.stringContaining("cannot fix anything without the service"),
    });
  });

  it("ends at Ctrl-C while it looks with its own eyes", async () => {
    const ctrlC = new AbortController();
    const runChecks = () => {
      setTimeout(() => ctrlC.abort(), 50);
      return new Promise<never>(() => undefined);
    };
    const local = { ...alone(), runChecks };
    expect(await steward(["doctor", "--offline"], { local, interrupt: ctrlC.signal })).toEqual({
      code: 130,
      out: "",
      err: "steward: checking without the service, read-only: as it was told\nsteward: ended by Ctrl-C\n",
    });
  });

  it("does so by itself where the local service does not run, and never for another host", async () => {
    await service.app.close();
    const local = { ...alone(), localService: () => Promise.resolve({ url, adminKeyFile: "/nowhere", readAdminKey }) };
    const environment = { STEWARD_API_KEY: service.admin };
    const found = await runInProcess(["doctor"], { environment, local });
    expect(found).toMatchObject({
      code: 0,
      err: expect.stringMatching(/without the service, read-only: cannot reach/),
    });
    const keyless = await runInProcess(["doctor"], { local });
    expect(keyless).toMatchObject({ code: 0, err: expect.stringMatching(/read-only: cannot find a key: \/nowhere/) });
    const elsewhere = await runInProcess(["doctor"], { environment: { ...environment, STEWARD_URL: url }, local });
    expect(elsewhere).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringMatching(/^steward: cannot reach the service: /),
    });
  });
});
