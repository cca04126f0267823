import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, it } from "vitest";
import { runCommand } from "./commands.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";
import { createSmallDisk } from "./support/small-disk.ts";

interface Listed {
  readonly kname: string;
  readonly type: string;
  readonly size: number;
  readonly ro: boolean;
  readonly children?: readonly Listed[];
}

interface Found {
  readonly target: string;
  readonly source: string;
  readonly fstype: string;
  readonly options: string;
}

const flat = (rows: readonly Listed[]): readonly Listed[] => rows.flatMap((row) => [row, ...flat(row.children ?? [])]);
const sorted = (options: string): readonly string[] => options.split(",").toSorted();

/** Gives the kernel of this machine, which the host shares, a disk with a partition, without a program that writes tables of them. */
async function withPartition(use: (disk: string, partition: string) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "steward-partition-"));
  const image = join(dir, "image");
  writeFileSync(image, "");
  truncateSync(image, 16 * 2 ** 20);
  try {
    const device = (await runCommand(["losetup", "--find", "--show", image])).stdout.trim();
    try {
      await runCommand(["addpart", device, "1", "2048", "16384"]);
      try {
        await use(basename(device), `${basename(device)}p1`);
      } finally {
        await runCommand(["delpart", device, "1"]);
      }
    } finally {
      await runCommand(["losetup", "--detach", device]);
    }
  } finally {
    rmSync(dir, { recursive: true });
  }
}

describeOnHost("disks are listed", (session) => {
  const { shell } = session;
  const findmnt = async (): Promise<readonly Found[]> => {
    const text = await shell("findmnt --json --list -o TARGET,SOURCE,FSTYPE,OPTIONS");
    return (JSON.parse(text) as { filesystems: Found[] }).filesystems;
  };
  const mounts = async () =>
    (await session.api.listDisks()).file_systems.flatMap((each) =>
      each.mounts.map((mount) => ({ ...mount, type: each.type, source: each.source, fileSystem: each })),
    );

  it("as lsblk lists them", async () => {
    const disk = await createSmallDisk(session, 16);
    await disk.mount("/mnt/small");
    const text = await shell("lsblk --json --bytes --output NAME,KNAME,TYPE,SIZE,RO");
    const theirs = new Map(
      flat((JSON.parse(text) as { blockdevices: Listed[] }).blockdevices).map((each) => [each.kname, each]),
    );
    const { devices, file_systems: fileSystems } = await session.api.listDisks();
    // Loop devices are those of the whole machine, on which others work as well.
    const isOwn = (name: string): boolean => !name.startsWith("loop");
    expect(
      devices
        .filter(({ name }) => isOwn(name))
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual([...theirs.keys()].filter(isOwn).toSorted());
    const parentsOf = (rows: readonly Listed[], parent?: string): readonly (readonly [string, string])[] =>
      rows.flatMap((row) => [
        ...(parent === undefined ? [] : [[row.kname, parent] as const]),
        ...parentsOf(row.children ?? [], row.kname),
      ]);
    const pairs = (all: readonly (readonly [string, string])[]) => new Set(all.map((pair) => pair.join(" on ")));
    // What is made of a loop device of another program comes and goes with it.
    expect(
      pairs(
        devices
          .flatMap(({ name, parents }) => parents.map((parent) => [name, parent] as const))
          .filter(([, of]) => isOwn(of)),
      ),
    ).toEqual(
      pairs(parentsOf((JSON.parse(text) as { blockdevices: Listed[] }).blockdevices).filter(([, of]) => isOwn(of))),
    );
    for (const { name, type, size_bytes: size, is_read_only: isReadOnly } of devices.filter((each) => isOwn(each.name)))
      expect([type, size, isReadOnly]).toEqual([theirs.get(name)?.type, theirs.get(name)?.size, theirs.get(name)?.ro]);
    const small = fileSystems.find((each) => each.mounts.some(({ path }) => path === "/mnt/small"));
    expect(small).toMatchObject({ type: "ext4", devices: [expect.stringMatching(/^loop\d+$/)] });
    expect(devices.find(({ name }) => name === small?.devices[0])).toMatchObject({
      type: "loop",
      size_bytes: 16 * 2 ** 20,
    });
    await disk.unmount();
    disk.dispose();
  });

  it("with partitions on what they are part of", async () => {
    await withPartition(async (disk, partition) => {
      const text = await shell("lsblk --json --bytes --output NAME,KNAME,TYPE,SIZE,RO");
      const theirs = (JSON.parse(text) as { blockdevices: Listed[] }).blockdevices.find(({ kname }) => kname === disk);
      expect(theirs?.children).toMatchObject([{ kname: partition, type: "part" }]);
      const { devices } = await session.api.listDisks();
      expect(devices.filter(({ name }) => [disk, partition].includes(name))).toMatchObject([
        { name: disk, type: "loop", parents: [], size_bytes: theirs?.size },
        { name: partition, type: "part", parents: [disk], size_bytes: 16_384 * 512 },
      ]);
    });
  });

  it("with the mounts that the host has, not those of the sandbox", async () => {
    await shell(
      "mkdir -p /mnt/ro /mnt/bound && mount -t tmpfs -o ro,size=3m,nr_inodes=77 odd /mnt/ro && mount --bind /usr /mnt/bound",
    );
    // Several may be mounted at one path.
    const theirs = Map.groupBy(await findmnt(), ({ target }) => target);
    const ours = await mounts();
    for (const { path, type, options, is_read_only: isReadOnly } of ours) {
      const same = theirs.get(path)?.map((each) => [each.fstype, ...sorted(each.options)]);
      expect([path, same]).toEqual([path, expect.arrayContaining([[type, ...sorted(options)]])]);
      expect([path, isReadOnly]).toEqual([path, options.split(",").includes("ro")]);
    }
    const paths = ours.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(["/", "/.snapshots", "/run", "/mnt/ro", "/mnt/bound"]));
    for (const own of ["/var/lib/steward", "/var/tmp", "/home", "/proc", "/dev"]) expect(paths).not.toContain(own);
    expect((await session.api.listDisks()).notes).toEqual([]);
    await shell("umount /mnt/ro /mnt/bound");
  });

  it("as full as df says, shared memory too, of which the sandbox has its own", async () => {
    const text = await shell("df --block-size=1 --output=target,size,used,avail,itotal,iused / /run /dev/shm");
    for (const line of text.trim().split("\n").slice(1)) {
      const [path, ...numbers] = line.trim().split(/\s+/);
      const [size = 0, used = 0, available = 0, inodes = 0, inodesUsed = 0] = numbers.map(Number);
      const usage = (await mounts()).find((each) => each.path === path)?.fileSystem.usage;
      expect([path, usage?.size_bytes, usage?.inodes]).toEqual([path, size, inodes]);
      // Between the two others write.
      const near = 16 * 2 ** 20;
      expect(Math.abs((usage?.used_bytes ?? 0) - used)).toBeLessThan(near);
      expect(Math.abs((usage?.available_bytes ?? 0) - available)).toBeLessThan(near);
      expect(Math.abs((usage?.inodes_used ?? 0) - inodesUsed)).toBeLessThan(100);
    }
  });

  it("with mount points of any name", async () => {
    const names = ["/mnt/a b", "/mnt/line\nbreak", "/mnt/\u001b[2Jü", '/mnt/"\\', "/mnt/#x"];
    for (const name of names) {
      const quoted = `'${name}'`;
      await shell(`mkdir -p ${quoted} && mount -t tmpfs -o size=1m ${quoted} ${quoted}`);
    }
    const ours = (await mounts()).filter(({ path }) => names.includes(path));
    expect(ours.map(({ path }) => path).toSorted()).toEqual(names.toSorted());
    for (const { path, source, fileSystem } of ours)
      expect([source, fileSystem.usage?.size_bytes]).toEqual([path, 2 ** 20]);
    for (const name of names) await shell(`umount '${name}'`);
  });

  it("or it is said what is missing", async () => {
    await shell("mv /usr/bin/lsblk /usr/bin/lsblk.away");
    const refused = await refusal(session.api.listDisks());
    await shell("mv /usr/bin/lsblk.away /usr/bin/lsblk");
    expect(refused).toMatchObject({ status: 503, message: expect.stringContaining("util-linux") });
  });
});
