import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type Exec, exec } from "#adapters/exec/index.ts";
import { createFileSystemHealth } from "#adapters/file-system-health/index.ts";
import type { FileSystemHealth } from "#domain/ports/file-system-health.ts";
import { createFakeFileSystemHealth, fakeRecord } from "../fakes/file-system-health.ts";
import { zpoolStatus } from "../host/support/recorded.ts";

const { signal } = new AbortController();
const dir = mkdtempSync(join(tmpdir(), "steward-file-systems-"));
afterAll(() => rmSync(dir, { recursive: true }));

const uuid = "8d9a1f0e-0000-4000-8000-000000000001";
const files: Readonly<Record<string, string>> = {
  "fs/ext4/sda1/errors_count": "3\n",
  "fs/ext4/sda1/last_error_time": "1767258000\n",
  "fs/ext4/sda2/errors_count": "0\n",
  [`fs/btrfs/${uuid}/devices/sdb`]: "",
  [`fs/btrfs/${uuid}/devices/sdc`]: "",
  [`fs/btrfs/${uuid}/devinfo/1/error_stats`]: "write_errs 2\nread_errs 0\nflush_errs 0\ncorruption_errs 5\n",
  [`fs/btrfs/${uuid}/devinfo/1/missing`]: "0\n",
  [`fs/btrfs/${uuid}/devinfo/2/error_stats`]: "write_errs 1\nread_errs 0\nflush_errs 0\ncorruption_errs 0\n",
  [`fs/btrfs/${uuid}/devinfo/2/missing`]: "1\n",
  [`scrub.status.${uuid}`]: [
    "scrub status:1",
    `${uuid}:1|data_extents_scrubbed:7|uncorrectable_errors:1|corrected_errors:0|t_start:1767250000|t_resumed:0|duration:60|canceled:0|finished:1`,
    `${uuid}:2|data_extents_scrubbed:7|uncorrectable_errors:2|corrected_errors:0|t_start:1767250000|t_resumed:0|duration:90|canceled:0|finished:1`,
    "",
  ].join("\n"),
  "spl/kstat/zfs/tank/state": "DEGRADED\n",
  "spl/kstat/zfs/arcstats": "",
};
for (const [path, text] of Object.entries(files)) {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text);
}

const records = {
  "/dev/sda1": fakeRecord({ errors: { errors: 3 }, lastErrorAt: 1_767_258_000_000 }),
  "/dev/sda2": fakeRecord(),
  "/dev/sdc": fakeRecord({
    errors: { write_errs: 3, corruption_errs: 5 },
    missingDevices: 1,
    scrub: { endedAt: 1_767_250_090_000, unrepaired: 3 },
  }),
};
const pool = {
  ...fakeRecord({
    errors: { read_errors: 4, checksum_errors: 2 },
    missingDevices: 1,
    scrub: { endedAt: 1_767_250_000_000, unrepaired: 0 },
  }),
  name: "tank",
  state: "DEGRADED",
};

const zpool: Exec = () => Promise.resolve({ exitCode: 0, stdout: zpoolStatus, stderr: "", truncated: false });
const places = { sysDir: dir, procDir: dir, scrubDir: dir };
const nowhere = { sysDir: "/nonexistent", procDir: "/nonexistent", scrubDir: "/nonexistent" };

describe.each([
  ["fake", createFakeFileSystemHealth(records, [pool]), createFakeFileSystemHealth()],
  ["kernel", createFileSystemHealth({ exec: zpool, ...places }), createFileSystemHealth({ exec: zpool, ...nowhere })],
] as const)("file system health: %s", (_, present: FileSystemHealth, absent: FileSystemHealth) => {
  it("is what each keeps of its errors", async () => {
    expect(await present.of({ device: "/dev/sda1", type: "ext4" })).toEqual(records["/dev/sda1"]);
    expect(await present.of({ device: "/dev/sda2", type: "ext4" })).toEqual(records["/dev/sda2"]);
    expect(await present.of({ device: "/dev/sdc", type: "btrfs" })).toEqual(records["/dev/sdc"]);
    expect(await present.pools(signal)).toEqual([pool]);
  });

  it("is undefined for what keeps none", async () => {
    expect(await present.of({ device: "tmpfs", type: "tmpfs" })).toBeUndefined();
    expect(await absent.of({ device: "/dev/sda1", type: "ext4" })).toBeUndefined();
    expect(await absent.of({ device: "/dev/sdc", type: "btrfs" })).toBeUndefined();
    expect(await absent.pools(signal)).toEqual([]);
  });
});

it("file system health: a pool has its state alone where zpool says no more", async () => {
  const missing: Exec = (_, options) => exec(["/nonexistent/zpool"], options);
  const old: Exec = () => Promise.resolve({ exitCode: 2, stdout: "", stderr: "invalid option", truncated: false });
  for (const each of [missing, old])
    expect(await createFileSystemHealth({ exec: each, ...places }).pools(signal)).toEqual([
      { ...fakeRecord(), name: "tank", state: "DEGRADED" },
    ]);
});
