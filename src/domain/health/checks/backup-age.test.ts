import { expect, it } from "vitest";
import type { RunProgram } from "#domain/ports/host-files.ts";
import type { Timer } from "#domain/ports/units.ts";
import { createFakeBackupDirectories } from "../../../../test/fakes/backup-directories.ts";
import { createFakeTimers, fakeTimer } from "../../../../test/fakes/timers.ts";
import { createFakeUnits, runningUnit } from "../../../../test/fakes/units.ts";
import type { CheckSettings } from "../check.ts";
import { type BackupTarget, backupAgeCheck } from "./backup-age.ts";

const { signal } = new AbortController();
const hourMs = 3_600_000;
const now = Date.parse("2026-01-10T12:00:00Z");
const file = (path: string, ageHours: number, bytes = 1) => ({ path, bytes, modifiedAt: now - ageHours * hourMs });
const directory = (name: string, given: Partial<BackupTarget> = {}): BackupTarget =>
  ({
    name,
    kind: "folder",
    folder: `/srv/${name}`,
    pattern: "*.tar.zst",
    ...given,
  }) as BackupTarget;
const unit = (name: string): BackupTarget => ({ name, kind: "unit", unit: name });

/** What snapper 0.10 prints of each configuration: the number and the date of its snapshots. */
type Listed = Readonly<Record<string, readonly { readonly number: number; readonly date: string }[]>>;
const snapper =
  (configs: Listed = {}): RunProgram =>
  (argv) => {
    const config = argv[argv.indexOf("-c") + 1] ?? "";
    const found = configs[config];
    return Promise.resolve(
      found === undefined
        ? { exitCode: 1, stdout: "", stderr: "Unknown config.\n" }
        : { exitCode: 0, stdout: JSON.stringify({ [config]: found }), stderr: "" },
    );
  };

const checkOf = (
  backupTargets: readonly BackupTarget[],
  given: {
    directories?: Parameters<typeof createFakeBackupDirectories>[0];
    snapshots?: Listed;
    exec?: RunProgram;
    timer?: Partial<Timer>;
    isComplete?: boolean;
  } = {},
) =>
  backupAgeCheck({
    backupTargets,
    backupDirectories: createFakeBackupDirectories(given.directories, given.isComplete),
    exec: given.exec ?? snapper(given.snapshots),
    timers: createFakeTimers([fakeTimer("backup", { unitSince: now - 2 * hourMs, ...given.timer })]),
    units: createFakeUnits([
      runningUnit("dump.service", { activeState: "inactive", subState: "dead", since: now - 30 * hourMs }),
      runningUnit("bad.service", { activeState: "failed", subState: "failed", result: "exit-code" }),
    ]),
    clock: { now: () => now },
  });
const run = (
  targets: readonly BackupTarget[],
  given?: Parameters<typeof checkOf>[1],
  settings: Partial<CheckSettings> = {},
) => checkOf(targets, given).run({ ignore: [], ...settings }, signal);

it("backup_age grades directories by age, with the limits of the target before those of the check", async () => {
  const directories = { "/srv/db": [file("a.tar.zst", 26)], "/srv/old": [file("b.tar.zst", 50)] };
  expect(await run([directory("db")], { directories })).toMatchObject({
    status: "warn",
    message: "backup db is 26 h old: the newest file is a.tar.zst",
  });
  expect(await run([directory("db"), directory("old")], { directories })).toMatchObject({
    status: "fail",
    message: expect.stringMatching(/^backup old is 50 h old.*; backup db is 26 h old/),
  });
  expect(await run([directory("db")], { directories }, { warn: 30, fail: 40 })).toMatchObject({ status: "pass" });
  expect(await run([directory("db", { warn: 10, fail: 20 })], { directories }, { warn: 30, fail: 40 })).toMatchObject({
    status: "fail",
  });
  expect(await run([directory("db")], { directories }, { ignore: ["d?"] })).toMatchObject({ status: "skip" });
});

it("backup_age passes while the newest backup is recent", async () => {
  const directories = {
    "/srv/db": [file("old.tar.zst", 70), file("2026/new.tar.zst", 25), file("empty.tar.zst", 0, 0), file("log", 0)],
  };
  expect(await run([directory("db")], { directories })).toEqual({
    status: "pass",
    message: "1 backup, all recent",
    details: { backups: [{ name: "db", status: "pass", last_at: "2026-01-09T11:00:00.000Z", age_hours: 25 }] },
  });
});

it("backup_age grades the newest snapshot of snapper, and fails without one", async () => {
  const snapshots = {
    root: [
      { number: 0, date: "" },
      { number: 4, date: "2026-01-08 00:00:00" },
      { number: 5, date: "2026-01-09 09:00:00" },
      // From the future.
      { number: 6, date: "2026-01-11 15:00:00" },
    ],
    home: [{ number: 0, date: "" }],
  };
  const of = (config: string): BackupTarget => ({ name: config, kind: "snapper", config });
  expect(await run([of("root")], { snapshots })).toMatchObject({
    status: "warn",
    message: "backup root is 27 h old: the newest snapshot of root is 5",
    details: { backups: [{ name: "root", last_at: "2026-01-09T09:00:00.000Z", age_hours: 27 }] },
  });
  expect(await run([of("home")], { snapshots })).toMatchObject({
    status: "fail",
    message: "backup home: snapper has no snapshot of home",
  });
  expect(await run([of("data")], { snapshots })).toMatchObject({
    status: "fail",
    message: "backup data: snapper: Unknown config.",
  });
  const missing = new Error("cannot run snapper", { cause: Object.assign(new Error("spawn"), { code: "ENOENT" }) });
  expect(await run([of("root")], { exec: () => Promise.reject(missing) })).toMatchObject({
    status: "fail",
    message: "backup root: snapper is not installed",
  });
});

it("backup_age fails for a missing directory, and for one without a backup", async () => {
  expect(await run([directory("db")])).toMatchObject({
    status: "fail",
    message: "backup db: there is no directory /srv/db",
    details: { backups: [{ name: "db", last_at: null, age_hours: null }] },
  });
  const directories = { "/srv/db": [file("log", 1)] };
  expect(await run([directory("db")], { directories })).toMatchObject({
    message: "backup db: no file in /srv/db is a backup",
  });
  expect(await run([directory("db")], { directories, isComplete: false })).toMatchObject({
    message: "backup db: no file of those that were read in /srv/db is a backup",
  });
});

it.each<[string, Partial<Timer>, object]>([
  ["succeeded", {}, { status: "pass" }],
  ["succeeded before the last boot", { unitSince: null, lastStartAt: now - 60 * hourMs }, { status: "fail" }],
  [
    "runs for long",
    { unitActiveState: "activating", unitSince: now - 27 * hourMs },
    { status: "warn", message: "backup backup.timer is 27 h old: backup.service has been running since" },
  ],
  [
    "failed",
    { unitActiveState: "failed", unitResult: "exit-code" },
    {
      status: "fail",
      message: "backup backup.timer: the last run of backup.service failed (exit-code; journalctl -u backup.service)",
    },
  ],
  ["has not run", { unitSince: null, lastStartAt: null }, { status: "fail" }],
])("backup_age grades a timer whose service %s", async (_, timer, expected) => {
  expect(await run([unit("backup.timer")], { timer })).toMatchObject(expected);
});

it.each([
  ["dump.service", { status: "warn", message: "backup dump.service is 30 h old: dump.service last succeeded" }],
  ["bad.service", { status: "fail" }],
  ["missing.service", { status: "fail", message: expect.stringContaining("there is no unit missing.service") }],
  ["missing.timer", { status: "fail", message: expect.stringContaining("missing.timer is not active") }],
] as const)("backup_age grades %s", async (name, expected) => {
  expect(await run([unit(name)])).toMatchObject(expected);
});

it("backup_age skips without targets, and warns of a service without a run since boot", async () => {
  expect(await checkOf([]).absent?.()).toMatchObject({ status: "skip" });
  expect(await checkOf([unit("backup.timer")]).absent?.()).toBeUndefined();
  const check = backupAgeCheck({
    backupTargets: [unit("dump.service")],
    backupDirectories: createFakeBackupDirectories(),
    exec: snapper(),
    timers: createFakeTimers([]),
    units: createFakeUnits([runningUnit("dump.service", { activeState: "inactive", subState: "dead", since: null })]),
    clock: { now: () => now },
  });
  expect(await check.run({ ignore: [] }, signal)).toMatchObject({
    status: "warn",
    message: expect.stringContaining("systemd knows of no run of dump.service since boot (name its timer"),
  });
});
