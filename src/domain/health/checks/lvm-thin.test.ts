import { expect, it } from "vitest";
import { createFakeThinPools, fakeThinPool } from "../../../../test/fakes/thin-pools.ts";
import type { CheckSettings } from "../check.ts";
import { lvmThinCheck } from "./lvm-thin.ts";

const { signal } = new AbortController();
const checkOf = (pools: Parameters<typeof createFakeThinPools>[0]) =>
  lvmThinCheck({ thinPools: createFakeThinPools(pools) });
const run = (pools: Parameters<typeof createFakeThinPools>[0], settings: Partial<CheckSettings> = {}) =>
  checkOf(pools).run({ ignore: [], ...settings }, signal);

it("lvm_thin passes while there is room, and skips without pools", async () => {
  expect(await run([fakeThinPool()])).toEqual({
    status: "pass",
    message: "All thin pools have enough free space",
    details: {
      pools: [{ name: "vg0/pool", size_gb: 100, data_percent: 50, metadata_percent: 12.5, health: "healthy" }],
    },
  });
  expect(await run([])).toMatchObject({ status: "skip" });
  expect(await checkOf([]).absent?.()).toMatchObject({ status: "skip" });
  expect(await checkOf([fakeThinPool()]).absent?.()).toBeUndefined();
  expect(await run(null)).toMatchObject({ status: "skip", message: "The programs of LVM are not installed" });
  expect(await run([fakeThinPool({ dataPercent: 99 })], { ignore: ["vg0/*"] })).toMatchObject({ status: "skip" });
});

it("lvm_thin says where LVM does not list what the kernel has", async () => {
  const thinPools = {
    arePresent: () => Promise.resolve(true),
    list: () => Promise.resolve({ pools: [], complaint: "" }),
  };
  expect(await lvmThinCheck({ thinPools }).run({ ignore: [] }, signal)).toMatchObject({
    status: "skip",
    message: "The kernel has a thin pool, and LVM lists none: its devices may be hidden from it",
  });
});

it("lvm_thin warns where LVM cannot read all, and judges what it can", async () => {
  const listed = { pools: [fakeThinPool({ dataPercent: 96 })], complaint: "Skipping volume group vg1" };
  const thinPools = { arePresent: () => Promise.resolve(true), list: () => Promise.resolve(listed) };
  const judged = (ignore: readonly string[]) => lvmThinCheck({ thinPools }).run({ ignore }, signal);
  expect(await judged([])).toMatchObject({
    status: "fail",
    message: expect.stringMatching(
      /^vg0\/pool is 96 % full.*; not all thin pools may be listed: Skipping volume group vg1$/,
    ),
  });
  expect(await judged(["vg0/*"])).toMatchObject({ status: "warn" });
});

it("lvm_thin grades the fuller of data and metadata, and fails for an unhealthy pool", async () => {
  expect(await run([fakeThinPool({ dataPercent: 79.9 })])).toMatchObject({ status: "pass" });
  expect(await run([fakeThinPool({ dataPercent: 80 })])).toMatchObject({
    status: "warn",
    message: "vg0/pool is 80 % full (lvextend, or remove volumes and snapshots)",
  });
  expect(await run([fakeThinPool({ metadataPercent: 95 })])).toMatchObject({
    status: "fail",
    message: "the metadata of vg0/pool is 95 % full (lvextend --poolmetadatasize)",
  });
  expect(
    await run([fakeThinPool({ dataPercent: null }), fakeThinPool({ name: "vg1/pool", dataPercent: 96 })]),
  ).toMatchObject({
    status: "fail",
    message:
      "vg1/pool is 96 % full (lvextend, or remove volumes and snapshots); vg0/pool does not say how full it is (lvs, dmsetup status)",
  });
  expect(await run([fakeThinPool()], { warn: 40, fail: 50 })).toMatchObject({ status: "fail" });
  expect(await run([fakeThinPool(), fakeThinPool({ name: "vg1/pool", health: "metadata_read_only" })])).toMatchObject({
    status: "fail",
    message: "vg1/pool has read-only metadata: it is full or damaged (lvconvert --repair)",
  });
  expect(await run([fakeThinPool({ health: "burnt" })])).toMatchObject({ message: "vg0/pool is unhealthy: burnt" });
});
