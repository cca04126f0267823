import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createBlockDevices } from "#adapters/block-devices/index.ts";
import { type Exec, exec } from "#adapters/exec/index.ts";
import { isRecord, isString, parseJsonObject, recordsIn } from "#kernel/values.ts";
import { type KernelDevice, writeBlockDevices } from "./support/block-device-tree.ts";

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
    disk("md127p1", { partitionOf: "md127" }),
    disk("md127p2", { partitionOf: "md127" }),
  ],
  "a thin pool over two disks": [
    disk("sda", member("LVM2_member")),
    disk("sdb", member("LVM2_member")),
    mapped("dm-0", "LVM-vgmeta-tmeta", "vg-pool_tmeta", ["sda"]),
    mapped("dm-1", "LVM-vgdata-tdata", "vg-pool_tdata", ["sda", "sdb"]),
    mapped("dm-2", "LVM-vgpool-tpool", "vg-pool-tpool", ["dm-0", "dm-1"]),
    ...["one", "two", "three"].map((name, at) => mapped(`dm-${at + 3}`, `LVM-vg${name}`, `vg-${name}`, ["dm-2"])),
  ],
  "a logical volume that LVM mirrors": [
    disk("sda", member("LVM2_member")),
    disk("sdb", member("LVM2_member")),
    mapped("dm-0", "LVM-vg0", "vg-data_rmeta_0", ["sda"]),
    mapped("dm-1", "LVM-vg1", "vg-data_rimage_0", ["sda"]),
    mapped("dm-2", "LVM-vg2", "vg-data_rmeta_1", ["sdb"]),
    mapped("dm-3", "LVM-vg3", "vg-data_rimage_1", ["sdb"]),
    mapped("dm-4", "LVM-vg4", "vg-data", ["dm-0", "dm-1", "dm-2", "dm-3"]),
  ],
  "two paths to one disk, with a partition": [
    disk("sda"),
    disk("sdb"),
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

type Pair = `${string} on ${string}`;
const sorted = (pairs: Iterable<string>): readonly string[] => [...new Set(pairs)].toSorted();

/** What stands on what in the tree that lsblk itself prints. */
function pairsOf(rows: readonly Readonly<Record<string, unknown>>[], parent?: string): readonly Pair[] {
  return rows.flatMap((row) => {
    const { kname } = row;
    if (!isString(kname)) throw new Error("lsblk names no device");
    const own: readonly Pair[] = parent === undefined ? [] : [`${kname} on ${parent}`];
    return [...own, ...pairsOf(recordsIn(row["children"]), kname)];
  });
}

describe.each(Object.entries(trees))("lsblk on %s", (_, tree) => {
  const root = mkdtempSync(join(tmpdir(), "steward-devices-"));
  const onTree: Exec = ([program, ...words], options) => exec([program, `--sysroot=${root}`, ...words], options);
  const list = () => createBlockDevices({ exec: onTree, sysDir: join(root, "sys") }).list(signal);
  beforeAll(() => {
    writeBlockDevices(root, tree);
  });
  afterAll(() => {
    rmSync(root, { recursive: true });
  });

  it("has each device once, with all that it is part or made of, after these", async () => {
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

  it("shows the tree that it prints by itself", async () => {
    const { stdout } = await onTree(["lsblk", "--json", "--output=NAME,KNAME,PATH,TYPE"]);
    const answer = parseJsonObject(stdout);
    const rows = recordsIn(isRecord(answer) ? answer["blockdevices"] : []);
    const devices = await list();
    const ours = devices.flatMap(({ name, parents }) => parents.map((parent) => `${name} on ${parent}`));
    expect(sorted(ours)).toEqual(sorted(pairsOf(rows)));
    expect(ours.length).toBeGreaterThan(0);
    const all = (list: typeof rows): typeof rows => list.flatMap((row) => [row, ...all(recordsIn(row["children"]))]);
    for (const { kname, path, type } of all(rows))
      expect(devices.find(({ name }) => name === kname)).toMatchObject({ path, type });
  });
});
