import { describe, expect, it } from "vitest";
import { judgeLayout, mountedApart, nestedPaths } from "./layout.ts";

const mountinfo = `642 619 0:106 /@ / rw,noatime shared:218 - btrfs /dev/vda1 rw,space_cache=v2,subvolid=256,subvol=/@
643 642 0:110 / /tmp rw,nosuid,nodev shared:236 - tmpfs tmpfs rw,size=2468412k
650 642 0:106 /@snapshots /.snapshots rw,noatime shared:240 - btrfs /dev/vda1 rw,space_cache=v2,subvolid=257,subvol=/@snapshots
651 642 0:106 /@home /home rw - btrfs /dev/vda1 rw,subvolid=258,subvol=/@home
652 642 254:2 / /boot rw - ext4 /dev/vda2 rw
653 642 254:3 / /srv/a\\040b rw - ext4 /dev/vda3 rw
`;
const fstab = "# comment\n/dev/vda1 / btrfs noatime 0 0\n\nUUID=1 /.snapshots btrfs subvol=@snapshots 0 0\n";
const cmdline = "BOOT_IMAGE=/vmlinuz root=/dev/vda1 rootflags=noatime quiet\n";
const good = { mountinfo, cmdline, fstab };

describe("a root on btrfs", () => {
  it("can be returned to a snapshot", () => {
    expect(judgeLayout(good)).toEqual({ layout: { rootId: 256, rootPath: "/@/", snapshotsId: 257 } });
  });

  it("may be a snapshot itself, or the top of the file system", () => {
    const returned = mountinfo.replace("/@ / ", "/@snapshots/3/snapshot / ");
    expect(judgeLayout({ ...good, mountinfo: returned })).toMatchObject({
      layout: { rootPath: "/@snapshots/3/snapshot/" },
    });
    expect(judgeLayout({ ...good, mountinfo: mountinfo.replace("/@ / ", "/ / ") })).toMatchObject({
      layout: { rootPath: "/" },
    });
  });

  const without = (point: string): string =>
    mountinfo
      .split("\n")
      .filter((line) => line.split(" ")[4] !== point)
      .join("\n");

  it.each<[string, Partial<typeof good>, RegExp]>([
    ["no root", { mountinfo: without("/") }, /not known/],
    ["another file system", { mountinfo: mountinfo.replace("btrfs", "ext4") }, /^\/ is ext4/],
    ["a root that is only read", { mountinfo: mountinfo.replace("/@ / rw", "/@ / ro") }, /read-only/],
    [
      "a root named by the kernel",
      { cmdline: "root=/dev/vda1 rootflags=noatime,subvol=@ quiet" },
      /command line names/,
    ],
    ["a root numbered by the kernel", { cmdline: "rootflags=subvolid=256" }, /command line names/],
    ["a root named by fstab", { fstab: fstab.replace("btrfs noatime", "btrfs subvol=@") }, /^\/etc\/fstab names/],
    ["snapshots inside the root", { mountinfo: without("/.snapshots") }, /would be gone after a rollback/],
    ["snapshots that are mounted by hand", { fstab: "/dev/vda1 / btrfs noatime 0 0\n" }, /not mounted by \/etc\/fstab/],
    [
      "snapshots on another file system",
      {
        mountinfo: mountinfo.replace(
          "/@snapshots /.snapshots rw,noatime shared:240 - btrfs /dev/vda1",
          "/ /.snapshots rw - btrfs /dev/vdb",
        ),
      },
      /another file system/,
    ],
    ["a kernel that names no subvolumes", { mountinfo: mountinfo.replaceAll(/,subvolid=\d+/g, "") }, /no subvolume/],
  ])("is left alone with %s", (_, given, reason) => {
    expect(judgeLayout({ ...good, ...given })).toEqual({ reason: expect.stringMatching(reason) });
  });
});

it("other file systems and subvolumes stay as they are", () => {
  expect(mountedApart(mountinfo)).toEqual(["/boot", "/home", "/srv/a b"]);
});

it("subvolumes inside the root are known by the host's paths, unless they are mounted by themselves", () => {
  const below = [{ path: "@/srv/a b" }, { path: "@/var/lib/machines" }, { path: "@home" }, { path: "@snapshots" }];
  expect(nestedPaths(below, { rootPath: "/@/" }, mountinfo)).toEqual(["/srv/a b", "/var/lib/machines"]);
  expect(nestedPaths(below.slice(2), { rootPath: "/" }, mountinfo)).toEqual([]);
  expect(nestedPaths([{ path: "var/x" }], { rootPath: "/" }, mountinfo)).toEqual(["/var/x"]);
});
