import { describe, expect, it } from "vitest";
import { createBlockDevices } from "#adapters/block-devices/index.ts";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import type { BlockDevices } from "#domain/ports/disks.ts";
import { createFakeBlockDevices, fakeDevice } from "../fakes/block-devices.ts";

const { signal } = new AbortController();
const row = {
  kname: "sda",
  path: "/dev/sda",
  "maj:min": "8:0",
  type: "disk",
  size: 1e9,
  ro: false,
  rm: false,
  rota: false,
};
const printing =
  (stdout: string, exitCode = 0, truncated = false): Exec =>
  () =>
    Promise.resolve({ exitCode, stdout, stderr: exitCode === 0 ? "" : "lsblk: failed\nmore", truncated });
const sysDir = "/sys";
const one = JSON.stringify({ blockdevices: [row] });

const withoutAnswer = (): BlockDevices => {
  const fake = createFakeBlockDevices();
  fake.missing = "/nothing/block";
  return fake;
};

describe.each<[string, BlockDevices, BlockDevices]>([
  ["fake", createFakeBlockDevices([fakeDevice("sda")]), withoutAnswer()],
  [
    "lsblk",
    createBlockDevices({ exec: printing(one) }),
    createBlockDevices({ exec: printing(one), sysDir: "/nothing" }),
  ],
])("block devices: %s", (_, able, unable) => {
  it("are listed", async () => {
    expect(await able.list(signal)).toEqual([fakeDevice("sda")]);
  });

  it("are not where the host does not show them, which says what is missing", async () => {
    await expect(unable.list(signal)).rejects.toMatchObject({
      name: "DisksUnavailable",
      details: { missing: "/nothing/block", retryable: false },
    });
  });
});

describe("block devices by lsblk", () => {
  const failing =
    (error: Error): Exec =>
    () =>
      Promise.reject(error);
  const notFound = Object.assign(new Error("spawn lsblk ENOENT"), { code: "ENOENT" });

  it.each<[string, Exec, object]>([
    ["is not installed", failing(new CommandFailed("x", { cause: notFound })), { missing: "lsblk", retryable: false }],
    ["does not end", failing(new CommandFailed("no end after 10000 ms")), { missing: "lsblk", retryable: true }],
    ["fails", printing("", 1), { missing: "lsblk", retryable: true }],
    ["says something else", printing("sda 8:0"), { missing: "lsblk", retryable: true }],
    ["says too much", printing(one, 0, true), { missing: "lsblk", retryable: true }],
  ])("that %s is said to be missing", async (_, exec, details) => {
    await expect(createBlockDevices({ exec, sysDir }).list(signal)).rejects.toMatchObject({ details });
  });

  it("are none where it says nothing", async () => {
    expect(await createBlockDevices({ exec: printing("\n") }).list(signal)).toEqual([]);
  });
});
