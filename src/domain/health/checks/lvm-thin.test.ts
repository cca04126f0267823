import { expect, it } from "vitest";
import { createFakeHostFiles } from "../../../../test/fakes/host-files.ts";
import type { CheckSettings } from "../check.ts";
import { lvmThinCheck } from "./lvm-thin.ts";

const { signal } = new AbortController();

/** The kernel's device of a pool, and that of any other volume. */
const [ofPool, ofVolume] = ["LVM-kbDXqmHXtKVm-tpool", "LVM-kbDXqmHXtKVm"].map((uuid) => ({
  "/sys/block/dm-3/dm/uuid": `${uuid}\n`,
}));

/** A pool of 100 GB, half full, as lvs reports it. */
const pool = (given: Readonly<Record<string, string>> = {}) => ({
  vg_name: "vg0",
  lv_name: "pool",
  lv_size: "100000000000",
  data_percent: "50.00",
  metadata_percent: "12.50",
  lv_health_status: "",
  ...given,
});
const data = (percent: string) => pool({ data_percent: percent });

const asked: string[] = [];
/** @param pools null: LVM's programs are not installed. */
const checkOf = (
  pools: readonly object[] | null,
  { stderr = "", files = ofPool }: { stderr?: string; files?: Readonly<Record<string, string>> | undefined } = {},
) =>
  lvmThinCheck({
    hostFiles: createFakeHostFiles(files),
    exec(argv) {
      asked.push(...argv);
      const missing = Object.assign(new Error("spawn lvs ENOENT"), { code: "ENOENT" });
      if (pools === null) return Promise.reject(new Error("cannot start lvs", { cause: missing }));
      const stdout = JSON.stringify({ report: [{ lv: pools }], log: [] });
      return Promise.resolve({ exitCode: stderr === "" ? 0 : 5, stdout, stderr });
    },
  });
const run = (pools: readonly object[] | null, settings: Partial<CheckSettings> = {}, more = {}) =>
  checkOf(pools, more).run({ ignore: [], ...settings }, signal);

it("lvm_thin passes while there is space, and skips without pools", async () => {
  expect(await run([pool()])).toEqual({
    status: "pass",
    message: "All thin pools have enough free space",
    details: {
      pools: [{ name: "vg0/pool", size_gb: 100, data_percent: 50, metadata_percent: 12.5, health: "healthy" }],
    },
  });
  for (const files of [ofVolume, {}])
    expect(await checkOf([pool()], { files }).absent?.()).toMatchObject({ status: "skip" });
  expect(await checkOf([pool()]).absent?.()).toBeUndefined();
  expect(await run(null)).toMatchObject({ status: "skip", message: "The programs of LVM are not installed" });
  expect(await run([data("99.00")], { ignore: ["vg0/*"] })).toMatchObject({ status: "skip" });
});

it("lvm_thin says where LVM does not list what the kernel has, and where it does not answer", async () => {
  expect(await run([])).toMatchObject({
    status: "skip",
    message: "The kernel has a thin pool, and LVM lists none: its devices may be hidden from it",
  });
  await expect(run([], {}, { stderr: "No permission\n" })).rejects.toThrow("cannot ask lvs: No permission");
});

it("lvm_thin warns where LVM cannot read all, and judges what it can", async () => {
  const stderr = "  Cannot process volume group vg1\n  Skipping volume group vg1\n";
  const judged = (ignore: readonly string[]) => run([data("96.00")], { ignore }, { stderr });
  expect(await judged([])).toMatchObject({
    status: "fail",
    message: expect.stringMatching(
      /^vg0\/pool is 96 % full.*; not all thin pools may be listed: Cannot process volume group vg1; Skipping volume group vg1$/,
    ),
  });
  expect(await judged(["vg0/*"])).toMatchObject({ status: "warn" });
});

it("lvm_thin grades the fuller of data and metadata, and fails for an unhealthy pool", async () => {
  expect(await run([data("79.90")])).toMatchObject({ status: "pass" });
  expect(await run([data("80.00")])).toMatchObject({
    status: "warn",
    message: "vg0/pool is 80 % full (lvextend, or remove volumes and snapshots)",
  });
  expect(await run([pool({ metadata_percent: "95.00" })])).toMatchObject({
    status: "fail",
    message: "the metadata of vg0/pool is 95 % full (lvextend --poolmetadatasize)",
  });
  // lvs has to ask the kernel for that, which it does not do with `--readonly`.
  expect(await run([data(""), { ...data("96.00"), vg_name: "vg1" }])).toMatchObject({
    status: "fail",
    message:
      "vg1/pool is 96 % full (lvextend, or remove volumes and snapshots); vg0/pool does not say how full it is (lvs, dmsetup status)",
  });
  expect(asked).not.toContain("--readonly");
  expect(await run([pool()], { warn: 40, fail: 50 })).toMatchObject({ status: "fail" });
  expect(await run([pool(), pool({ vg_name: "vg1", lv_health_status: "metadata_read_only" })])).toMatchObject({
    status: "fail",
    message: "vg1/pool has read-only metadata: it is full or damaged (lvconvert --repair)",
  });
  expect(await run([pool({ lv_health_status: "burnt" })])).toMatchObject({ message: "vg0/pool is unhealthy: burnt" });
});
