import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createBlockDevices } from "#adapters/block-devices/index.ts";
import { CommandFailed } from "#adapters/exec/command.ts";
import { type Exec, exec } from "#adapters/exec/index.ts";
import { isRecord, isString, parseJsonObject, recordsIn } from "#kernel/values.ts";
import { fakeDevice } from "../fakes/block-devices.ts";
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
