import { expect, it } from "vitest";
import type { RunProgram } from "#domain/ports/host-files.ts";
import { createFakeHostFiles } from "../../../../test/fakes/host-files.ts";
import { smartReports, smartScan } from "../../../../test/host/support/recorded.ts";
import type { CheckSettings } from "../check.ts";
import { judgeDisks, readDisks, type SmartDisk, smartCheck } from "./smart.ts";

const { signal } = new AbortController();
/** A healthy disk. */
const healthy = (given: Partial<SmartDisk> = {}): SmartDisk => ({
  name: "/dev/sda",
  model: "Some Disk",
  kind: "disk",
  isHealthy: true,
  criticalWarning: 0,
  reallocatedSectors: 0,
  pendingSectors: 0,
  uncorrectableErrors: 0,
  wearPercent: null,
  celsius: 34,
  powerOnHours: 12_000,
  selfTest: null,
  ...given,
});

const run = (disks: Parameters<typeof judgeDisks>[0], settings: Partial<CheckSettings> = {}) =>
  judgeDisks(disks, { ignore: [], ...settings });

it("smart passes for healthy disks, takes limits of wear, and skips without disks", () => {
  const aged = healthy({ reallocatedSectors: 9, celsius: 59, selfTest: { hasPassed: true, ageHours: 9000 } });
  expect(run([aged])).toEqual({
    status: "pass",
    message: "1 disk without problems",
    details: {
      disks: [
        {
          name: "/dev/sda",
          model: "Some Disk",
          kind: "disk",
          healthy: true,
          critical_warning_bits: 0,
          reallocated_sectors: 9,
          pending_sectors: 0,
          uncorrectable_errors: 0,
          wear_percent: null,
          temperature_celsius: 59,
          power_on_hours: 12_000,
          self_test_passed: true,
          self_test_age_hours: 9000,
        },
      ],
    },
  });
  const worn = healthy({ name: "/dev/nvme0", wearPercent: 50 });
  expect(run([worn], { warn: 20, fail: 50 })).toMatchObject({ status: "fail" });
  expect(run([worn], { warn: 20, fail: 50, ignore: ["/dev/nvme*"] })).toMatchObject({ status: "skip" });
  expect(run([])).toMatchObject({ status: "skip" });
});

it.each([
  [{ isHealthy: false }, "fail", "predicts that it will fail soon (save its data, replace it)"],
  [{ kind: "nvme", criticalWarning: 0b100, isHealthy: false }, "fail", "is no longer reliable (replace it)"],
  [{ kind: "nvme", criticalWarning: 0b1001 }, "fail", "has no spare blocks left (replace it)"],
  [
    { kind: "nvme", criticalWarning: 0b10, celsius: 83, isHealthy: false },
    "warn",
    "is too hot: 83 °C (check fans and air flow)",
  ],
  [{ pendingSectors: 1 }, "warn", "has 1 sector that it cannot read"],
  [{ uncorrectableErrors: 2 }, "warn", "could not read data 2 times (check backups)"],
  [{ reallocatedSectors: 10 }, "warn", "has replaced 10 bad sectors (plan to replace it)"],
  [{ selfTest: { hasPassed: false, ageHours: 1 } }, "warn", "failed its last self-test"],
  [{ celsius: 60 }, "warn", "is too hot: 60 °C (check fans and air flow)"],
  [{ kind: "ssd", celsius: 70 }, "warn", "is too hot: 70 °C (check fans and air flow)"],
  [{ wearPercent: 90 }, "warn", "is worn: 90 % of its endurance is used (plan to replace it)"],
] as const)("smart reports %o as %s: %s", (given, status, problem) => {
  expect(run([healthy(given)])).toMatchObject({ status, message: `/dev/sda (Some Disk) ${problem}` });
});

/** A disk of the kernel's, and smartctl. */
const [onBus, virtual] = ["pci0000:00/0000:00:17.0/ata1/block/sda", "virtual/block/vda"].map((place) => ({
  "/usr/sbin/smartctl": "",
  [`/sys/block/${place.slice(-3)}`]: `-> ../devices/${place}`,
}));
const answer = (stdout: string, exitCode = 0, stderr = "") => Promise.resolve({ exitCode, stdout, stderr });
const reports: Readonly<Record<string, { readonly smartctl: { readonly exit_status: number } }>> = smartReports;
const smartctl: RunProgram = (argv) => {
  const report = reports[argv.at(-1) ?? ""];
  return answer(report === undefined ? smartScan : JSON.stringify(report), report?.smartctl.exit_status);
};

it("smart asks smartctl of each disk, in the words of its kind", async () => {
  const none = { pendingSectors: null, uncorrectableErrors: null };
  expect(await readDisks(smartctl, signal)).toEqual([
    healthy({
      ...{ model: "ST16000NM001G-2KK103", reallocatedSectors: 16, pendingSectors: 8, uncorrectableErrors: 8 },
      ...{ celsius: 41, powerOnHours: 30_000, selfTest: { hasPassed: false, ageHours: 100 } },
    }),
    healthy({
      ...{ name: "/dev/sdb", model: "Samsung SSD 870 EVO 1TB", kind: "ssd", reallocatedSectors: 1, ...none },
      ...{ wearPercent: 93, celsius: 33, powerOnHours: 20_000 },
    }),
    healthy({
      ...{ name: "/dev/nvme0", model: "WDC PC SN730 SDBQNTY-512G", kind: "nvme", isHealthy: false },
      ...{ criticalWarning: 4, reallocatedSectors: null, ...none, uncorrectableErrors: 3, wearPercent: 12 },
      ...{ celsius: 45, powerOnHours: 9000, selfTest: { hasPassed: true, ageHours: 1000 } },
    }),
    healthy({
      ...{ name: "/dev/sdc", model: "HGST HUS726040AL5210", pendingSectors: null, celsius: 36, powerOnHours: 50_000 },
    }),
    { name: "/dev/sdd", unread: "without SMART" },
  ]);
});

it("smart asks for no disk where all are virtual, and skips without smartctl", async () => {
  const checkOn = (files = {}) => smartCheck({ hostFiles: createFakeHostFiles(files), exec: smartctl });
  expect(await checkOn(onBus).absent?.()).toBeUndefined();
  expect(await checkOn(onBus).run({ ignore: [] }, signal)).toMatchObject({ status: "fail" });
  const { "/usr/sbin/smartctl": _, ...withoutProgram } = onBus ?? {};
  for (const files of [virtual, withoutProgram, {}]) {
    expect(await checkOn(files).absent?.()).toMatchObject({ status: "skip" });
  }
});

it("smart throws what smartctl says where it fails, and names disks that sleep", async () => {
  await expect(readDisks(() => answer("", 2, "no rights\n"), signal)).rejects.toThrow("cannot ask smartctl: no rights");
  const asleep: RunProgram = (argv, options) =>
    argv.includes("--scan") ? smartctl(argv, options) : answer('{"power_mode": {"ata_value": 0}}');
  expect(await readDisks(asleep, signal)).toEqual(
    ["/dev/sda", "/dev/sdb", "/dev/nvme0", "/dev/sdc", "/dev/sdd"].map((name) => ({ name, unread: "in standby" })),
  );
});

it("smart lists disks beside one of which smartctl does not end", async () => {
  const hanging: RunProgram = (argv, options) =>
    argv.at(-1) === "/dev/sda" ? Promise.reject(new Error("smartctl took too long")) : smartctl(argv, options);
  const disks = await readDisks(hanging, signal);
  expect(disks.slice(0, 2)).toMatchObject([
    { name: "/dev/sda", unread: "smartctl took too long" },
    { name: "/dev/sdb", model: "Samsung SSD 870 EVO 1TB" },
  ]);
});
