import { describe, expect, it } from "vitest";
import type { RunProgram } from "#domain/ports/host-files.ts";
import { createFakeClock } from "../../../../test/fakes/clock.ts";
import { brokenFileSystem, createFakeFileSystems, fakeFileSystem } from "../../../../test/fakes/file-systems.ts";
import { createFakeHostFiles } from "../../../../test/fakes/host-files.ts";
import { zpoolStatus } from "../../../../test/host/support/recorded.ts";
import type { CheckSettings } from "../check.ts";
import type { FileSystemRecord, ZfsPool } from "../zpool.ts";
import { filesystemHealthCheck, judgeRecords, readRecords } from "./filesystem-health.ts";

const { signal } = new AbortController();
const clock = createFakeClock(Date.parse("2026-02-01T00:00:00Z"));
const daysAgo = (days: number): number => clock.now() - days * 86_400_000;

/** Without errors, and never scrubbed. */
const fakeRecord = (given: Partial<FileSystemRecord> = {}): FileSystemRecord => ({
  errors: {},
  lastErrorAt: null,
  missingDevices: 0,
  scrub: null,
  ...given,
});

const mounted = [
  fakeFileSystem(),
  fakeFileSystem({ path: "/data", device: "/dev/sdb", type: "btrfs" }),
  fakeFileSystem({ path: "/tmp", device: "tmpfs", type: "tmpfs" }),
];
/** @param records by device; one without is of a kind that keeps none. */
const run = (
  records: Readonly<Record<string, FileSystemRecord>>,
  {
    pools = [],
    on = mounted,
    ...settings
  }: Partial<CheckSettings> & { pools?: readonly ZfsPool[]; on?: Parameters<typeof createFakeFileSystems>[0] } = {},
) =>
  judgeRecords(
    { mounted: on.map((each) => [each, records[each.device]] as const), pools },
    { ignore: [], ...settings },
    clock.now(),
  );
const tank = { ...fakeRecord(), name: "tank", state: "ONLINE" };

it("filesystem_health passes without errors and with ignored ones, and skips without records", () => {
  expect(run({ "/dev/sda1": fakeRecord(), "/dev/sdb": fakeRecord() }, { pools: [tank] })).toMatchObject({
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
  expect(run({ "/dev/sda1": bad, "/dev/sdb": fakeRecord() }, { ignore: ["/"] })).toMatchObject({
    status: "pass",
  });
  expect(run({})).toMatchObject({ status: "skip" });
});

it("filesystem_health names file systems that answer with an error, of any kind, with the record that the kernel has", () => {
  const broken = brokenFileSystem({ path: "/data", device: "/dev/sdb", type: "btrfs" });
  const ofAll = (record: FileSystemRecord) =>
    run(
      { "/dev/sda1": fakeRecord(), "/dev/sdb": record },
      { on: [fakeFileSystem(), brokenFileSystem({ device: "/dev/sdc" }), broken] },
    );
  expect(ofAll(fakeRecord())).toMatchObject({
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
  expect(ofAll(fakeRecord({ missingDevices: 1 }))).toMatchObject({ status: "fail" });
});

it("filesystem_health fails for errors of ext4, missing devices and unrepaired scrubs, and warns of mirrored ones", () => {
  const lastErrorAt = Date.parse("2026-01-31T12:00:00Z");
  expect(run({ "/dev/sda1": fakeRecord({ errors: { errors: 3 }, lastErrorAt }) })).toMatchObject({
    status: "fail",
    message: "/ (ext4) has 3 errors on record (unmount it and run e2fsck)",
    details: { file_systems: [{ errors: { errors: 3 }, last_error_at: "2026-01-31T12:00:00.000Z" }] },
  });
  expect(run({ "/dev/sdb": fakeRecord({ errors: { read_errs: 1, corruption_errs: 2 } }) })).toMatchObject({
    status: "warn",
    message: "/data (btrfs) has 3 errors on record (btrfs scrub, then btrfs device stats -z)",
  });
  expect(run({ "/dev/sdb": fakeRecord({ missingDevices: 1 }) })).toMatchObject({
    status: "fail",
    message: "/data lacks 1 device",
  });
  expect(run({ "/dev/sda1": fakeRecord({ missingDevices: 1 }) })).toMatchObject({
    status: "fail",
    message: "the device of / (ext4) is gone",
    details: { file_systems: [{ path: "/", missing_devices: 1 }] },
  });
  const scrub = { endedAt: daysAgo(1), unrepaired: 2 };
  expect(run({ "/dev/sdb": fakeRecord({ scrub }) })).toMatchObject({
    status: "fail",
    message: "the last scrub of /data could not repair 2 errors",
  });
  expect(run({}, { pools: [{ ...tank, state: "DEGRADED" }] })).toMatchObject({
    status: "warn",
    message: "tank is DEGRADED (zpool status tank)",
  });
  expect(run({}, { pools: [{ ...tank, state: "SUSPENDED" }] })).toMatchObject({ status: "fail" });
  expect(run({}, { pools: [{ ...tank, errors: { checksum_errors: 4 } }] })).toMatchObject({ status: "warn" });
  expect(run({}, { pools: [{ ...tank, errors: { checksum_errors: 4, data_errors: 1 } }] })).toMatchObject({
    status: "fail",
    message: "tank has 1 error of data that no copy repairs (zpool status -v tank)",
  });
});

it("filesystem_health names what the host does not say, and takes nothing of it for healthy", () => {
  const silent = fakeRecord({ errors: null, missingDevices: null, scrub: undefined });
  expect(run({ "/dev/sdb": silent }, { warn: 35 })).toMatchObject({
    status: "skip",
    message: "What errors /data has is not known: the kernel does not say",
    details: { file_systems: [{ path: "/data", errors: null, missing_devices: null, scrub_ended_at: null }] },
  });
  expect(run({ "/dev/sda1": fakeRecord(), "/dev/sdb": silent })).toMatchObject({
    status: "pass",
    message: "No file system has errors on record; what /data has is not known",
  });
  expect(run({ "/dev/sdb": { ...silent, unreadable: "EIO: i/o error, read" } })).toMatchObject({
    status: "skip",
    message: "What errors /data has is not known: EIO: i/o error, read",
    details: { file_systems: [{ path: "/data", errors: null, unreadable: "EIO: i/o error, read" }] },
  });
  expect(run({}, { pools: [{ ...tank, ...silent, state: "DEGRADED" }] })).toMatchObject({ status: "warn" });
  expect(run({ "/dev/sdb": { ...silent, missingDevices: 1 } })).toMatchObject({ status: "fail" });
});

it("filesystem_health grades the age of a scrub only if settings say so", () => {
  const scrubbed = (days: number) => ({ "/dev/sdb": fakeRecord({ scrub: { endedAt: daysAgo(days), unrepaired: 0 } }) });
  expect(run(scrubbed(400))).toMatchObject({ status: "pass" });
  expect(run(scrubbed(34), { warn: 35 })).toMatchObject({ status: "pass" });
  expect(run(scrubbed(35), { warn: 35 })).toMatchObject({
    status: "warn",
    message: "/data: the last scrub ended 35 days ago",
  });
  expect(run(scrubbed(70), { warn: 35, fail: 70 })).toMatchObject({ status: "fail" });
  expect(run({ "/dev/sdb": fakeRecord() }, { warn: 35 })).toMatchObject({
    message: "/data: no scrub is on record",
  });
  expect(run({ "/dev/sda1": fakeRecord() }, { warn: 35 })).toMatchObject({ status: "pass" });
});

it("filesystem_health judges what it has read", async () => {
  const check = filesystemHealthCheck({
    fileSystems: createFakeFileSystems(mounted),
    hostFiles: createFakeHostFiles({ "/sys/fs/ext4/sda1/errors_count": "3\n" }),
    exec: () => Promise.reject(new Error("nothing is asked without ZFS")),
    clock,
  });
  expect(await check.run({ ignore: [] }, signal)).toMatchObject({
    status: "fail",
    message: "/ (ext4) has 3 errors on record (unmount it and run e2fsck)",
  });
});

describe("what file systems record of their errors", () => {
  const uuid = "8d9a1f0e-0000-4000-8000-000000000001";
  const scrub = "t_start:1767250000|t_resumed:0";
  const stats = (write: number, corruption: number): string =>
    `write_errs ${write}\nread_errs 0\nflush_errs 0\ncorruption_errs ${corruption}\n`;
  const btrfs = `/sys/fs/btrfs/${uuid}`;
  const files = {
    "/sys/fs/ext4/sda1/errors_count": "3\n",
    "/sys/fs/ext4/sda1/last_error_time": "1767258000\n",
    "/sys/fs/ext4/sda2/errors_count": "0\n",
    "/sys/dev/block/8:1": "-> ../../fs/ext4/sda1",
    "/sys/dev/block/8:2": "-> ../../fs/ext4/sda2",
    [`${btrfs}/devices/sdb`]: "",
    [`${btrfs}/devices/sdc`]: "",
    [`${btrfs}/devinfo/1/error_stats`]: stats(2, 5),
    [`${btrfs}/devinfo/1/missing`]: "0\n",
    [`${btrfs}/devinfo/2/error_stats`]: stats(1, 0),
    [`${btrfs}/devinfo/2/missing`]: "1\n",
    [`/var/lib/btrfs/scrub.status.${uuid}`]: `scrub status:1
${uuid}:1|data_extents_scrubbed:7|uncorrectable_errors:1|corrected_errors:0|${scrub}|duration:60|canceled:0|finished:1
${uuid}:2|data_extents_scrubbed:7|uncorrectable_errors:2|corrected_errors:0|${scrub}|duration:90|canceled:0|finished:1
`,
    "/proc/spl/kstat/zfs/tank/state": "DEGRADED\n",
    "/proc/spl/kstat/zfs/arcstats": "",
  };
  const zpoolText = `  pool: tank
 state: DEGRADED
  scan: none requested
config:

\tNAME        STATE     READ WRITE CKSUM
\ttank        DEGRADED     0     0     0
\t  mirror-0  DEGRADED     0     0     0
\t    sda     ONLINE       0     1     0
\t    sdb     UNAVAIL      0     0     0  cannot open

errors: 2 data errors, use '-v' for a list
`;
  const unknown = fakeRecord({ errors: null, missingDevices: null, scrub: undefined });
  const printing =
    (stdout: string, rest: { readonly exitCode?: number; readonly stderr?: string } = {}): RunProgram =>
    () =>
      Promise.resolve({ exitCode: 0, stdout, stderr: "", ...rest });
  const nothing: RunProgram = () => Promise.reject(new Error("it was asked"));
  type Subject = Parameters<typeof fakeFileSystem>[0];
  const recordOf = async (subject: Subject, on: Readonly<Record<string, string>> = files) => {
    const fileSystems = createFakeFileSystems([fakeFileSystem(subject)]);
    const facts = await readRecords(
      { fileSystems, hostFiles: createFakeHostFiles(on), exec: printing(zpoolStatus) },
      signal,
    );
    return facts.mounted[0]?.[1];
  };
  const poolsBy = async (exec: RunProgram, on: Readonly<Record<string, string>> = files) =>
    (await readRecords({ fileSystems: createFakeFileSystems([]), hostFiles: createFakeHostFiles(on), exec }, signal))
      .pools;

  it("is what ext4, Btrfs and ZFS record of their errors", async () => {
    const ext4 = fakeRecord({ errors: { errors: 3 }, lastErrorAt: 1_767_258_000_000 });
    expect(await recordOf({ number: "8:1", device: "/dev/sda1", type: "ext4" })).toEqual(ext4);
    expect(await recordOf({ number: "8:2", device: "/dev/root", type: "ext4" })).toEqual(fakeRecord());
    expect(await recordOf({ number: "0:30", device: "/dev/sdc", type: "btrfs" })).toEqual(
      fakeRecord({
        errors: { write_errs: 3, corruption_errs: 5 },
        missingDevices: 1,
        scrub: { endedAt: 1_767_250_090_000, unrepaired: 3 },
      }),
    );
    const pool = fakeRecord({
      errors: { read_errors: 4, checksum_errors: 2 },
      missingDevices: 1,
      scrub: { endedAt: 1_767_250_000_000, unrepaired: 0 },
    });
    expect(await poolsBy(printing(zpoolStatus))).toEqual([{ ...pool, name: "tank", state: "DEGRADED" }]);
  });

  it("is undefined for what records none, and not known where the kernel does not show what should", async () => {
    expect(await recordOf({ number: "0:31", device: "tmpfs", type: "tmpfs" })).toBeUndefined();
    expect(await recordOf({ number: "8:1", device: "/dev/sda1", type: "xfs" }, {})).toBeUndefined();
    expect(await poolsBy(printing(zpoolStatus), {})).toEqual([]);
    for (const type of ["ext4", "btrfs"])
      expect(await recordOf({ number: "8:1", device: "/dev/sda1", type }, {})).toEqual(unknown);
  });

  it("of a pool is its state alone where zpool is not installed or says nothing", async () => {
    const missing: RunProgram = () => Promise.reject(new Error("cannot run zpool"));
    for (const each of [missing, printing("", { exitCode: 2, stderr: "invalid option" })])
      expect(await poolsBy(each)).toEqual([{ ...unknown, name: "tank", state: "DEGRADED" }]);
  });

  it("of a pool is what an older zpool prints for people", async () => {
    const older: RunProgram = (argv, options) =>
      (argv.includes("--json") ? printing("", { exitCode: 2 }) : printing(zpoolText))(argv, options);
    expect(await poolsBy(older)).toEqual([
      {
        ...fakeRecord({ errors: { write_errors: 1, data_errors: 2 }, missingDevices: 1 }),
        name: "tank",
        state: "DEGRADED",
      },
    ]);
  });

  it("of each pool that the kernel has is its state at least, where zpool cannot open one of several", async () => {
    const on = { "/proc/spl/kstat/zfs/tank/state": "DEGRADED\n", "/proc/spl/kstat/zfs/odd/state": "FAULTED\n" };
    const partial: RunProgram = (argv, options) =>
      printing(argv.includes("--json") ? "" : zpoolText, { exitCode: 1, stderr: "cannot open 'odd'" })(argv, options);
    const pools = await poolsBy(partial, on);
    expect(pools.map(({ name, state, errors }) => [name, state, errors])).toEqual(
      expect.arrayContaining([
        ["odd", "FAULTED", null],
        ["tank", "DEGRADED", { write_errors: 1, data_errors: 2 }],
      ]),
    );
  });

  it("of a pool that waits for its devices is its state, and zpool, which may never answer, is not asked", async () => {
    expect(await poolsBy(nothing, { "/proc/spl/kstat/zfs/tank/state": "SUSPENDED\n" })).toEqual([
      { ...unknown, name: "tank", state: "SUSPENDED" },
    ]);
  });

  it("of Btrfs is not known where an older kernel does not say, and a scrub that has not ended on every device does not count", async () => {
    const older = {
      [`${btrfs}/devices/sdb`]: "",
      [`/var/lib/btrfs/scrub.status.${uuid}`]: `scrub status:1
${uuid}:1|uncorrectable_errors:0|${scrub}|duration:60|canceled:0|finished:1
${uuid}:2|uncorrectable_errors:0|${scrub}|duration:30|canceled:1|finished:0
`,
    };
    const found = await recordOf({ number: "0:30", device: "/dev/sdb", type: "btrfs" }, older);
    expect(found).toEqual(fakeRecord({ errors: null, missingDevices: null }));
  });

  it("names a device that is gone while its file system is mounted, whatever that is", async () => {
    const gone = {
      "/sys/fs/ext4/sdx/errors_count": "0\n",
      "/sys/dev/block/8:1": "",
      "/dev/disk/other": "",
      [`${btrfs}/devinfo/1/missing`]: "0\n",
      [`${btrfs}/devinfo/2/missing`]: "0\n",
      [`${btrfs}/devices/sdb`]: "",
      [`${btrfs}/devices/sdy`]: "-> /nonexistent",
      "/sys/fs/btrfs/older/devices/sdz": "",
      "/sys/fs/btrfs/older/devices/sdw": "-> /nonexistent",
    };
    const of = (subject: Subject) => recordOf(subject, gone);
    const missingOf = async (number: string, device: string, type: string) =>
      (await of({ number, device, type }))?.missingDevices;
    expect(await of({ number: "8:16", device: "/dev/sdx", type: "ext4" })).toEqual(fakeRecord({ missingDevices: 1 }));
    expect(await missingOf("8:16", "/dev/disk/gone", "ext4")).toBe(1);
    expect(await missingOf("8:16", "/dev/sdx", "xfs")).toBe(1);
    expect(await missingOf("0:30", "/dev/sdb", "btrfs")).toBe(1);
    expect(await missingOf("0:30", "/dev/sdy", "btrfs")).toBe(1);
    expect(await missingOf("0:31", "/dev/sdz", "btrfs")).toBe(1);
    expect(await missingOf("0:32", "/dev/disk/gone", "btrfs")).toBe(1);
    // A container has none of the names below /dev.
    expect(await missingOf("0:32", "/dev/sdq", "btrfs")).toBeNull();
    expect(await missingOf("0:32", "/nonexistent/disk/gone", "btrfs")).toBeNull();
  });

  it("says why what cannot be read is not known", async () => {
    const broken = { "/sys/fs/ext4/sdx/errors_count": "!EIO" };
    expect(await recordOf({ number: "8:16", device: "/dev/sdx", type: "ext4" }, broken)).toEqual({
      ...unknown,
      unreadable: expect.stringContaining("EIO"),
    });
  });

  it("of a pool is its state where zpool does not end", async () => {
    const hanging: RunProgram = () => Promise.reject(new Error("no end after 20000 ms"));
    expect(await poolsBy(hanging)).toEqual([{ ...unknown, name: "tank", state: "DEGRADED" }]);
  });
});
