import { expect, it } from "vitest";
import { parseMountinfo } from "#adapters/exec/mountinfo.ts";
import { chooseDataMounts, isRemote } from "#adapters/procfs/data-mounts.ts";
import { describeCases, uncovered } from "./cases.ts";

/** The file systems with data of each table, in its order: path, source and type. All are writable. */
const dataMounts: Readonly<Record<string, readonly string[]>> = {
  "mountinfo-btrfs-subvolumes": ["/ /dev/sdc1 btrfs"],
  "mountinfo-kzak": [
    "/dev/shm tmpfs tmpfs",
    "/ /dev/sda4 ext3",
    "/boot /dev/sda6 ext3",
    "/home/alice /dev/mapper/alice-home ext4",
  ],
  "mountinfo-moby-gentoo": [
    "/ /dev/sda6 ext4",
    "/run tmpfs tmpfs",
    "/dev/shm shm tmpfs",
    "/boot /dev/sda1 vfat",
    "/mnt/xfs /dev/sdb2 xfs",
    "/tmp tmpfs tmpfs",
    "/media/REMOVE ME /dev/sdc1 fuseblk",
  ],
  "mountinfo-moby-ubuntu": [
    "/run tmpfs tmpfs",
    "/ /dev/disk/by-label/DOROOT ext4",
    "/run/lock none tmpfs",
    "/run/shm none tmpfs",
  ],
  "mountinfo-nfs-autofs": [
    "/dev/shm tmpfs tmpfs",
    "/ /dev/mapper/vgsys-root ext4",
    "/boot /dev/sda1 ext4",
    "/diskdump /dev/mapper/vgsys-diskdump ext4",
    "/opt/CA /dev/mapper/vgcore-opt_CA ext4",
    "/var /dev/mapper/vgsys-var ext4",
    "/var/log /dev/mapper/vgsys-var_log ext4",
    "/var/opt/OV /dev/mapper/vgcore-var_opt_OV ext4",
  ],
  "mountinfo-node-exporter": ["/run tmpfs tmpfs", "/ /dev/dm-2 ext4", "/dev/shm tmpfs tmpfs", "/run/lock tmpfs tmpfs"],
  "mountinfo-nonroot": ["/dev/shm tmpfs tmpfs", "/boot /dev/sda6 ext3", "/home/alice /dev/mapper/alice-home ext4"],
  "mountinfo-procfs": ["/ /dev/sda1 ext4"],
  "mountinfo-simple-lvm": [
    "/dev/shm tmpfs tmpfs",
    "/run tmpfs tmpfs",
    "/ /dev/sda4 ext4",
    "/tmp tmpfs tmpfs",
    "/boot /dev/sda2 ext4",
    "/boot/efi /dev/sda1 vfat",
    "/home /dev/nvme0n1p2 ext4",
    "/home/alice /dev/nvme0n1p3 ext4",
  ],
  "mountinfo-simple-nvme": [
    "/dev/shm tmpfs tmpfs",
    "/run tmpfs tmpfs",
    "/ /dev/sda4 ext4",
    "/tmp tmpfs tmpfs",
    "/boot /dev/sda2 ext4",
    "/boot/efi /dev/sda1 vfat",
    "/home /dev/nvme0n1p2 ext4",
    "/home/alice /dev/nvme0n1p3 ext4",
  ],
  "mountinfo-telegraf-issue_10297": ["/ /dev/sda1 ext4", "/mnt/storage /dev/sdb ext4"],
};

const older =
  "mountinfo is read, which says more: the device, what of it is mounted, and the state of the file system apart";
const unread = Object.fromEntries(
  [
    "mtab-ansible-fedora",
    ...["3", "el7-2", "el7-docker", "fedora-snaps", "iso", "malformed", "nfs3"].map((name) => `proc-mounts-${name}`),
    "proc-self-mounts-facter",
  ].map((file) => [file, older]),
);

describeCases("mounts", ({ text, files }) => {
  it("every file is read below or has a reason why not", () => {
    expect(uncovered(files(), { read: Object.keys(dataMounts), unread })).toEqual([]);
  });

  it("lines of another table are no mounts", () => {
    for (const file of Object.keys(unread)) expect([file, parseMountinfo(text(file))]).toEqual([file, []]);
  });

  it.each(Object.entries(dataMounts))("%s: file systems with data, all of them writable", (file, expected) => {
    const mounts = parseMountinfo(text(file));
    const chosen = chooseDataMounts(mounts, new Set());
    expect(chosen.map(({ path, source, type }) => `${path} ${source} ${type}`)).toEqual(expected);
    expect(chosen.filter(({ isReadOnly }) => isReadOnly)).toEqual([]);
  });

  it("shares of other machines are remote, and a disk behind FUSE is not", () => {
    const remote = (file: string) =>
      parseMountinfo(text(file)).flatMap(({ type, path }) => (isRemote(type) ? `${path} ${type}` : []));
    expect(remote("mountinfo-kzak").filter((each) => /cifs|gvfs/.test(each))).toHaveLength(2);
    expect(remote("mountinfo-nfs-autofs").length).toBeGreaterThan(0);
    expect(remote("mountinfo-moby-gentoo").filter((each) => each.includes("REMOVE ME"))).toEqual([]);
  });
});
