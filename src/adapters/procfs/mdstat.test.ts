import { expect, it } from "vitest";
import { parseMdstat } from "./raid-arrays.ts";

const arraysOf = (...lines: readonly string[]) =>
  parseMdstat(
    ["Personalities : [raid1] [raid6] [raid5] [raid4] [raid0]", ...lines, "unused devices: <none>", ""].join("\n"),
  );

it("mdstat: complete arrays are read, with bitmap, spare and auto-read-only", () => {
  expect(
    arraysOf(
      "md1 : active raid5 sdd1[3](S) sdc1[2] sdb1[1] sda1[0]",
      "      2096128 blocks super 1.2 level 5, 512k chunk, algorithm 2 [3/3] [UUU]",
      "      bitmap: 0/1 pages [0KB], 65536KB chunk",
      "",
      "md0 : active (auto-read-only) raid1 sdb2[1] sda2[0]",
      "      1048512 blocks super 1.2 [2/2] [UU]",
      "",
    ),
  ).toEqual([
    { name: "md1", level: "raid5", isActive: true, devices: 3, workingDevices: 3, rebuildPercent: null },
    { name: "md0", level: "raid1", isActive: true, devices: 2, workingDevices: 2, rebuildPercent: null },
  ]);
});

it("mdstat: lost devices are counted, faulty or gone", () => {
  expect(
    arraysOf(
      "md0 : active raid1 sdb1[1](F) sda1[0]",
      "      1048512 blocks super 1.2 [2/1] [U_]",
      "",
      "md127 : active raid6 sda1[0] sdb1[1]",
      "      2096128 blocks super 1.2 level 6, 512k chunk, algorithm 2 [4/2] [UU__]",
    ),
  ).toMatchObject([
    { name: "md0", devices: 2, workingDevices: 1 },
    { name: "md127", devices: 4, workingDevices: 2 },
  ]);
});

it("mdstat: the progress of a rebuild is read, and a regular check is not a rebuild", () => {
  expect(
    arraysOf(
      "md0 : active raid5 sdc1[3] sdb1[1] sda1[0]",
      "      2096128 blocks super 1.2 level 5, 512k chunk, algorithm 2 [3/2] [UU_]",
      "      [==>..................]  recovery = 12.6% (37043392/292945152) finish=127.5min speed=33440K/sec",
      "",
      "md1 : active raid1 sdb2[1] sda2[0]",
      "      1048512 blocks super 1.2 [2/2] [UU]",
      "      \tresync=DELAYED",
      "",
      "md2 : active raid5 sdc3[2] sdb3[1] sda3[0]",
      "      2096128 blocks super 1.2 level 5, 512k chunk, algorithm 2 [3/3] [UUU]",
      "      [>....................]  reshape =  0.3% (3500/1048064) finish=9.9min speed=1750K/sec",
    ).map(({ rebuildPercent }) => rebuildPercent),
  ).toEqual([12.6, 0, 0.3]);
  expect(
    arraysOf(
      "md0 : active raid1 sdb1[1] sda1[0]",
      "      1048512 blocks super 1.2 [2/2] [UU]",
      "      [=======>.............]  check = 38.2% (401024/1048512) finish=0.1min speed=80204K/sec",
    ),
  ).toMatchObject([{ workingDevices: 2, rebuildPercent: null }]);
});

it("mdstat: arrays that do not run, levels without redundancy and no arrays are read", () => {
  expect(
    arraysOf(
      "md3 : inactive sdc[0](S)",
      "      1048512 blocks super 1.2",
      "",
      "md4 : active raid0 sdb4[1] sda4[0]",
      "      2093056 blocks super 1.2 512k chunks",
      "",
      "md5 : broken raid0 sdb5[1] sda5[0]",
      "      2093056 blocks super 1.2 512k chunks",
    ),
  ).toMatchObject([
    { name: "md3", isActive: false, level: "" },
    { name: "md4", isActive: true, level: "raid0", devices: 2, workingDevices: 2 },
    { name: "md5", isActive: false },
  ]);
  expect(arraysOf()).toEqual([]);
});

it("a mirror of a storage box has as many places as disks that the box could have, of which most were never filled", () => {
  const mirror = (members: string, places: string) =>
    arraysOf(`md9 : active raid1 ${members}`, `      530048 blocks ${places}`)[0];
  expect(mirror("sdb1[1] sda1[0]", `[32/2] [UU${"_".repeat(30)}]`)).toMatchObject({ devices: 2, workingDevices: 2 });
  expect(mirror("sdb1[1] sda1[0]", `[12/2] [UU${"_".repeat(10)}]`)).toMatchObject({ devices: 2, workingDevices: 2 });
  // What lost a device is not taken for it.
  expect(mirror("sda1[0]", `[32/1] [U${"_".repeat(31)}]`)).toMatchObject({ devices: 32, workingDevices: 1 });
  expect(mirror("sdb1[1](F) sdc1[2] sda1[0]", `[32/2] [U_U${"_".repeat(29)}]`)).toMatchObject({ devices: 32 });
  expect(mirror("sdc1[2] sda1[0]", `[16/2] [U_U${"_".repeat(13)}]`)).toMatchObject({ devices: 16 });
  expect(mirror("sdb1[1] sda1[0]", "[4/2] [UU__]")).toMatchObject({ devices: 4, workingDevices: 2 });
});
