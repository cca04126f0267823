import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { createMountTable, parseSwaps } from "#adapters/procfs/mount-table.ts";
import { createFakeMountTable } from "../fakes/mount-table.ts";

const { signal } = new AbortController();
const procDir = mkdtempSync(join(tmpdir(), "steward-mounts-"));
afterAll(() => rmSync(procDir, { recursive: true }));

const odd = String.raw`/tmp/a\040b\012c\134d`;
const lines = [
  "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw,errors=remount-ro",
  "23 22 0:5 / /dev rw - devtmpfs udev rw",
  "24 22 0:6 / /proc rw - proc proc rw",
  "25 22 0:22 / /run rw,nosuid - tmpfs tmpfs rw,size=100k",
  "26 25 0:23 / /run/user/1000 rw - tmpfs tmpfs rw",
  "27 22 0:40 / /mnt/dead rw - nfs4 server:/export rw,addr=192.0.2.1",
  "28 22 0:41 / /mnt/also ro - fuse.sshfs user@host: rw",
  `29 22 8:1 /srv /nowhere${odd} rw - ext4 /dev/sda1 rw`,
  "30 22 0:50 / /var/lib/docker/overlay2/x/merged rw - overlay overlay rw",
  "31 22 8:2 / /gone rw - xfs /dev/sda2 rw",
  "32 22 8:3 / /tmp ro - ext4 /dev/sda3 rw",
  "33 32 8:4 / /tmp rw - ext4 /dev/sda4 rw",
  "broken line",
];
mkdirSync(join(procDir, "self"));
writeFileSync(join(procDir, "self/mountinfo"), lines.join("\n"));
writeFileSync(
  join(procDir, "swaps"),
  "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/swap\\040file                             file\t\t2048\t\t1024\t\t-2\nodd\n",
);

describe.each([
  ["fake", createFakeMountTable()],
  ["procfs", createMountTable({ clock: systemClock })],
])("table of mounts: %s", (_, table) => {
  it("has the root, with sizes that fit each other", async () => {
    const { volumes } = await table.read(signal);
    const root = volumes.find(({ mounts }) => mounts.some(({ path }) => path === "/"));
    const sizes = root?.sizes;
    if (sizes === undefined || typeof sizes === "string") throw new Error(sizes);
    expect(sizes.totalBytes).toBeGreaterThan(0);
    expect(sizes.freeBytes).toBeLessThanOrEqual(sizes.totalBytes);
    expect(sizes.availableBytes).toBeLessThanOrEqual(sizes.freeBytes);
  });

  it("is given up with its signal", async () => {
    await expect(table.read(AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
  });
});

describe("table of mounts of the kernel", () => {
  it("leaves out what holds no data, asks no server, and says what it does not know", async () => {
    const { volumes, isOwnView, leftOut } = await createMountTable({ clock: systemClock, procDir }).read(signal);
    expect([isOwnView, leftOut]).toEqual([true, 0]);
    const seen = volumes.map(({ source, mounts, sizes }) => [
      source,
      mounts.map(({ path, root, options }) => [path, root, options]),
      typeof sizes === "string" ? sizes : "known",
    ]);
    const root = [
      ["/", null, "rw,relatime,errors=remount-ro"],
      ["/nowhere/tmp/a b\nc\\d", "/srv", "rw"],
    ];
    expect(seen).toEqual([
      ["/dev/sda1", root, "known"],
      ["tmpfs", [["/run", null, "rw,nosuid,size=100k"]], "known"],
      ["server:/export", [["/mnt/dead", null, "rw,addr=192.0.2.1"]], expect.stringContaining("server")],
      ["user@host:", [["/mnt/also", null, "ro"]], expect.stringContaining("server")],
      ["/dev/sda2", [["/gone", null, "rw"]], "the kernel says ENOENT"],
      ["/dev/sda3", [["/tmp", null, "ro"]], expect.stringContaining("mounted over it")],
      ["/dev/sda4", [["/tmp", null, "rw"]], "known"],
    ]);
  });

  it("has swaps", async () => {
    const { swaps } = await createMountTable({ clock: systemClock, procDir }).read(signal);
    expect(swaps).toEqual([{ path: "/swap file", type: "file", sizeBytes: 2 ** 21, usedBytes: 2 ** 20, priority: -2 }]);
    expect(parseSwaps("")).toEqual([]);
  });
});
