import { expect, it } from "vitest";
import { parseMountinfo } from "#adapters/exec/mountinfo.ts";
import { boundPaths, chooseDataMounts, dataMountHolding } from "./data-mounts.ts";

const choose = (lines: readonly string[], readOnlyPaths: readonly string[] = []) =>
  chooseDataMounts(parseMountinfo(lines.join("\n")), new Set(readOnlyPaths));
const pathsOf = (lines: readonly string[]) => choose(lines).map(({ path }) => path);

const server = [
  "22 28 0:21 / /proc rw,nosuid shared:12 - proc proc rw",
  "23 28 0:22 / /sys rw,nosuid shared:7 - sysfs sysfs rw",
  "24 28 0:5 / /dev rw,nosuid shared:2 - devtmpfs udev rw,size=4007512k",
  "25 24 0:23 / /dev/pts rw,nosuid shared:3 - devpts devpts rw,gid=5",
  "26 28 0:24 / /run rw,nosuid shared:5 - tmpfs tmpfs rw,size=803860k",
  "28 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro",
  "30 24 0:26 / /dev/shm rw,nosuid shared:4 - tmpfs tmpfs rw",
  "31 26 0:27 / /run/lock rw,nosuid shared:6 - tmpfs tmpfs rw,size=5120k",
  "32 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw",
  "40 22 0:36 / /proc/sys/fs/binfmt_misc rw shared:14 - autofs systemd-1 rw,fd=29",
  "41 28 254:15 / /boot/efi rw,relatime shared:40 - vfat /dev/vda15 rw,fmask=0022",
  "42 28 7:0 / /snap/core/1 ro,nodev shared:41 - squashfs /dev/loop0 ro",
  "43 28 11:0 / /media/cdrom ro shared:42 - iso9660 /dev/sr0 ro",
  "44 26 0:44 / /run/user/1000 rw,nosuid shared:43 - tmpfs tmpfs rw,size=803856k",
  "45 26 0:45 / /run/credentials/x.service ro - tmpfs tmpfs rw,size=1024k",
];

it("data mounts exclude pseudo file systems, images and memory of the system", () => {
  expect(pathsOf(server)).toEqual(["/run", "/", "/dev/shm", "/run/lock", "/boot/efi"]);
});

it("data mounts exclude network and FUSE file systems", () => {
  expect(
    pathsOf([
      "28 1 254:1 / / rw - ext4 /dev/vda1 rw",
      "50 28 0:50 / /mnt/a rw - nfs4 server:/export rw,vers=4.2",
      "51 28 0:51 / /mnt/b rw - cifs //server/share rw",
      "52 28 0:52 / /mnt/c rw - fuse.sshfs user@server:/ rw",
      "53 28 8:33 / /mnt/d rw - fuseblk /dev/sdc1 rw",
      "54 28 0:54 / /mnt/e rw - 9p share rw,trans=virtio",
      "55 28 0:55 / /mnt/f rw - ceph :/ rw",
      "56 28 0:56 / /tank rw - zfs tank/data rw",
    ]),
  ).toEqual(["/", "/mnt/d", "/tank"]);
});

it("data mounts have each device once, at the shortest path of its root or of a bind mount", () => {
  expect(
    pathsOf([
      "28 1 0:30 /@ / rw - btrfs /dev/vda1 rw,subvolid=256,subvol=/@",
      "29 28 0:30 /@home /home rw - btrfs /dev/vda1 rw,subvolid=257,subvol=/@home",
      "30 28 8:1 / /srv/data rw - xfs /dev/sda1 rw",
      "31 28 8:1 / /data rw - xfs /dev/sda1 rw",
      "32 28 8:17 /directory /mnt/bound rw - ext4 /dev/sdb1 rw",
      "33 28 0:31 /@/directory /mnt/part rw - btrfs /dev/sdc1 rw,subvolid=256,subvol=/@",
    ]),
  ).toEqual(["/", "/data", "/mnt/bound", "/mnt/part"]);
});

it("data mounts always include the root: of another file system, a share, or an ostree deployment", () => {
  expect(pathsOf(["500 480 254:0 /var/lib/machines/web / rw - ext4 /dev/vda rw"])).toEqual(["/"]);
  expect(pathsOf(["500 480 0:50 / / rw - nfs4 server:/root rw"])).toEqual(["/"]);
  expect(pathsOf(["500 480 0:51 / / rw - virtiofs root rw"])).toEqual(["/"]);
  expect(
    pathsOf([
      "60 1 254:1 /ostree/deploy/os/deploy/1.0 / rw - xfs /dev/vda1 rw",
      "61 60 254:1 / /sysroot ro - xfs /dev/vda1 rw",
      "62 60 254:1 /ostree/deploy/os/var /var rw - xfs /dev/vda1 rw",
      "63 60 254:2 / /boot rw - ext4 /dev/vda2 rw",
    ]),
  ).toEqual(["/", "/boot"]);
});

it("data mounts exclude files bound into a container, and include directories", () => {
  const container = parseMountinfo(
    [
      "60 1 0:60 / / rw - overlay overlay rw,lowerdir=/l",
      "61 60 254:1 /var/lib/containers/1/hosts /etc/hosts rw - ext4 /dev/vda1 rw",
      "62 60 254:1 /srv/application /srv/application rw - ext4 /dev/vda1 rw",
    ].join("\n"),
  );
  expect(boundPaths(container)).toEqual(["/etc/hosts", "/srv/application"]);
  const chosen = chooseDataMounts(container, new Set(), new Set(["/etc/hosts"]));
  expect(chosen.map(({ path }) => path)).toEqual(["/", "/srv/application"]);
});

it("data mounts include the overlay of a container as its root, not those of its guests", () => {
  const overlay = (id: number, path: string) => `${id} 1 0:${id} / ${path} rw - overlay overlay rw,lowerdir=/l`;
  expect(pathsOf([overlay(60, "/")])).toEqual(["/"]);
  expect(pathsOf([overlay(61, "/var/lib/containers/1/merged")])).toEqual([]);
});

it("data mounts exclude a mount hidden by another", () => {
  expect(
    choose([
      "28 1 254:1 / / rw - ext4 /dev/vda1 rw",
      "30 28 8:1 / /mnt rw - ext4 /dev/sda1 rw",
      "31 30 8:17 / /mnt rw - ext4 /dev/sdb1 rw",
    ]),
  ).toMatchObject([{ path: "/" }, { path: "/mnt", source: "/dev/sdb1" }]);
});

it("data mounts that became read-only differ from those mounted so", () => {
  expect(
    choose(
      [
        "28 1 254:1 / / rw - ext4 /dev/vda1 rw",
        "30 28 8:1 / /lost rw - ext4 /dev/sda1 ro,errors=remount-ro",
        "35 28 8:5 / /stopped rw - ext4 /dev/sda5 rw,emergency_ro,errors=remount-ro",
        "31 28 8:2 / /usr ro - ext4 /dev/sda2 ro",
        "32 28 8:3 / /view ro - ext4 /dev/sda3 rw",
        "33 28 8:4 / /a ro - ext4 /dev/sda4 rw",
        "34 28 8:4 / /srv/a rw - ext4 /dev/sda4 rw",
        // Mounted so by hand, by a unit, or below the overlay of a Raspberry Pi: nothing in fstab says so.
        "36 28 8:6 / /media/root-ro ro,relatime - ext4 /dev/sda6 ro",
        // So too, and then stopped by the kernel.
        "37 28 8:7 / /ended ro - ext4 /dev/sda7 ro,emergency_ro",
      ],
      ["/usr"],
    ).map(({ path, isReadOnly, isMeantReadOnly }) => [path, isReadOnly, isMeantReadOnly]),
  ).toEqual([
    ["/", false, false],
    ["/lost", true, false],
    ["/stopped", true, false],
    ["/usr", true, true],
    ["/view", true, true],
    ["/a", false, false],
    ["/media/root-ro", true, true],
    ["/ended", true, false],
  ]);
});

it("the data mount of a path is found through bind mounts and subvolumes", () => {
  const mounts = parseMountinfo(
    [
      ...server,
      "60 28 0:30 /@data /data rw - btrfs /dev/vdb rw,subvolid=257,subvol=/@data",
      "61 28 0:30 /@data/tmp /var/tmp rw - btrfs /dev/vdb rw,subvolid=257,subvol=/@data",
      "62 28 0:30 /@logs /var/log rw - btrfs /dev/vdb rw,subvolid=258,subvol=/@logs",
    ].join("\n"),
  );
  const holding = (path: string) => dataMountHolding(mounts, path);
  expect(["/", "/var/cache", "/var/tmp", "/var/tmp/x", "/var/log/journal", "/varlog"].map(holding)).toEqual([
    "/",
    "/",
    "/data",
    "/data",
    "/data",
    "/",
  ]);
  expect(holding("/proc/1")).toBeUndefined();
});
