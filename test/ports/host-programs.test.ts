import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createAccounts } from "#adapters/accounts/index.ts";
import { placeOf } from "#adapters/accounts/keys.ts";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { lookHere, type TakeLook } from "#adapters/exec/look.ts";
import { createHostNames, createTimeSettings } from "#adapters/host-settings/index.ts";
import { createReboots } from "#adapters/logind/index.ts";
import { createLogins } from "#adapters/logins/index.ts";
import { createUnitExamination } from "#adapters/systemd/examination.ts";
import { createTimeSync } from "#adapters/timedate/index.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import { HostSettingsUnavailable } from "#domain/ports/host-settings.ts";
import type { SshServer } from "#domain/ports/network.ts";
import { RebootsUnavailable } from "#domain/ports/reboots.ts";
import { fakeAccount } from "../fakes/accounts.ts";
import { createFakeSshServer } from "../fakes/ssh-server.ts";
import { directoryPerTest, directoryWith, writeFiles } from "./support/directories.ts";
import { printing } from "./support/programs.ts";

const { signal } = new AbortController();
const at = directoryPerTest();
const silent = printing("", { exitCode: 1, stderr: "Failed to connect to bus: No such file or directory" });
const answer = (data: unknown): string => JSON.stringify({ type: "", data });

describe("accounts", () => {
  const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
  const homes = directoryWith({
    "eve/.ssh/authorized_keys": `# mine\n${key} eve@laptop\nno key\n`,
    "many/.ssh/authorized_keys": `${key}\n`.repeat(100),
  });
  mkdirSync(join(homes, "mal/.ssh"), { recursive: true });
  symlinkSync(join(homes, "eve/.ssh/authorized_keys"), join(homes, "mal/.ssh/authorized_keys"));
  const ssh = createFakeSshServer();
  /** What getent of glibc prints. */
  const getent: Exec = ([, database = ""]) => {
    const texts: Readonly<Record<string, string>> = {
      passwd: `root:x:0:0:root:/root-that-is-not:/bin/bash\ndaemon:x:1:1::/usr/sbin:/usr/sbin/nologin\neve:x:1000:1000:Eve,,,:${homes}/eve:\nmal:x:1001:1000::${homes}/mal:/bin/sh\n`,
      group: "root:x:0:\nsudo:x:27:eve,mal\neve:x:1000:\n",
      shadow: "root:$y$j9T$secret:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\neve:!:19000:0:99999:7::20000:\n",
    };
    return printing(texts[database] ?? "")([database]);
  };

  it("are listed by their numbers, with no more of a key than its fingerprint, and no key through a link", async () => {
    const { accounts } = await createAccounts({ exec: getent, ssh, look: lookHere }).list(signal);
    expect(accounts.map(({ name, password }) => [name, password])).toEqual([
      ["root", "set"],
      ["daemon", "locked"],
      ["eve", "locked"],
      ["mal", "unknown"],
    ]);
    const fingerprint = expect.stringMatching(/^SHA256:[A-Za-z0-9+/]{43}$/);
    expect(accounts[2]).toEqual(
      fakeAccount("eve", 1000, {
        ...{ comment: "Eve", home: `${homes}/eve`, shell: "", groups: ["eve", "sudo"] },
        expiresAt: 20_000 * 86_400_000,
        keys: [{ type: "ssh-ed25519", bits: 256, fingerprint, comment: "eve@laptop", options: [] }],
      }),
    );
    expect(accounts[3]?.keys).toBeUndefined();
    expect(JSON.stringify(accounts)).not.toMatch(/AAAAC3|secret/);
  });

  it("are listed with the keys in the usual files where sshd does not answer, which may not be all, with the reason", async () => {
    const deaf: SshServer = { ...ssh, config: () => Promise.reject(new CommandFailed("sshd timed out")) };
    const { accounts, notShown } = await createAccounts({ exec: getent, ssh: deaf, look: lookHere }).list(signal);
    expect(accounts[2]).toMatchObject({ keys: [{ type: "ssh-ed25519" }], keysAre: "assumed" });
    expect(notShown).toEqual([{ what: "authorized_keys", reason: expect.stringMatching(/: sshd timed out$/) }]);
  });

  it("are listed also where some of them have very many keys, which are then left out", async () => {
    const line = (uid: number): string => `u${uid}:x:${uid}:1000::${homes}/many:/bin/sh`;
    const passwd = Array.from({ length: 500 }, (_, uid) => line(uid)).join("\n");
    const many: Exec = (argv) => printing(argv[1] === "passwd" ? passwd : "")(argv);
    const { accounts, notShown } = await createAccounts({ exec: many, ssh, look: lookHere }).list(signal);
    expect(accounts).toHaveLength(500);
    expect(accounts.reduce((sum, { keys }) => sum + (keys?.length ?? 0), 0)).toBe(10_000);
    expect(accounts.at(-1)?.keys).toBeUndefined();
    expect(notShown).toEqual([{ what: "authorized_keys", reason: expect.stringContaining("too many") }]);
  });

  it("are listed with those whose homes do not answer, without keys and named", async () => {
    const look: TakeLook = async (wanted, input, caller) => ({
      ...(await lookHere(wanted, input, caller)),
      answers: new Map(),
      silent: new Set([
        placeOf([".ssh/authorized_keys", ".ssh/authorized_keys2"].map((file) => `${homes}/eve/${file}`)),
      ]),
      isWhole: false,
    });
    const { accounts, notShown } = await createAccounts({ exec: getent, ssh, look }).list(signal);
    expect(accounts.map(({ keys }) => keys)).toEqual([undefined, undefined, undefined, undefined]);
    expect(notShown.map(({ reason }) => reason)).toEqual([
      "the directories with the keys of these do not answer: eve",
      "there was no time left to read the keys of these: root, daemon, mal",
    ]);
  });

  it("are unavailable where getent fails", async () => {
    const failing = createAccounts({ exec: printing("", { exitCode: 1 }), ssh, look: lookHere });
    await expect(failing.list(signal)).rejects.toThrow(HostUnavailable);
  });
});

describe("logins", () => {
  const paths = () => ({ wtmp: at("wtmp"), wtmpdb: [at("wtmp.db")] });
  /** logind behind busctl, with answers in the form of systemd 257. */
  const logind: Exec = (argv) => {
    const value = (data: unknown) => ({ type: "", data });
    const rows = [
      ["3", 1000, "eve", "", "/s/3"],
      ["4", 1000, "eve", "", "/s/manager"],
      ["5", 7, "gone", "", "/s/gone"],
    ];
    if (argv.includes("ListSessions")) return printing(answer([rows]))(argv);
    if (argv.includes("/s/gone")) return printing("", { exitCode: 1, stderr: "Unknown object" })(argv);
    const session = {
      ...{ Id: value("3"), Name: value("eve"), User: value([1000, "/u"]), Service: value("sshd"), TTY: value("pts/0") },
      ...{ Class: value(argv.includes("/s/manager") ? "manager" : "user"), Seat: value(["", "/"]) },
      ...{ RemoteHost: value("192.0.2.7"), State: value("active"), Leader: value(700) },
      Timestamp: value(1_795_465_192_000_000),
    };
    return printing(answer([session]))(argv);
  };

  it("of now are the sessions of users that logind has", async () => {
    expect(await createLogins({ exec: logind, paths: paths() }).sessions(signal)).toEqual([
      {
        ...{ id: "3", user: "eve", uid: 1000, kind: "user", service: "sshd", tty: "pts/0", seat: "", leaderPid: 700 },
        ...{ remoteHost: "192.0.2.7", state: "active", since: 1_795_465_192_000 },
      },
    ]);
  });

  it("are reported with the reason where logind does not answer, or there is no record of those of the recent past", async () => {
    const logins = createLogins({ exec: silent, paths: paths() });
    const reason = "logind does not answer: Failed to connect to bus: No such file or directory";
    expect(await logins.sessions(signal)).toEqual({ reason });
    expect(await logins.recent(10, signal)).toMatchObject({ reason: expect.stringContaining("does not exist") });
    writeFiles(at(), { "wtmp.db": "" });
    expect(await logins.recent(10, signal)).toMatchObject({ reason: expect.stringContaining("wtmpdb") });
    writeFiles(at(), { wtmp: "" });
    expect(await logins.recent(10, signal)).toEqual([]);
  });

  it("of the recent past are not read from a pipe in the place of wtmp, which nobody writes to", async () => {
    execFileSync("mkfifo", [at("wtmp")]);
    const found = await createLogins({ exec: silent, paths: paths() }).recent(10, signal);
    expect(found).toEqual({ reason: expect.stringContaining("not a regular file") });
  });
});

/** A daemon behind busctl, with properties that calls change, and answers in the form of systemd 252. */
function daemon(now: Record<string, unknown>, calls: Readonly<Record<string, (value: string) => void>> = {}): Exec {
  return (argv) => {
    const values = Object.fromEntries(Object.entries(now).map(([name, data]) => [name, { type: "", data }]));
    if (argv.includes("GetAll")) return printing(answer([values]))(argv);
    if (argv.includes("ListTimezones")) return printing(answer([["Europe/Berlin", "Etc/UTC"]]))(argv);
    for (const [name, call] of Object.entries(calls)) if (argv.includes(name)) call(argv.at(-2) ?? "");
    return printing("")(argv);
  };
}

it("the names of the host are shown and changed, each by itself, and unavailable without hostnamed", async () => {
  const now = { Hostname: "web1", StaticHostname: "web1", PrettyHostname: "" };
  const exec = daemon(now, {
    SetStaticHostname: (value) => Object.assign(now, { Hostname: value, StaticHostname: value }),
    SetPrettyHostname: (value) => Object.assign(now, { PrettyHostname: value }),
  });
  const names = createHostNames({ exec });
  expect(await names.state(signal)).toEqual({ current: "web1", permanent: "web1", pretty: "" });
  await names.set({ hostname: "web2" }, signal);
  await names.set({ pretty: "Web – der zweite" }, signal);
  expect(await names.state(signal)).toEqual({ current: "web2", permanent: "web2", pretty: "Web – der zweite" });
  const unavailable = createHostNames({ exec: silent });
  await expect(unavailable.state(signal)).rejects.toThrow(HostSettingsUnavailable);
  await expect(unavailable.set({ hostname: "web2" }, signal)).rejects.toThrow(HostSettingsUnavailable);
});

describe("time settings", () => {
  it("are shown and changed, each by itself, and unavailable without timedated", async () => {
    const now = { Timezone: "Etc/UTC", LocalRTC: false, CanNTP: true, NTP: true, NTPSynchronized: true, TimeUSec: 7 };
    const exec = daemon(now, {
      SetTimezone: (value) => Object.assign(now, { Timezone: value }),
      SetNTP: (value) => Object.assign(now, { NTP: value === "true" }),
    });
    const time = createTimeSettings({ exec });
    const rest = { canSync: true, isSynchronised: true, isRtcLocal: false };
    expect(await time.state(signal)).toEqual({ ...rest, timezone: "Etc/UTC", isSyncEnabled: true });
    expect(await time.timezones(signal)).toContain("Europe/Berlin");
    await time.set({ timezone: "Europe/Berlin" }, signal);
    await time.set({ ntp: false }, signal);
    expect(await time.state(signal)).toEqual({ ...rest, timezone: "Europe/Berlin", isSyncEnabled: false });
    const unavailable = createTimeSettings({ exec: silent });
    for (const work of [
      unavailable.state(signal),
      unavailable.timezones(signal),
      unavailable.set({ ntp: true }, signal),
    ])
      await expect(work).rejects.toThrow(HostSettingsUnavailable);
  });

  const withSync = (value: string): string => {
    const switches = ["CanNTP", "NTP", "LocalRTC"].map((name) => `"${name}":{"data":true}`).join(",");
    return `{"data":[{"Timezone":{"data":"Etc/UTC"},${switches},"NTPSynchronized":{"data":${value}}}]}`;
  };
  it.each([
    ...["", "{}", "[]", '{"data":[]}', '{"data":[{"Timezone":"Etc/UTC"}]}', '{"data":[{"Timezone":{"data":7}}]}'],
    ...[withSync('"maybe"'), withSync("1")],
  ])("are unavailable where timedated answers %j", async (stdout) => {
    const settings = createTimeSettings({ exec: printing(stdout) });
    await expect(settings.state(signal)).rejects.toThrow(HostSettingsUnavailable);
  });
});

describe("time synchronisation by timedatectl", () => {
  const sync = (exec: Exec, booted = "/") =>
    createTimeSync({ exec, paths: { booted, containerMarks: ["/nonexistent"] } });
  const text = "CanNTP=yes\nNTP=yes\nNTPSynchronized=no\n";

  it("is reported, undefined where systemd does not run, and an error where nobody answers", async () => {
    const state = { canSync: true, isEnabled: true, isSynchronised: false, isContainer: false };
    expect(await sync(printing(text)).state(signal)).toEqual(state);
    expect(await sync(printing(text), "/nonexistent").state(signal)).toBeUndefined();
    await expect(sync(silent).state(signal)).rejects.toThrow("cannot ask timedatectl: Failed to connect to bus");
  });

  it.each(["chronyd", "ntpd", "ntp-daemon", "phc2sys"])(
    "is off where another daemon sets the clock, such as %s",
    async (name) => {
      const procDir = at("proc");
      writeFiles(procDir, { "1/comm": "systemd\n", "77/comm": `${name}\n` });
      const paths = { booted: "/", containerMarks: ["/nonexistent"], procDir };
      const exec = printing("CanNTP=yes\nNTP=no\nNTPSynchronized=yes\n");
      expect(await createTimeSync({ exec, paths }).state(signal)).toMatchObject({
        isEnabled: false,
        otherDaemon: name,
      });
    },
  );

  it("is switched on, or it is said why not", async () => {
    await sync(printing("")).enable(signal);
    const refusing = printing("", { exitCode: 1, stderr: "Failed to set ntp: NTP not supported\n" });
    await expect(sync(refusing).enable(signal)).rejects.toThrow(/^timedatectl says: .*NTP not supported$/);
  });
});

describe("reboots by logind", () => {
  const time = 1_795_465_192_000;
  const none = 18_446_744_073_709_552_000;
  const inhibitors = [
    { who: "APT", why: "packages change", blocks: true },
    { who: "Unattended Upgrades Shutdown", why: "stop", blocks: false },
    { who: "Desktop", why: "a call", blocks: true },
  ];

  /** With the answers of systemd 252, or of 257, which schedules nothing while a program inhibits it. @param ran gets what systemd-run was asked for. */
  function busctl({ isStrict = false, ran = [] as (readonly string[])[] } = {}): Exec {
    let scheduled: readonly unknown[] = ["", none];
    let elapses = none;
    const answers: Readonly<Record<string, (words: readonly string[]) => unknown>> = {
      ListSessions: () => [
        [
          ["1", 0, "root", "", "/s/1"],
          ["2", 1000, "eve", "seat0", "/s/2"],
          ["3", 1000, "eve", "", "/s/3"],
          ["4", 1001, "lingering", "", "/s/manager"],
        ],
      ],
      ListInhibitors: () => [
        [
          ["shutdown:sleep", "APT", "packages change", "block", 0, 1],
          ["shutdown", "Unattended Upgrades Shutdown", "stop", "delay", 0, 2],
          ["shutdown", "Desktop", "a call", "block-weak", 0, 1],
          ["handle-lid-switch", "Desktop", "lid", "block", 0, 3],
        ],
      ],
      ScheduledShutdown: () => scheduled,
      NextElapseUSecRealtime: () => elapses,
      StopUnit() {
        elapses = none;
        return ["/job/1"];
      },
      SetWallMessage: () => [],
      ScheduleShutdown(words) {
        scheduled = [words.at(-2), Number(words.at(-1))];
        return [];
      },
      CancelScheduledShutdown() {
        scheduled = ["", 0];
        return [true];
      },
    };
    return (argv) => {
      if (argv[0] === "systemd-run") {
        ran.push(argv);
        const when = argv.find((word) => word.startsWith("--on-calendar="))?.slice("--on-calendar=".length);
        if (when !== undefined) elapses = Date.parse(when) * 1000;
        return printing("")(argv);
      }
      const [destination, object] = argv.slice(
        argv.findIndex((word) => word === "call" || word === "get-property") + 1,
      );
      expect([destination, object?.[0]]).toEqual([expect.stringMatching(/^org\.freedesktop\.(login1|systemd1)$/), "/"]);
      if (isStrict && argv.includes("ScheduleShutdown"))
        return printing("", { exitCode: 1, stderr: "Call failed: Access denied" })(argv);
      const found = argv.find((word) => word in answers);
      const kind = argv.includes("/s/manager") ? "manager" : "user";
      return printing(answer(found === undefined ? kind : answers[found]?.(argv)))(argv);
    };
  }

  it("are scheduled and cancelled, and shown with whom they interrupt and who blocks them, even weakly", async () => {
    const reboots = createReboots({ exec: busctl() });
    const idle = { scheduledAt: null, kind: "", users: ["eve", "root"], inhibitors };
    expect(await reboots.state(signal)).toEqual(idle);
    await reboots.schedule(time, { message: "updates", ignoresInhibitors: false }, signal);
    expect(await reboots.state(signal)).toEqual({ ...idle, scheduledAt: time, kind: "reboot" });
    await reboots.cancel(signal);
    expect(await reboots.state(signal)).toEqual(idle);
  });

  it("are unavailable where logind does not answer", async () => {
    const reboots = createReboots({ exec: silent });
    const scheduled = reboots.schedule(time, { message: "", ignoresInhibitors: false }, signal);
    for (const work of [reboots.state(signal), scheduled, reboots.cancel(signal)])
      await expect(work).rejects.toThrow(RebootsUnavailable);
  });

  it("that logind refuses while a program inhibits them are done by systemd, where that is asked for", async () => {
    const ran: (readonly string[])[] = [];
    const reboots = createReboots({ exec: busctl({ isStrict: true, ran }) });
    const asked = reboots.schedule(time, { message: "", ignoresInhibitors: false }, signal);
    await expect(asked).rejects.toThrow("Call failed: Access denied");
    expect(ran).toEqual([]);
    await reboots.schedule(time, { message: "for $HOME", ignoresInhibitors: true }, signal);
    expect(ran.map((argv) => argv.slice(argv.indexOf("--") + 1))).toEqual([
      expect.arrayContaining(["systemctl", "start", "reboot.target"]),
      ["wall", "for $$HOME", "The system will reboot at", expect.stringMatching(/^\d{4}-\d\d-\d\d .* UTC!$/)],
    ]);
    expect(await reboots.state(signal)).toMatchObject({ scheduledAt: time, kind: "reboot" });
    await reboots.cancel(signal);
    expect(await reboots.state(signal)).toMatchObject({ scheduledAt: null, kind: "" });
  });
});

describe("the examination of a unit", () => {
  const examination = (stdout: string, exitCode = 0) => createUnitExamination({ exec: printing(stdout, { exitCode }) });
  const group = "/system.slice/a.service";

  it("has systemd's judgement, and says why it cannot get it", async () => {
    const judged = examination("→ Overall exposure level for a.service: 9.6 UNSAFE 😨\n");
    expect(await judged.exposure("a.service", signal)).toEqual({ score: 9.6, level: "UNSAFE" });
    await expect(examination("", 1).exposure("a.service", signal)).rejects.toThrow(/cannot/);
  });

  it("has the sockets of the control group and of those below it, by their ports", async () => {
    const table = [
      `tcp LISTEN 0 511 127.0.0.1:81 0.0.0.0:* cgroup:${group}/worker`,
      `tcp LISTEN 0 511 0.0.0.0:80 0.0.0.0:* cgroup:${group}`,
      `tcp LISTEN 0 511 0.0.0.0:82 0.0.0.0:* cgroup:${group}x`,
      "tcp LISTEN 0 511 0.0.0.0:83 0.0.0.0:* cgroup:unreachable:1",
    ].join("\n");
    expect(await examination(table).listening(group, signal)).toEqual([
      { protocol: "tcp", address: "0.0.0.0", port: 80 },
      { protocol: "tcp", address: "127.0.0.1", port: 81 },
    ]);
    expect(await examination(table).listening("", signal)).toEqual([]);
    await expect(examination("", 1).listening(group, signal)).rejects.toThrow(/cannot/);
    const without = examination("tcp LISTEN 0 1 0.0.0.0:80 0.0.0.0:* cgroup:");
    await expect(without.listening(group, signal)).rejects.toThrow(/control groups/);
  });
});
