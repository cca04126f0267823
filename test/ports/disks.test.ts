import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createBlockDevices } from "#adapters/block-devices/index.ts";
import { CommandFailed } from "#adapters/exec/command.ts";
import { type Exec, exec } from "#adapters/exec/index.ts";
import { createFileSystemHealth } from "#adapters/file-system-health/index.ts";
import { isRecord, isString, parseJsonObject, recordsIn } from "#kernel/values.ts";
import { fakeDevice } from "../fakes/block-devices.ts";
import { fakeRecord } from "../fakes/file-system-health.ts";
import { zpoolStatus } from "../host/support/recorded.ts";
import { type KernelDevice, writeBlockDevices } from "./support/block-device-tree.ts";
import { directoryWith } from "./support/directories.ts";
import { notInstalled, printing } from "./support/programs.ts";

const { signal } = new AbortController();

let minor = 0;
const disk = (name: string, more: Partial<KernelDevice> = {}): KernelDevice => {
  minor += 1;
  return { name, number: `8:${minor}`, sectors: 2 ** 21, ...more };
};
const mapped = (name: string, uuid: string, dmName: string, madeOf: readonly string[], udev = {}): KernelDevice =>
  disk(name, { madeOf, udev, files: { "dm/name": dmName, "dm/uuid": uuid } });
const member = (type: string) => ({ udev: { ID_FS_TYPE: type } });
const array = (name: string, level: string, madeOf: readonly string[], more: Partial<KernelDevice> = {}) =>
  disk(name, { madeOf, ...more, files: { "md/level": level, "md/metadata_version": "1.2" } });

const trees: Readonly<Record<string, readonly KernelDevice[]>> = {
  "a mirror of two partitions with logical volumes, one of them encrypted": [
    disk("sda"),
    disk("sda1", { partitionOf: "sda", ...member("linux_raid_member") }),
    disk("sdb"),
    disk("sdb1", { partitionOf: "sdb", ...member("linux_raid_member") }),
    array("md0", "raid1", ["sda1", "sdb1"], member("LVM2_member")),
    mapped("dm-0", "LVM-vgroot", "vg-root", ["md0"], { ID_FS_TYPE: "ext4", ID_FS_UUID: "1-2", ID_FS_LABEL: "root" }),
    mapped("dm-1", "LVM-vghome", "vg-home", ["md0"], { ID_FS_TYPE: "crypto_LUKS" }),
    mapped("dm-2", "CRYPT-LUKS2-12-home", "home", ["dm-1"]),
  ],
  "a partitioned array of whole disks": [
    ...["sda", "sdb", "sdc"].map((name) => disk(name, member("linux_raid_member"))),
    array("md127", "raid5", ["sda", "sdb", "sdc"]),
    ...["md127p1", "md127p2"].map((name) => disk(name, { partitionOf: "md127" })),
  ],
  "a thin pool over two disks": [
    ...["sda", "sdb"].map((name) => disk(name, member("LVM2_member"))),
    mapped("dm-0", "LVM-vgmeta-tmeta", "vg-pool_tmeta", ["sda"]),
    mapped("dm-1", "LVM-vgdata-tdata", "vg-pool_tdata", ["sda", "sdb"]),
    mapped("dm-2", "LVM-vgpool-tpool", "vg-pool-tpool", ["dm-0", "dm-1"]),
    ...["one", "two", "three"].map((name, at) => mapped(`dm-${at + 3}`, `LVM-vg${name}`, `vg-${name}`, ["dm-2"])),
  ],
  "two paths to one disk, with a partition": [
    ...["sda", "sdb"].map((name) => disk(name)),
    mapped("dm-0", "mpath-3600", "mpatha", ["sda", "sdb"]),
    mapped("dm-1", "part1-mpath-3600", "mpatha-part1", ["dm-0"]),
  ],
};

/** The kind of a mapped device begins its identifier. */
function typeOf({ partitionOf, files = {} }: KernelDevice): string {
  const { "dm/uuid": uuid, "md/level": level = "disk" } = files;
  if (partitionOf !== undefined || uuid?.startsWith("part") === true) return "part";
  return uuid === undefined ? level : uuid.replace(/-.*/, "").toLowerCase();
}

type Rows = readonly Readonly<Record<string, unknown>>[];
const sorted = (pairs: Iterable<string>): readonly string[] => [...new Set(pairs)].toSorted();
/** What stands on what in the tree that lsblk itself prints. */
const pairsOf = (rows: Rows, parent?: string): readonly string[] =>
  rows.flatMap(({ kname, children }) => {
    if (!isString(kname)) throw new Error("lsblk names no device");
    return [...(parent === undefined ? [] : [`${kname} on ${parent}`]), ...pairsOf(recordsIn(children), kname)];
  });
const allOf = (rows: Rows): Rows => rows.flatMap((row) => [row, ...allOf(recordsIn(row["children"]))]);

describe.each(Object.entries(trees))("block devices by lsblk on %s", (_, tree) => {
  const root = directoryWith();
  writeBlockDevices(root, tree);
  const onTree: Exec = ([program, ...words], options) => exec([program, `--sysroot=${root}`, ...words], options);
  const list = () => createBlockDevices({ exec: onTree, sysDir: join(root, "sys") }).list(signal);

  it("are listed once each, after all that they are part or made of", async () => {
    const devices = await list();
    expect(devices.map(({ name }) => name).toSorted()).toEqual(tree.map(({ name }) => name).toSorted());
    const seen = new Set<string>();
    for (const { name, type, parents, number, sizeBytes, content } of devices) {
      const kernel = tree.find((each) => each.name === name);
      if (kernel === undefined) throw new Error(`there is no ${name}`);
      const of = kernel.partitionOf === undefined ? (kernel.madeOf ?? []) : [kernel.partitionOf];
      expect([name, type, parents.toSorted()]).toEqual([name, typeOf(kernel), of.toSorted()]);
      expect([number, sizeBytes]).toEqual([kernel.number, 512 * kernel.sectors]);
      expect(content?.type).toBe(kernel.udev?.["ID_FS_TYPE"]);
      expect([...seen]).toEqual(expect.arrayContaining([...parents]));
      seen.add(name);
    }
  });

  it("stand on each other as in the tree that it prints by itself", async () => {
    const answer = parseJsonObject((await onTree(["lsblk", "--json", "--output=NAME,KNAME,PATH,TYPE"])).stdout);
    const rows = recordsIn(isRecord(answer) ? answer["blockdevices"] : []);
    const devices = await list();
    const ours = devices.flatMap(({ name, parents }) => parents.map((parent) => `${name} on ${parent}`));
    expect(sorted(ours)).toEqual(sorted(pairsOf(rows)));
    expect(ours.length).toBeGreaterThan(0);
    for (const { kname, path, type } of allOf(rows))
      expect(devices.find(({ name }) => name === kname)).toMatchObject({ path, type });
  });
});

describe("block devices", () => {
  const row = { kname: "sda", path: "/dev/sda", "maj:min": "8:0", type: "disk", size: 1e9, ro: false, rm: false };
  const one = JSON.stringify({ blockdevices: [{ ...row, rota: false }] });
  const failing = printing("", { exitCode: 1, stderr: "lsblk: failed\nmore" });
  const hanging: Exec = () => Promise.reject(new CommandFailed("no end after 10000 ms"));

  it("are those that lsblk prints, and none where it prints nothing", async () => {
    expect(await createBlockDevices({ exec: printing(one) }).list(signal)).toEqual([fakeDevice("sda")]);
    expect(await createBlockDevices({ exec: printing("\n") }).list(signal)).toEqual([]);
  });

  it.each<[string, Exec, object]>([
    ["is not installed", notInstalled, { missing: "lsblk", retryable: false }],
    ["does not end", hanging, { missing: "lsblk", retryable: true }],
    ["fails", failing, { missing: "lsblk", retryable: true }],
    ["prints something else", printing("sda 8:0"), { missing: "lsblk", retryable: true }],
    ["prints too much", printing(one, { truncated: true }), { missing: "lsblk", retryable: true }],
  ])("are unavailable where lsblk %s", async (_, exec, details) => {
    await expect(createBlockDevices({ exec, sysDir: "/sys" }).list(signal)).rejects.toMatchObject({ details });
  });

  it("are unavailable where the kernel does not show them", async () => {
    const listed = createBlockDevices({ exec: printing(one), sysDir: "/nothing" }).list(signal);
    const details = { missing: "/nothing/block", retryable: false };
    await expect(listed).rejects.toMatchObject({ name: "DisksUnavailable", details });
  });
});

describe("the health of file systems", () => {
  const uuid = "8d9a1f0e-0000-4000-8000-000000000001";
  const scrub = "t_start:1767250000|t_resumed:0";
  const stats = (write: number, corruption: number): string =>
    `write_errs ${write}\nread_errs 0\nflush_errs 0\ncorruption_errs ${corruption}\n`;
  const dir = directoryWith({
    "fs/ext4/sda1/errors_count": "3\n",
    "fs/ext4/sda1/last_error_time": "1767258000\n",
    "fs/ext4/sda2/errors_count": "0\n",
    [`fs/btrfs/${uuid}/devices/sdb`]: "",
    [`fs/btrfs/${uuid}/devices/sdc`]: "",
    [`fs/btrfs/${uuid}/devinfo/1/error_stats`]: stats(2, 5),
    [`fs/btrfs/${uuid}/devinfo/1/missing`]: "0\n",
    [`fs/btrfs/${uuid}/devinfo/2/error_stats`]: stats(1, 0),
    [`fs/btrfs/${uuid}/devinfo/2/missing`]: "1\n",
    [`scrub.status.${uuid}`]: `scrub status:1
${uuid}:1|data_extents_scrubbed:7|uncorrectable_errors:1|corrected_errors:0|${scrub}|duration:60|canceled:0|finished:1
${uuid}:2|data_extents_scrubbed:7|uncorrectable_errors:2|corrected_errors:0|${scrub}|duration:90|canceled:0|finished:1
`,
    "spl/kstat/zfs/tank/state": "DEGRADED\n",
    "spl/kstat/zfs/arcstats": "",
  });
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
  const places = { sysDir: dir, procDir: dir, scrubDir: dir };
  mkdirSync(join(dir, "dev/block"), { recursive: true });
  for (const [number, name] of [
    ["8:1", "sda1"],
    ["8:2", "sda2"],
  ] as const)
    symlinkSync(join(dir, "fs/ext4", name), join(dir, "dev/block", number));
  const health = createFileSystemHealth({ exec: printing(zpoolStatus), ...places });

  it("is what ext4, Btrfs and ZFS record of their errors", async () => {
    const ext4 = fakeRecord({ errors: { errors: 3 }, lastErrorAt: 1_767_258_000_000 });
    expect(await health.of({ number: "8:1", device: "/dev/sda1", type: "ext4" })).toEqual(ext4);
    expect(await health.of({ number: "8:2", device: "/dev/root", type: "ext4" })).toEqual(fakeRecord());
    expect(await health.of({ number: "0:30", device: "/dev/sdc", type: "btrfs" })).toEqual(
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
    expect(await health.pools(signal)).toEqual([{ ...pool, name: "tank", state: "DEGRADED" }]);
  });

  it("is undefined for what records none, and not known where the kernel does not show what should", async () => {
    expect(await health.of({ number: "0:31", device: "tmpfs", type: "tmpfs" })).toBeUndefined();
    const nowhere = { sysDir: "/nonexistent", procDir: "/nonexistent", scrubDir: "/nonexistent" };
    const absent = createFileSystemHealth({ exec: printing(zpoolStatus), ...nowhere });
    expect(await absent.of({ number: "8:1", device: "/dev/sda1", type: "xfs" })).toBeUndefined();
    expect(await absent.pools(signal)).toEqual([]);
    for (const type of ["ext4", "btrfs"])
      expect(await absent.of({ number: "8:1", device: "/dev/sda1", type })).toEqual(unknown);
  });

  it("of a pool is its state alone where zpool is not installed or says nothing", async () => {
    const missing: Exec = (_, options) => exec(["/nonexistent/zpool"], options);
    for (const each of [missing, printing("", { exitCode: 2, stderr: "invalid option" })])
      expect(await createFileSystemHealth({ exec: each, ...places }).pools(signal)).toEqual([
        { ...unknown, name: "tank", state: "DEGRADED" },
      ]);
  });

  it("of a pool is what an older zpool prints for people", async () => {
    const older: Exec = (argv) =>
      argv.includes("--json") ? printing("", { exitCode: 2 })(argv) : printing(zpoolText)(argv);
    expect(await createFileSystemHealth({ exec: older, ...places }).pools(signal)).toEqual([
      {
        ...fakeRecord({ errors: { write_errors: 1, data_errors: 2 }, missingDevices: 1 }),
        name: "tank",
        state: "DEGRADED",
      },
    ]);
  });

  it("of each pool that the kernel has is its state at least, where zpool cannot open one of several", async () => {
    const procDir = directoryWith({ "spl/kstat/zfs/tank/state": "DEGRADED\n", "spl/kstat/zfs/odd/state": "FAULTED\n" });
    const partial: Exec = (argv) =>
      printing(argv.includes("--json") ? "" : zpoolText, { exitCode: 1, stderr: "cannot open 'odd'" })(argv);
    const pools = await createFileSystemHealth({ exec: partial, procDir }).pools(signal);
    expect(pools.map(({ name, state, errors }) => [name, state, errors])).toEqual(
      expect.arrayContaining([
        ["odd", "FAULTED", null],
        ["tank", "DEGRADED", { write_errors: 1, data_errors: 2 }],
      ]),
    );
  });

  it("of a pool that waits for its devices is its state, and zpool, which may never answer, is not asked", async () => {
    const procDir = directoryWith({ "spl/kstat/zfs/tank/state": "SUSPENDED\n" });
    const forbidden: Exec = () => Promise.reject(new Error("it was asked"));
    expect(await createFileSystemHealth({ exec: forbidden, procDir }).pools(signal)).toEqual([
      { ...unknown, name: "tank", state: "SUSPENDED" },
    ]);
  });

  it("of Btrfs is not known where an older kernel does not say, and a scrub that has not ended on every device does not count", async () => {
    const older = directoryWith({
      [`fs/btrfs/${uuid}/devices/sdb`]: "",
      [`scrub.status.${uuid}`]: `scrub status:1
${uuid}:1|uncorrectable_errors:0|${scrub}|duration:60|canceled:0|finished:1
${uuid}:2|uncorrectable_errors:0|${scrub}|duration:30|canceled:1|finished:0
`,
    });
    const found = await createFileSystemHealth({ exec, sysDir: older, scrubDir: older }).of({
      number: "0:30",
      device: "/dev/sdb",
      type: "btrfs",
    });
    expect(found).toEqual(fakeRecord({ errors: null, missingDevices: null }));
  });

  it("names a device that is gone while its file system is mounted, whatever that is", async () => {
    const gone = directoryWith({
      "fs/ext4/sdx/errors_count": "0\n",
      "dev/block/8:1": "",
      "disk/other": "",
      [`fs/btrfs/${uuid}/devinfo/1/missing`]: "0\n",
      [`fs/btrfs/${uuid}/devinfo/2/missing`]: "0\n",
      [`fs/btrfs/${uuid}/devices/sdb`]: "",
      "fs/btrfs/older/devices/sdz": "",
    });
    for (const [id, name] of [
      [uuid, "sdy"],
      ["older", "sdw"],
    ] as const)
      symlinkSync("/nonexistent", join(gone, "fs/btrfs", id, "devices", name));
    const { of } = createFileSystemHealth({ exec, sysDir: gone, scrubDir: gone });
    const missingOf = async (number: string, device: string, type: string) =>
      (await of({ number, device, type }))?.missingDevices;
    expect(await of({ number: "8:16", device: "/dev/sdx", type: "ext4" })).toEqual(fakeRecord({ missingDevices: 1 }));
    expect(await missingOf("8:16", join(gone, "disk/gone"), "ext4")).toBe(1);
    expect(await missingOf("8:16", "/dev/sdx", "xfs")).toBe(1);
    expect(await missingOf("0:30", "/dev/sdb", "btrfs")).toBe(1);
    expect(await missingOf("0:30", "/dev/sdy", "btrfs")).toBe(1);
    expect(await missingOf("0:31", "/dev/sdz", "btrfs")).toBe(1);
    expect(await missingOf("0:32", join(gone, "disk/gone"), "btrfs")).toBe(1);
    // A container has none of the names below /dev.
    expect(await missingOf("0:32", "/dev/sdq", "btrfs")).toBeNull();
    expect(await missingOf("0:32", "/nonexistent/disk/gone", "btrfs")).toBeNull();
  });

  it("says why what cannot be read is not known", async () => {
    const sysDir = directoryWith({ "fs/ext4/sdx/errors_count/odd": "" });
    const { of } = createFileSystemHealth({ exec, sysDir });
    expect(await of({ number: "8:16", device: "/dev/sdx", type: "ext4" })).toEqual({
      ...unknown,
      unreadable: expect.stringContaining("EISDIR"),
    });
  });

  it("of a pool is its state where zpool does not end", async () => {
    const hanging: Exec = () => Promise.reject(new CommandFailed("no end after 20000 ms"));
    expect(await createFileSystemHealth({ exec: hanging, ...places }).pools(signal)).toEqual([
      { ...unknown, name: "tank", state: "DEGRADED" },
    ]);
  });
});
