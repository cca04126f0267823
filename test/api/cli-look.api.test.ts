import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import type { CliTime } from "#cli/index.ts";
import type { LogList } from "#contract/logs.ts";
import { fakeListed, fakeLogged } from "../fakes/package-catalog.ts";
import { printed, refusal } from "./cli-run.ts";
import { startTestService, type TestService } from "./harness.ts";
import { useSteward } from "./steward.ts";

let service: TestService;
const { steward, withScopes } = useSteward(async () => {
  service = await startTestService();
  return service;
});

describe("steward with an unknown subcommand", () => {
  it.each([
    [
      ["updates", "aply", "--guard"],
      "steward: unknown command 'aply' of updates: there are check, apply, stale, restart-stale, automatic, history",
    ],
    [
      ["keys", "x\u001b[2J\ny"],
      "steward: unknown command 'x [2J y' of keys: there are create, list, show, explain, revoke",
    ],
  ])("names the subcommands that there are, as plain text: %j", async (argv, message) => {
    expect(await steward(argv)).toEqual({ code: 2, out: "", err: `${message} (--help says more)\n` });
  });

  it("is not refused as unknown where its group takes arguments, or is used alone", async () => {
    expect(await steward("updates check x")).toMatchObject(refusal(/too many arguments/));
    expect((await steward("updates --json")).code).toBe(0);
    expect((await steward("updates")).code).toBe(0);
  });
});

describe("steward packages", () => {
  it("finds and shows packages, lists transactions, and holds and releases a package", async () => {
    const { catalog } = service.packageManager;
    catalog.listed.set("editor", fakeListed("editor", { version: "1.1" }));
    catalog.listed.set("viewer", fakeListed("viewer", { summary: "no \u001b[2Jeditor" }));
    catalog.logged = [fakeLogged("editor", { error: "it failed" })];
    const found = await steward("packages search editor --limit 2");
    expect(found.out).toMatch(/^ *editor +1\.1 +1\.0 +the editor of a test$/m);
    expect(found.out).toContain("viewer");
    expect(found.out).not.toContain("\u001b");
    expect(found.out).toMatch(/2 packages\n$/);
    const shown = await steward("packages show editor --files");
    expect(shown.out).toMatch(/installed: 1\.0, manual\n/);
    expect(shown.out).toContain("/usr/bin/editor");
    const history = await steward("packages history");
    expect(history.out).toContain("apt-get install editor\n  install editor 1.0\n  it failed\n1 transaction\n");
    expect((await steward("packages hold editor --dry-run")).out).toMatch(/hold editor at 1\.0\n/);
    expect(await steward("packages hold editor")).toMatchObject({ code: 0, out: "held: editor\n" });
    expect((await steward("packages show editor")).out).toContain("installed: 1.0, manual, held at its version\n");
    const released = await steward("packages unhold editor --json");
    expect(JSON.parse(released.out)).toMatchObject({ message: "no longer held: editor", packages: [{ held: false }] });
    expect(await steward("packages hold absent")).toMatchObject(refusal("absent is not installed"));
    expect(await steward("packages show absent")).toMatchObject({ code: 2 });
  });
});

describe("steward status", () => {
  it("summarizes a healthy host", async () => {
    const { code, out, err } = await steward("status");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/ healthy\n/);
    expect(out).toMatch(/ system {2}\S+/);
    expect(out).toMatch(/ service {2}version 1\.2\.3/);
    expect(out).toMatch(/ failed {2}broken\.service \(failed\)\n/);
  });

  it("names failed checks with exit code 1, in colour and cut to the terminal", async () => {
    service.checks.vital.finds = () =>
      Promise.resolve({ status: "fail", message: `on\nfire${"!".repeat(99)}`, details: {} });
    await steward("check vital");
    const { code, out } = await steward("status", { columns: 40, hasColours: true });
    expect(code).toBe(1);
    expect(out).toContain("\u001b[31munhealthy\u001b[39m");
    expect(out).toContain("\u001b[31mvital: on fire!!!!!!!!!!!!!…\u001b[39m");
  });

  it("does not report a missing language model where none is configured", async () => {
    expect((await steward("status")).out).toMatch(/^components {2}healthy; llm not configured$/m);
    // A caller who may not see connectors gets what /health says.
    expect((await steward("status", withScopes("health:read"))).out).toMatch(/^components {2}unhealthy: llm$/m);
  });

  it("leaves out what the key may not read, and refuses a key without health:read", async () => {
    const { code, out, err } = await steward("status", withScopes("health:read"));
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).not.toContain("system");
    expect(out).not.toContain("broken");
    const refused = await steward("status", withScopes("system:read"));
    expect(refused).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringMatching(
        /^steward: this key lacks the scope health:read \(FORBIDDEN, request \S+\): sudo steward keys create NAME --scope health:read makes .*\n$/,
      ),
    });
  });
});

describe("steward services", () => {
  it("lists services, all or by state", async () => {
    expect((await steward("services")).out).toMatch(/^SERVICE +STATE .*\n.*broken\.service +failed/s);
    const { out } = await steward("services --status failed");
    expect(out).toContain("broken.service");
    expect(out).not.toContain("cron.service");
    expect((await steward("services -n 2")).out).toMatch(/\n2 of 5 services \(--limit shows more\)\n$/);
    expect(JSON.parse((await steward("services list --json")).out)).toMatchObject({ total: 5 });
  });

  it("changes a service and says its state, or shows the plan", async () => {
    expect((await steward("services restart cron --dry-run")).out).toMatch(/^ {2}1\. .*cron\.service/);
    expect(service.units.actions).toEqual([]);
    expect(await steward("services restart cron")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^cron\.service restarted, it is active \(running\)\n$/),
    });
    expect(await steward("services reload cron")).toMatchObject({
      code: 0,
      out: "cron.service reloaded, it is active (running)\n",
    });
    expect(await steward("services stop cron")).toMatchObject({ code: 0, out: "cron.service stopped\n" });
    expect(await steward("services start cron --json")).toMatchObject({ code: 0 });
    expect((await steward("services disable cron")).out).toBe(
      "cron.service disabled; it still runs\n  unlink /etc/systemd/system/multi-user.target.wants/cron.service\n",
    );
    expect((await steward("services mask cron --dry-run")).out).toContain("mask cron.service");
    expect(await steward("services restart no-such")).toMatchObject(refusal("NOT_FOUND"));
    service.units.become("dbus.service", {});
    expect(await steward("services restart dbus")).toMatchObject(refusal("(confirm it with --confirm"));
    expect((await steward("services restart dbus --dry-run")).out).toContain("it takes --confirm");
    expect(await steward("services restart cron", withScopes("services:restart:ssh.service"))).toMatchObject(
      refusal("lacks the scope services:restart:cron.service"),
    );
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

  it("prints entries in the short format of journalctl", async () => {
    const { code, out, err } = await steward("logs");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(
      /^\w{3} \d\d \d\d:\d\d:\d\d testhost kernel: out of memory\n\w{3} \d\d \d\d:\d\d:\d\d testhost app\[42\]: one\n {31,}two \n$/,
    );
  });

  it("takes the filters and output formats of journalctl", async () => {
    await steward("logs -u nginx -p warning -g time -t x -n 5 -r --since -1h");
    expect(service.journal.queries.at(-1)).toMatchObject({ limit: 5, order: "desc" });
    expect((await steward("logs -n 1 -r -o cat")).out).toBe("one\ntwo \n");
    expect((await steward("logs -n 9 -o cat")).out).toContain("long ago");
    expect((await steward("logs -p err -o cat")).out).toBe("out of memory\n");
    expect((await steward("logs -k -o cat")).out).toBe("out of memory\n");
    expect(
      (await steward("logs -o json")).out
        .split("\n")
        .filter(Boolean)
        .map((line) => (JSON.parse(line) as { _PID?: unknown })._PID),
    ).toEqual([undefined, "42"]);
    expect(JSON.parse((await steward("logs --json")).out)).toMatchObject({ total: 2, logs: [{}, {}] });
  });

  it("takes namespaces as journalctl does", async () => {
    service.journal.write({ message: "rent", unit: "app-1.service", namespace: "tenant" });
    expect((await steward("logs --namespace tenant -o cat")).out).toBe("rent\n");
    expect((await steward("logs --namespace tenant -F MESSAGE")).out).toBe("rent\n");
    expect((await steward(["logs", "--namespace", "+tenant", "--facets", "unit"])).err).toContain("-- 3 entries --");
    expect((await steward("logs -o cat")).out).not.toContain("rent");
    expect((await steward("logs -u app-1 -o cat")).out).toContain("rent");
  });

  it("takes several units, and lists fields, their values, boots and disk usage", async () => {
    const names = (await steward("logs -N")).out.split("\n");
    expect(names).toEqual(expect.arrayContaining(["MESSAGE", "PRIORITY", "_SYSTEMD_UNIT"]));
    expect((await steward("logs -F _SYSTEMD_UNIT")).out).toBe("app.service\nkernel\napp-1.service\n");
    expect((await steward("logs -u app-1 -u kernel -o cat")).out).toBe("out of memory\none\ntwo \n");
    expect((await steward("logs --list-boots")).out).toMatch(/^IDX BOOT ID +FIRST ENTRY +LAST ENTRY\n {2}0 b{32} /);
    expect((await steward("logs --disk-usage")).out).toBe(
      "Archived and active journals take up 0B in the file system.\n",
    );
    expect((await steward("logs -n all -o cat")).out).toBe("long ago\nout of memory\none\ntwo \n");
  });

  it("prints histogram, facets, templates and the entries around one", async () => {
    const counted = await steward("logs --histogram -S today");
    expect(counted.code).toBe(0);
    expect(counted.out).toMatch(/^FROM +ENTRIES +SEVERE\n/);
    expect(counted.err).toMatch(/^-- \d+ entr(y|ies) --\n$/);
    const { out } = await steward("logs --facets unit,priority -S 2020-01-01");
    expect(out).toMatch(/^unit +1 +\d+ % +kernel$/m);
    expect(out).toMatch(/^priority +\d+ +\d+ % +info$/m);
    const templates = await steward("logs --templates -S 2020-01-01");
    expect(templates.out).toMatch(/^ENTRIES +SEVERITY +FIRST +ID +UNIT +TEXT\n/);
    expect(templates.out).toMatch(/^1 .* [0-9a-f]{16} +kernel +out of memory$/m);
    const [, id = ""] = /([0-9a-f]{16}) +kernel/.exec(templates.out) ?? [];
    expect(await steward(["logs", "--template", id, "-S", "2020-01-01", "-o", "cat"])).toMatchObject({
      code: 0,
      out: "out of memory\n",
    });
    const fresh = await steward("logs --templates --new-since 2020-01-01");
    expect(fresh.out).toMatch(/^new +0 +1 .*out of memory$/m);
    const other = await steward("logs --compare 2019-01-01/2020-01-01 -S 2020-01-01");
    expect(other.out).toMatch(/^STATUS +BEFORE +ENTRIES .*\nnew +0 +1 .*out of memory$/ms);
    expect(await steward("logs --new-since update")).toMatchObject({
      out: "",
      err: expect.stringMatching(/remembers no update/),
    });
    const [first] = (JSON.parse((await steward("logs --json")).out) as { logs: readonly { cursor: string }[] }).logs;
    const around = await steward(["logs", "--around", first?.cursor ?? "", "-n", "1", "-o", "cat"]);
    expect(around).toEqual({ code: 0, err: "", out: "long ago\nout of memory\none\ntwo \n" });
    for (const argv of [
      ["--histogram", "3"],
      ["--facets"],
      ["--templates"],
      ["--new-since", "boot"],
      ["--around", first?.cursor ?? ""],
    ])
      expect(JSON.parse((await steward(["logs", ...argv, "--json"])).out)).toBeTypeOf("object");
  });

  it("names on standard error the files that could not be read", async () => {
    const file = { path: "/j/a.journal", name: "a.journal", namespace: "", reason: "it is damaged" };
    service.journal.unread = [file, { ...file, path: "/j/\u001b[2Jb.journal" }];
    const named = /^not read: \/j\/a\.journal: it is damaged\nnot read: \/j\/ \[2Jb\.journal: it is damaged\n/m;
    const [first] = (JSON.parse((await steward("logs --json")).out) as LogList).logs;
    const exported = join(mkdtempSync(join(tmpdir(), "steward-unread-")), "exported");
    for (const options of [
      ...[
        "",
        "-n all",
        "--histogram",
        "--facets unit",
        "--templates",
        "--list-boots",
        "-F MESSAGE",
        "-n all -o export",
      ],
      ...[`--around ${first?.cursor}`, `-g memory --export ${exported}`],
    ]) {
      const { code, out, err } = await steward(`logs -S 2020-01-01 ${options}`.split(" ").filter(Boolean));
      expect([options, code, err]).toEqual([options, 0, expect.stringMatching(named)]);
      expect(out).not.toContain("not read");
    }
    rmSync(dirname(exported), { recursive: true });
  });

  it("prints bytes of entries as JSON and export format, with chosen fields", async () => {
    const cursor = service.journal.write({
      message: "bytes",
      unit: "raw.service",
      fields: [
        { name: "MESSAGE", base64: Buffer.from("a\0b").toString("base64") },
        { name: "OTHER", text: "x\ny" },
      ],
    });
    const { out } = await steward("logs -u raw -o json", { columns: 80 });
    expect(JSON.parse(out)).toMatchObject({ __CURSOR: cursor, MESSAGE: [97, 0, 98], OTHER: "x\ny" });
    expect((await steward("logs -u raw -o export")).out).toContain("MESSAGE\n");
    expect((await steward("logs -u raw -o export --output-fields OTHER")).out).not.toContain("MESSAGE");
  });

  it("says that there are no entries, and at a terminal that there are more", async () => {
    expect((await steward("logs -n 1", { columns: 80 })).err).toMatch(/^-- 1 of 3 entries/);
    expect(await steward("logs -u nobody", { columns: 80 })).toEqual({ code: 0, out: "", err: "-- No entries --\n" });
    expect(await steward("logs -u nobody")).toEqual({ code: 0, out: "", err: "-- No entries --\n" });
  });

  it("says in a pipe that there are more entries than the default limit", async () => {
    const now = service.clock.now() * 1000;
    for (let count = 1001; count > 0; count -= 1) {
      service.journal.write({ message: "many", unit: "many.service", time: now - count * 1_000_000 });
    }
    const { code, out, err } = await steward("logs -u many -o json");
    expect({ code, err }).toEqual({ code: 0, err: "-- 1000 of 1001 entries; -n and --since choose others --\n" });
    expect(out.trim().split("\n")).toHaveLength(1000);
    expect((await steward("logs -u many --since -10m")).err).toBe("");
    expect((await steward("logs -u many -n 5")).err).toBe("");
    expect((await steward("logs -u many --json")).err).toBe("");
    const cursor = (JSON.parse(out.split("\n").at(-5) ?? "") as { __CURSOR: string }).__CURSOR;
    expect(await steward(["logs", "-u", "many", "--after-cursor", cursor, "-o", "cat"])).toMatchObject({
      out: "many\nmany\nmany\n",
      err: "",
    });
    const before = await steward(["logs", "-u", "many", "-r", "--after-cursor", cursor]);
    expect(before.err).toBe("");
  });

  it("marks a cut message, and prints the whole message with --entry", async () => {
    const message = `${"x".repeat(9 * 2 ** 20)} end`;
    const cursor = service.journal.write({ message, unit: "long.service" });
    const { out } = await steward("logs -u long -n 1 -o cat");
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
    expect(await steward("logs -u few -o cat --no-pager -n")).toEqual(printed(newest));
    expect(await steward("logs -n -u few -o cat")).toMatchObject({ out: newest });
  });

  it.each([
    [["logs", "--since", "soon"], /argument 'soon' is invalid.*yesterday/],
    [["logs", "-p", "loud"], /argument 'loud' is invalid.*emerg/],
    [["logs", "-n", "0"], /whole number from 1 to 10000/],
    [["logs", "--list-boots", "--fields"], /one of them at a time/],
    [["logs", "--histogram", "--facets"], /one of them at a time/],
    [["logs", "--compare", "boot", "--new-since", "boot"], /--new-since, --compare: one of them at a time/],
    [["logs", "--compare", "soon"], /argument 'soon' is invalid.*snapshot:ID/],
    [["logs", "--new-since", "soon"], /boot, update, snapshot:ID, or a time/],
    [["logs", "--histogram", "-f"], /--follow shows entries/],
    [["logs", "--facets", "colour"], /some of unit, priority/],
    [["logs", "--histogram", "5000"], /whole number from 1 to 1000/],
    [["logs", "-F", "lower"], /must be the name of a field/],
    [["logs", "-f", "-r"], /--follow goes with neither/],
    [["logs", "-k", "-u", "x"], /--dmesg is the unit kernel/],
    [["logs", "--since", "now", "--until", "-1h"], /VALIDATION_ERROR/],
  ])("refuses %j with exit code 2", async (argv, message) => {
    expect(await steward(argv)).toMatchObject({ code: 2, out: "", err: expect.stringMatching(message) });
  });

  /** Does something once the journal is followed. */
  function onFollow(act: () => void): void {
    const { follow } = service.journal;
    Object.assign(service.journal, {
      follow(...given: Parameters<typeof follow>) {
        setImmediate(act);
        return follow(...given);
      },
    });
  }

  it("follows from now on with -n 0", async () => {
    const ctrlC = new AbortController();
    onFollow(() => void service.journal.write({ message: "fresh" }));
    const onText = (text: string): void => {
      if (text.includes("fresh")) ctrlC.abort();
    };
    expect(await steward("logs -f -n 0 -o cat", { interrupt: ctrlC.signal, onText })).toEqual({
      code: 130,
      out: "fresh\n",
      err: "",
    });
  });

  it("asks again for announced entries where a query failed, and prints each entry once", async () => {
    const ctrlC = new AbortController();
    const { query } = service.journal;
    let failures = 0;
    const messages = ["one", "two"];
    const write = (): void => {
      for (const message of messages.splice(0)) service.journal.write({ message });
    };
    Object.assign(service.journal, {
      async query(...given: Parameters<typeof query>) {
        // What it asks once the stream has reported something.
        if (given[0].isFromOldest) {
          failures += 1;
          if (failures <= 2) throw new Error("the disk did not answer");
        }
        return query(...given);
      },
    });
    onFollow(write);
    let text = "";
    const onText = (more: string): void => {
      text += more;
      if (text.includes("two")) ctrlC.abort();
    };
    const argv = ["logs", "-f", "-n", "0", "-o", "json", "--output-fields", "MESSAGE"];
    const { code, out, err } = await steward(argv, { interrupt: ctrlC.signal, onText });
    expect([code, out.match(/"MESSAGE":"[^"]*"/g)]).toEqual([130, ['"MESSAGE":"one"', '"MESSAGE":"two"']]);
    expect(err).toMatch(/^steward: .*INTERNAL_ERROR.*; asking again\n$/s);
  });

  it("ends at Ctrl-C during the pause before it asks again", async () => {
    const ctrlC = new AbortController();
    const { query } = service.journal;
    const pauses: number[] = [];
    Object.assign(service.journal, {
      query: (...given: Parameters<typeof query>) =>
        given[0].isFromOldest ? Promise.reject(new Error("the disk did not answer")) : query(...given),
    });
    onFollow(() => void service.journal.write({ message: "one" }));
    const pause: CliTime["sleep"] = (durationMs, signal) => {
      pauses.push(durationMs);
      if (pauses.length < 3) return Promise.resolve();
      setImmediate(() => ctrlC.abort());
      return new Promise((resolve) => signal?.addEventListener("abort", () => resolve()));
    };
    const argv = ["logs", "-f", "-n", "0", "-o", "json", "--output-fields", "MESSAGE"];
    const { code } = await steward(argv, { interrupt: ctrlC.signal, time: { sleep: pause } });
    expect([code, pauses]).toEqual([130, [1_000, 2_000, 4_000]]);
  });

  it("does not miss an entry that is written before the stream opens", async () => {
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

  it("does not miss an entry of an outage before the first match, and prints none twice", async () => {
    const ctrlC = new AbortController();
    let isCut = false;
    onFollow(() => {
      if (!isCut) service.service.cut();
      isCut = true;
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
  });

  it("follows, and ends at Ctrl-C with 130 and no message", async () => {
    const ctrlC = new AbortController();
    const onText = (text: string): void => {
      if (text.includes("two")) setImmediate(() => service.journal.write({ message: "fresh" }));
      if (text.includes("fresh")) ctrlC.abort();
    };
    const out = "long ago\nout of memory\none\ntwo \nfresh\n";
    expect(await steward("logs -f -o cat", { interrupt: ctrlC.signal, onText })).toEqual({
      ...{ code: 130, err: "" },
      out,
    });
  });
});
