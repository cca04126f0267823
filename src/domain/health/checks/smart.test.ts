import { expect, it } from "vitest";
import { createFakeSmartDisks, fakeSmartDisk } from "../../../../test/fakes/smart-disks.ts";
import type { CheckSettings } from "../check.ts";
import { smartCheck } from "./smart.ts";

const { signal } = new AbortController();
const checkOf = (disks: Parameters<typeof createFakeSmartDisks>[0]) =>
  smartCheck({ smartDisks: createFakeSmartDisks(disks) });
const run = (disks: Parameters<typeof createFakeSmartDisks>[0], settings: Partial<CheckSettings> = {}) =>
  checkOf(disks).run({ ignore: [], ...settings }, signal);

it("smart passes for healthy disks, takes limits of wear, and skips without disks", async () => {
  const aged = fakeSmartDisk({ reallocatedSectors: 9, celsius: 59, selfTest: { hasPassed: true, ageHours: 9000 } });
  expect(await run([aged])).toEqual({
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
  const worn = fakeSmartDisk({ name: "/dev/nvme0", wearPercent: 50 });
  expect(await run([worn], { warn: 20, fail: 50 })).toMatchObject({ status: "fail" });
  expect(await run([worn], { warn: 20, fail: 50, ignore: ["/dev/nvme*"] })).toMatchObject({ status: "skip" });
  expect(await run(undefined)).toMatchObject({ status: "skip" });
  expect(await checkOf(undefined).absent?.()).toMatchObject({ status: "skip" });
  expect(await checkOf([]).absent?.()).toBeUndefined();
  expect(await run([])).toMatchObject({ status: "skip" });
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
] as const)("smart reports %o as %s: %s", async (given, status, problem) => {
  expect(await run([fakeSmartDisk(given)])).toMatchObject({ status, message: `/dev/sda (Some Disk) ${problem}` });
});
