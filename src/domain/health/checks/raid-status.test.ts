import { expect, it } from "vitest";
import { createFakeRaidArrays, fakeRaidArray } from "../../../../test/fakes/raid-arrays.ts";
import { raidStatusCheck } from "./raid-status.ts";

const { signal } = new AbortController();
const run = (arrays: Parameters<typeof createFakeRaidArrays>[0], ignore: readonly string[] = []) =>
  raidStatusCheck({ raidArrays: createFakeRaidArrays(arrays) }).run({ ignore }, signal);
const whole = fakeRaidArray();
const degraded = fakeRaidArray({ name: "md1", workingDevices: 1 });
const rebuilding = fakeRaidArray({ name: "md2", workingDevices: 1, rebuildPercent: 12.6 });
const stopped = fakeRaidArray({ name: "md3", isActive: false });

it("raid_status passes while arrays are complete, and skips without arrays", async () => {
  expect(await run([whole])).toEqual({
    status: "pass",
    message: "The RAID array is healthy",
    details: {
      arrays: [{ name: "md0", level: "raid1", active: true, devices: 2, working_devices: 2, rebuild_percent: null }],
    },
  });
  expect(await run([whole, { ...whole, name: "md9" }])).toMatchObject({ message: "All 2 RAID arrays are healthy" });
  for (const none of [undefined, []]) {
    expect(await run(none)).toMatchObject({ status: "skip", message: "This host has no software RAID" });
  }
  expect(await run([degraded, whole], ["md1"])).toMatchObject({ status: "pass" });
  expect(await run([degraded], ["md1"])).toMatchObject({
    status: "skip",
    message: "The settings ignore every RAID array",
  });
});

it("raid_status fails for a lost device or a stopped array, and warns during a rebuild", async () => {
  expect(await run([whole, degraded])).toMatchObject({
    status: "fail",
    message: "md1 has 1 of 2 devices: replace the failed devices",
  });
  expect(await run([stopped])).toMatchObject({ status: "fail", message: "md3 is not running" });
  expect(await run([rebuilding, whole])).toMatchObject({
    status: "warn",
    message: "md2 has 1 of 2 devices and is being rebuilt: 12.6 % done",
  });
  expect(await run([rebuilding, degraded])).toMatchObject({
    status: "fail",
    message: expect.stringMatching(/^md1 .*; md2 /),
  });
});
