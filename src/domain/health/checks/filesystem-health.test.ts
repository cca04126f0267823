import { expect, it } from "vitest";
import type { FileSystemRecord } from "#domain/ports/storage.ts";
import { createFakeClock } from "../../../../test/fakes/clock.ts";
import { createFakeFileSystemHealth, fakeRecord } from "../../../../test/fakes/file-system-health.ts";
import { brokenFileSystem, createFakeFileSystems, fakeFileSystem } from "../../../../test/fakes/file-systems.ts";
import type { CheckSettings } from "../check.ts";
import { filesystemHealthCheck } from "./filesystem-health.ts";

const { signal } = new AbortController();
const clock = createFakeClock(Date.parse("2026-02-01T00:00:00Z"));
const daysAgo = (days: number): number => clock.now() - days * 86_400_000;

const mounted = createFakeFileSystems([
  fakeFileSystem(),
  fakeFileSystem({ path: "/data", device: "/dev/sdb", type: "btrfs" }),
  fakeFileSystem({ path: "/tmp", device: "tmpfs", type: "tmpfs" }),
]);
const run = (
  records: Readonly<Record<string, FileSystemRecord>>,
  {
    pools = [],
    ...settings
  }: Partial<CheckSettings> & { pools?: Parameters<typeof createFakeFileSystemHealth>[1] } = {},
) =>
  filesystemHealthCheck({
    fileSystems: mounted,
    fileSystemHealth: createFakeFileSystemHealth(records, pools),
    clock,
  }).run({ ignore: [], ...settings }, signal);
const tank = { ...fakeRecord(), name: "tank", state: "ONLINE" };

it("filesystem_health passes without errors and with ignored ones, and skips without records", async () => {
  expect(await run({ "/dev/sda1": fakeRecord(), "/dev/sdb": fakeRecord() }, { pools: [tank] })).toMatchObject({
    status: "pass",
    message: "No file system has errors on record",
    details: {
      file_systems: [
        { path: "/", type: "ext4", errors: {}, missing_devices: 0, scrub_ended_at: null },
        { path: "/data", type: "btrfs" },
        { path: "tank", type: "zfs", state: "ONLINE" },
      ],
    },
  });
  const bad = fakeRecord({ errors: { errors: 3 } });
  expect(await run({ "/dev/sda1": bad, "/dev/sdb": fakeRecord() }, { ignore: ["/"] })).toMatchObject({
    status: "pass",
  });
  expect(await run({})).toMatchObject({ status: "skip" });
});

it("filesystem_health names file systems that answer with an error, of any kind, with the record that the kernel has", async () => {
  const broken = brokenFileSystem({ path: "/data", device: "/dev/sdb", type: "btrfs" });
  const ofAll = (record: FileSystemRecord) =>
    filesystemHealthCheck({
      fileSystems: createFakeFileSystems([fakeFileSystem(), brokenFileSystem({ device: "/dev/sdc" }), broken]),
      fileSystemHealth: createFakeFileSystemHealth({ "/dev/sda1": fakeRecord(), "/dev/sdb": record }),
      clock,
    }).run({ ignore: [] }, signal);
  expect(await ofAll(fakeRecord())).toMatchObject({
    status: "pass",
    message: "No file system has errors on record; what /srv/broken, /data has is not known",
    details: {
      file_systems: [
        { path: "/", errors: {} },
        { path: "/srv/broken", type: "vfat", errors: null, unreadable: "EIO" },
        { path: "/data", type: "btrfs", errors: {}, unreadable: "EIO" },
      ],
    },
  });
  expect(await ofAll(fakeRecord({ missingDevices: 1 }))).toMatchObject({ status: "fail" });
});

it("filesystem_health fails for errors of ext4, missing devices and unrepaired scrubs, and warns of mirrored ones", async () => {
  const lastErrorAt = Date.parse("2026-01-31T12:00:00Z");
  expect(await run({ "/dev/sda1": fakeRecord({ errors: { errors: 3 }, lastErrorAt }) })).toMatchObject({
    status: "fail",
    message: "/ (ext4) has 3 errors on record (unmount it and run e2fsck)",
    details: { file_systems: [{ errors: { errors: 3 }, last_error_at: "2026-01-31T12:00:00.000Z" }] },
  });
  expect(await run({ "/dev/sdb": fakeRecord({ errors: { read_errs: 1, corruption_errs: 2 } }) })).toMatchObject({
    status: "warn",
    message: "/data (btrfs) has 3 errors on record (btrfs scrub, then btrfs device stats -z)",
  });
  expect(await run({ "/dev/sdb": fakeRecord({ missingDevices: 1 }) })).toMatchObject({
    status: "fail",
    message: "/data lacks 1 device",
  });
  expect(await run({ "/dev/sda1": fakeRecord({ missingDevices: 1 }) })).toMatchObject({
    status: "fail",
    message: "the device of / (ext4) is gone",
    details: { file_systems: [{ path: "/", missing_devices: 1 }] },
  });
  const scrub = { endedAt: daysAgo(1), unrepaired: 2 };
  expect(await run({ "/dev/sdb": fakeRecord({ scrub }) })).toMatchObject({
    status: "fail",
    message: "the last scrub of /data could not repair 2 errors",
  });
  expect(await run({}, { pools: [{ ...tank, state: "DEGRADED" }] })).toMatchObject({
    status: "warn",
    message: "tank is DEGRADED (zpool status tank)",
  });
  expect(await run({}, { pools: [{ ...tank, state: "SUSPENDED" }] })).toMatchObject({ status: "fail" });
  expect(await run({}, { pools: [{ ...tank, errors: { checksum_errors: 4 } }] })).toMatchObject({ status: "warn" });
  expect(await run({}, { pools: [{ ...tank, errors: { checksum_errors: 4, data_errors: 1 } }] })).toMatchObject({
    status: "fail",
    message: "tank has 1 error of data that no copy repairs (zpool status -v tank)",
  });
});

it("filesystem_health names what the host does not say, and takes nothing of it for healthy", async () => {
  const silent = fakeRecord({ errors: null, missingDevices: null, scrub: undefined });
  expect(await run({ "/dev/sdb": silent }, { warn: 35 })).toMatchObject({
    status: "skip",
    message: "What errors /data has is not known: the kernel does not say",
    details: { file_systems: [{ path: "/data", errors: null, missing_devices: null, scrub_ended_at: null }] },
  });
  expect(await run({ "/dev/sda1": fakeRecord(), "/dev/sdb": silent })).toMatchObject({
    status: "pass",
    message: "No file system has errors on record; what /data has is not known",
  });
  expect(await run({ "/dev/sdb": { ...silent, unreadable: "EIO: i/o error, read" } })).toMatchObject({
    status: "skip",
    message: "What errors /data has is not known: EIO: i/o error, read",
    details: { file_systems: [{ path: "/data", errors: null, unreadable: "EIO: i/o error, read" }] },
  });
  expect(await run({}, { pools: [{ ...tank, ...silent, state: "DEGRADED" }] })).toMatchObject({ status: "warn" });
  expect(await run({ "/dev/sdb": { ...silent, missingDevices: 1 } })).toMatchObject({ status: "fail" });
});

it("filesystem_health grades the age of a scrub only if settings say so", async () => {
  const scrubbed = (days: number) => ({ "/dev/sdb": fakeRecord({ scrub: { endedAt: daysAgo(days), unrepaired: 0 } }) });
  expect(await run(scrubbed(400))).toMatchObject({ status: "pass" });
  expect(await run(scrubbed(34), { warn: 35 })).toMatchObject({ status: "pass" });
  expect(await run(scrubbed(35), { warn: 35 })).toMatchObject({
    status: "warn",
    message: "/data: the last scrub ended 35 days ago",
  });
  expect(await run(scrubbed(70), { warn: 35, fail: 70 })).toMatchObject({ status: "fail" });
  expect(await run({ "/dev/sdb": fakeRecord() }, { warn: 35 })).toMatchObject({
    message: "/data: no scrub is on record",
  });
  expect(await run({ "/dev/sda1": fakeRecord() }, { warn: 35 })).toMatchObject({ status: "pass" });
});
