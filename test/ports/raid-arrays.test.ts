import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createRaidArrays } from "#adapters/procfs/raid-arrays.ts";
import type { RaidArrays } from "#domain/ports/storage.ts";
import { createFakeRaidArrays, fakeRaidArray } from "../fakes/raid-arrays.ts";

const procDir = mkdtempSync(join(tmpdir(), "steward-proc-"));
// An array cannot be made everywhere: the text is as the kernel's documentation of md shows it.
const recorded = [
  "Personalities : [raid1]",
  "md0 : active raid1 sdb1[1] sda1[0]",
  "      1048512 blocks super 1.2 [2/2] [UU]",
  "",
  "unused devices: <none>",
  "",
].join("\n");
beforeAll(() => writeFileSync(join(procDir, "mdstat"), recorded));
afterAll(() => rmSync(procDir, { recursive: true }));

describe.each([
  ["fake", createFakeRaidArrays([fakeRaidArray()]), createFakeRaidArrays()],
  ["procfs", createRaidArrays({ procDir }), createRaidArrays({ procDir: "/nonexistent" })],
] as const)("RAID arrays: %s", (_, present: RaidArrays, absent: RaidArrays) => {
  it("are those that the kernel has", async () => {
    expect(await present.list()).toEqual([
      { name: "md0", level: "raid1", isActive: true, devices: 2, workingDevices: 2, rebuildPercent: null },
    ]);
  });

  it("are undefined where it has none", async () => {
    expect(await absent.list()).toBeUndefined();
  });
});

it("RAID arrays of this machine can be asked for", async () => {
  const arrays = await createRaidArrays().list();
  expect(arrays !== undefined).toBe(existsSync("/proc/mdstat"));
});
