import { beforeEach, describe, expect, it } from "vitest";
import { parseNextTime } from "#cli/core/log-time.ts";
import { formatTime } from "#cli/output/text.ts";
import type { KindUnit } from "#domain/ports/unit-details.ts";
import { fakeAccount } from "../fakes/accounts.ts";
import { createFakeJournal } from "../fakes/journal.ts";
import { fakeListed } from "../fakes/package-catalog.ts";
import { createFakeProcesses, fakeProcess } from "../fakes/processes.ts";
import { createFakeUnitDetails } from "../fakes/unit-details.ts";
import { createFakeUnits, runningUnit } from "../fakes/units.ts";
import { refusal } from "./cli-run.ts";
import { startTestService, type TestService } from "./harness.ts";
import { useSteward } from "./steward.ts";

const waiting = { description: "", loadState: "loaded", activeState: "active", subState: "waiting", since: null };
const job: KindUnit = {
  ...{ name: "job.timer", kind: "timer", ...waiting, unitFileState: "enabled", result: "success" },
  timer: { unit: "job.service", lastAt: null, nextAt: Date.parse("2026-01-01T06:00:00Z"), rules: ["OnCalendar=daily"] },
};
const mebi = 1024 * 1024;
const hidden = [
  fakeProcess(10, { name: "web", unit: "job.service", cpuPercent: 12.34, memoryBytes: 5 * mebi }),
  fakeProcess(11, {
    name: "writer",
    command: "writer \u001b[2J",
    ioForRoot: { readBytes: 0, writtenBytes: mebi },
    deletedFiles: { count: 2, bytes: mebi, largest: "/srv/spool" },
  }),
];

let service: TestService;
const { steward, withScopes: as } = useSteward(async () => {
  const units = createFakeUnits([runningUnit("job.service", { mainPid: 12 }), runningUnit("cron.service")]);
  service = await startTestService({
    units,
    journal: createFakeJournal([{ unit: "job.service", message: "it \u001b[2Jworks", pid: 12, identifier: "job" }]),
    unitDetails: createFakeUnitDetails(
      units,
      {
        "job.service": { controlGroup: "/system.slice/job.service", triggers: [{ ...job, timer: job.timer }] as never },
      },
      [job],
    ),
    processes: createFakeProcesses(hidden),
  });
  return service;
});

const json = async (line: string): Promise<unknown> => JSON.parse((await steward(`${line} --json`)).out);

it.each([
  ["processes signal 10 TERM --yes", "processes:read"],
  ["time set --ntp off", "system:time"],
  ["packages install viewer --yes", "packages:install"],
])("steward %s needs a key with %s, and says so", async (line, scope) => {
  const { code, out, err } = await steward(line, as("health:read"));
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(`steward: this key lacks the scope ${scope}`);
});

describe("steward services status", () => {
  it("shows a service on one page, with the end of its log", async () => {
    const { code, out } = await steward("services status job");
    expect(code).toBe(0);
    expect(out).toMatch(/^job\.service/);
    expect(out).toMatch(/^ +state {2}active \(running\)/m);
    expect(out).toMatch(/^started by {2}job\.timer \(active; next in /m);
    expect(out).toMatch(/ job\[12\]: it works\n$/);
    expect((await steward("services status job", as("system:read"))).out).toContain("\nno log: ");
    expect(await json("services status job")).toMatchObject({ name: "job.service", logs: [{}] });
  });

  it("ends with 1 for a failed service, and with 4 for an unknown one, as systemctl", async () => {
    service.units.become("job.service", { activeState: "failed", subState: "failed" });
    const { code, out } = await steward("services status job");
    expect([code, out]).toEqual([1, expect.stringMatching(/^ +state {2}failed \(failed\)/m)]);
    expect(await steward("services status nothing")).toEqual({
      code: 4,
      out: "",
      err: "steward: unknown unit nothing.service (steward services lists them)\n",
    });
  });
});

describe("steward units", () => {
  it("lists units, and more details of one type", async () => {
    const all = await steward("units");
    expect(all.out).toMatch(/^UNIT +STATE +SINCE +DESCRIPTION\n/);
    expect(all.out).toMatch(/\n3 units\n$/);
    const timers = await steward("units --type timer");
    expect(timers.out).toMatch(
      /^UNIT +STATE +NEXT +LAST +STARTS +WHEN\njob\.timer +active +in .* job\.service +OnCalendar=daily\n1 unit\n$/,
    );
    expect((await steward("units -t service --limit 1")).out).toMatch(/\n1 of 2 units \(--limit shows more\)\n$/);
    expect(await json("units --type timer")).toMatchObject({ units: [{ name: "job.timer" }] });
    expect(await steward("units --type disk")).toMatchObject(refusal("Allowed choices"));
  });
});

describe("steward processes", () => {
  it("lists processes by usage, with input and output on request", async () => {
    const { code, out, err } = await steward("processes");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(
      /^PID +USER +CPU % +MEMORY +UNIT +COMMAND +STATE +SINCE\n10 +root +12\.3 +5\.0 MiB +job\.service/,
    );
    expect(out).not.toContain("\u001b");
    const holding = await steward("processes --sort deleted");
    expect(holding.out).toMatch(/DELETED BUT OPEN.*\n11 +root +0\.0 +1\.0 MiB +1\.0 MiB in 2 files /);
    const busy = await steward("processes --sort io");
    expect(busy.out).toMatch(/DISK I\/O.*\n11 +root +0\.0 +1\.0 MiB +1\.0 MiB /);
    expect(busy.err).toMatch(/^steward: the input and output of some processes is not known: .* could not be asked/);
    expect((await steward("processes -p 11")).out).toMatch(/\n1 process\n$/);
    expect(await json("processes --user root --limit 1")).toMatchObject({ total: 2, processes: [{ pid: 10 }] });
  });

  it("shows commands on a narrow terminal too", async () => {
    const { out } = await steward("processes", { columns: 80 });
    for (const line of out.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
    expect(out).toMatch(/COMMAND/);
  });
});

describe("steward processes signal", () => {
  it("shows the plan, asks, and signals the process that was asked about", async () => {
    const planned = await steward("processes signal 10 TERM --dry-run");
    expect(planned).toMatchObject({ code: 0, out: expect.stringMatching(/^ {2}1\. send SIGTERM to process 10 /) });
    expect(await steward("processes signal 10 TERM", { answers: ["n"], columns: 80 })).toMatchObject({
      code: 1,
      err: expect.stringContaining("Send SIGTERM to process 10?"),
    });
    expect(await steward("processes signal 10 SIGTERM")).toMatchObject({
      ...refusal("--yes"),
      out: expect.any(String),
    });
    expect(service.processes.sent).toEqual([]);
    expect(await steward("processes signal 10 15 --yes")).toMatchObject({ code: 0 });
    expect(service.processes.sent).toEqual([[10, "TERM"]]);
  });

  it("refuses an unknown signal, an unknown process, and another one with the same pid", async () => {
    expect(await steward("processes signal 10 STOPPED")).toMatchObject(refusal("it must be TERM, KILL"));
    expect(await steward("processes signal 77 TERM --yes")).toMatchObject({
      code: 2,
      err: "steward: cannot send SIGTERM to process 77: there is no such process\n",
    });
    const other = await steward("processes signal 10 TERM --yes --start-time 2020-01-01T00:00:00Z");
    expect(other).toMatchObject({ code: 2, err: expect.stringContaining("CONFLICT") });
    expect(service.processes.sent).toEqual([]);
  });
});

describe("steward users and logins", () => {
  it("list who can sign in, and with what", async () => {
    const key = { type: "ssh-rsa", bits: 2048, fingerprint: "SHA256:x", comment: "eve@laptop", options: ["from"] };
    service.accounts.found = {
      accounts: [fakeAccount("daemon", 1, { shell: "/usr/sbin/nologin" }), fakeAccount("eve", 1000, { keys: [key] })],
      notShown: [{ what: "keys", reason: "there are more" }],
    };
    const { code, out } = await steward("users");
    expect(code).toBe(0);
    expect(out).toMatch(/^USER +UID .*\neve +1000 +yes +locked +1 .*\n1 user who can sign in \(--every shows more\)\n/);
    expect(out).toMatch(/not shown: keys: there are more\n$/);
    expect((await steward("users --every --keys")).out).toMatch(
      /daemon +1 +no(.|\n)*\neve: 2048 SHA256:x eve@laptop \(ssh-rsa\) \(from\)\n2 users\n/,
    );
    expect(await json("users")).toMatchObject({ users: [{ name: "eve" }], total: 1 });
  });

  it("say that nobody is signed in, and list past logins", async () => {
    expect(await steward("logins")).toMatchObject({
      code: 0,
      out: "signed in now: nobody\n\nlately: nobody\n\nfailed, within a week: nobody\n",
    });
    service.logins.past = [
      { user: "eve", tty: "pts/0", remoteHost: "192.0.2.7", startedAt: 1_700_000_000_000, endedAt: null, end: "none" },
    ];
    expect((await steward("logins")).out).toMatch(/\nlately\nUSER +FROM .*\neve +192\.0\.2\.7 +pts\/0 +2023-/);
    service.logins.now = { reason: "logind is away" };
    expect((await steward("logins")).out).toMatch(/^\nlately(.|\n)*not shown: sessions: logind is away\n$/);
    expect(await json("logins")).toMatchObject({ sessions: null, recent: [{ user: "eve" }] });
  });
});

describe("steward time and hostname", () => {
  it("show the clock in the zone of the host, and change the zone, once", async () => {
    expect((await steward("time")).out).toMatch(
      /^local time {6}2026-01-01 00:00:00\nUTC {13}2026-01-01T00:00:00\.000Z\n/,
    );
    expect(await steward("time set --timezone Europe/Berlin --dry-run")).toEqual({
      ...{ code: 0, err: "" },
      out: "  1. change the time zone from Etc/UTC to Europe/Berlin\n",
    });
    expect((await steward("time set --timezone Europe/Berlin --ntp off")).out).toBe(
      "changed the time zone from Etc/UTC to Europe/Berlin, time synchronisation switched off\n",
    );
    expect((await steward("time")).out).toMatch(/^local time {6}2026-01-01 01:00:00\n(.|\n)*\ntime service {4}off\n/);
    expect((await steward("time set --ntp off")).out).toBe("nothing was changed: already set\n");
    for (const [words, message] of [
      ["time set", /give it, or ntp, or both/],
      ["time set --timezone No/where", /no time zone No\/where/],
      ["time set --ntp maybe", /Allowed choices are on, off/],
    ] as const)
      expect([words, await steward(words)]).toMatchObject([words, { code: 2, err: expect.stringMatching(message) }]);
    service.timeSettings.become({ timezone: "Only/Here" });
    expect((await steward("time show")).out).toContain("not known for this time zone");
    expect(await json("time")).toMatchObject({ timezone: "Only/Here", ntp: false });
  });

  it("show the name of the host, and change it, once", async () => {
    expect((await steward("hostname")).out).toBe("web1\n");
    expect((await steward("hostname set web2 --dry-run")).out).toBe("  1. rename the host from web1 to web2\n");
    expect((await steward("hostname")).out).toBe("web1\n");
    expect((await steward("hostname set web2 --pretty Shop")).out).toBe(
      'the host is called web2, and was called web1, changed the pretty name from none to "Shop"\n',
    );
    expect((await steward("hostname")).out).toBe("web2\ndisplay name: Shop\n");
    service.hostNames.become({ permanent: "" });
    expect((await steward("hostname")).out).toContain("from the next boot on: nothing is set\n");
    for (const words of ["hostname set", "hostname set _bad_", "hostname set localhost"])
      expect([words, await steward(words)]).toMatchObject([words, { code: 2, out: "" }]);
    expect(await json("hostname")).toMatchObject({ hostname: "web2" });
  });
});

describe("steward packages install, remove and purge", () => {
  const versionOf = (name: string) => service.packageManager.packages.get(name)?.version;
  beforeEach(() => {
    service.packageManager.repository.set("viewer", { version: "3.0", isSecurity: false });
    service.packageManager.catalog.listed.set("viewer", fakeListed("viewer", { version: "3.0" }));
  });

  it("show the plan, ask, carry it out and print the changes", async () => {
    const planned = await steward("packages install viewer --dry-run");
    expect(planned).toMatchObject({ code: 0, out: expect.stringMatching(/\n {2}2\. install viewer 3\.0\n/), err: "" });
    const refused = await steward("packages install viewer", { answers: ["n"], columns: 80 });
    expect(refused).toMatchObject({ code: 1, err: expect.stringMatching(/^Install \(1 package in all\)\? /) });
    expect(await steward("packages install viewer")).toMatchObject({ code: 2, err: expect.stringContaining("--yes") });
    expect(versionOf("viewer")).toBeUndefined();
    const { code, out } = await steward("packages install viewer --yes");
    expect([code, versionOf("viewer")]).toEqual([0, "3.0"]);
    expect(out).toMatch(/ viewer 3\.0 installed\nsnapshot taken before: \S+\n1 package changed\n$/);
    const removed = await steward("packages remove viewer --yes --no-snapshot");
    expect(removed).toMatchObject({
      code: 0,
      out: expect.stringMatching(/ viewer 3\.0 removed\n1 package changed\n$/),
    });
    expect(versionOf("viewer")).toBeUndefined();
  });

  it("print JSON, and refuse unknown packages", async () => {
    expect(await json("packages purge editor --yes")).toMatchObject({ success: true, packages: [{ name: "editor" }] });
    for (const words of [
      "packages remove absent --yes",
      "packages purge absent --yes",
      "packages install absent --yes",
    ])
      expect([words, await steward(words)]).toMatchObject([words, { code: 2, out: "" }]);
  });
});

describe("steward operations cancel", () => {
  const started = (id: string): void => {
    const at = { createdAt: service.clock.now(), keyId: null, idempotencyKey: null };
    service.operationStore.create({ id, kind: "snapshots.create", input: { description: "" }, ...at });
  };

  // One that is inspected twice is started, since nobody works on it.
  it("asks, and cancels an operation that has changed nothing yet", async () => {
    for (const id of ["planned", "asked", "unasked", "waits"]) started(id);
    const planned = await steward("operations cancel planned --dry-run");
    expect(planned.out).toMatch(/^ {2}1\. cancel snapshots\.create planned/);
    expect(await steward("operations cancel asked", { answers: ["n"], columns: 80 })).toMatchObject({
      code: 1,
      err: expect.stringContaining("Cancel the operation asked?"),
    });
    expect(await steward("operations cancel unasked")).toMatchObject({ ...refusal("--yes"), out: expect.any(String) });
    for (const id of ["planned", "asked", "unasked"])
      expect([id, service.operationStore.isCancelRequested(id)]).toEqual([id, false]);
    expect(await steward("operations cancel waits --yes")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^snapshots\.create waits: .*cancelled/m),
    });
    expect(await json("operations show waits")).toMatchObject({ status: "failed" });
  });

  it("refuses an unknown operation, and one that has ended", async () => {
    expect(await steward("operations cancel nothing --yes")).toMatchObject(refusal("NOT_FOUND"));
    await steward("snapshots create");
    expect(await steward("operations cancel operation-1 --yes")).toMatchObject(refusal("CONFLICT"));
  });
});

describe("steward reboot", () => {
  it("says back the day of a time that was given without one, local with its offset", async () => {
    const at = formatTime(parseNextTime("03:00", service.clock.now()) ?? "");
    const now = () => service.clock.now();
    const { out } = await steward("reboot start --at 03:00 --dry-run", { now });
    expect(out).toMatch(/^ {2}1\. /);
    expect(out).toContain(`reboot at ${at}\n`);
    expect((await steward("reboot start --at 03:00 --yes", { now })).out).toBe(
      `the host reboots at ${at} (steward reboot cancel)\n`,
    );
    expect((await steward("reboot")).out).toContain(`the host reboots at ${at}\n`);
    const { scheduled_at: scheduled } = JSON.parse((await steward("reboot --json")).out) as { scheduled_at: string };
    expect(scheduled).toMatch(/Z$/);
    expect((await steward("reboot cancel")).out).toBe(`the reboot at ${at} is cancelled\n`);
  });
});
