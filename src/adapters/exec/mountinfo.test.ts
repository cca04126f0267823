import { describe, expect, it } from "vitest";
import { createMountLookup, parseMountinfo, parseReadOnlyPaths } from "./mountinfo.ts";

describe("mountinfo", () => {
  it("has the fields of each mount, with and without optional ones", () => {
    const text = [
      "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue",
      "40 36 0:35 / /run rw,nosuid - tmpfs tmpfs rw,size=803860k",
      "half a line",
      "",
    ].join("\n");
    expect(parseMountinfo(text)).toEqual([
      {
        id: 36,
        parentId: 35,
        device: "98:0",
        root: "/mnt1",
        path: "/mnt2",
        options: ["rw", "noatime"],
        type: "ext3",
        source: "/dev/root",
        superOptions: ["rw", "errors=continue"],
      },
      expect.objectContaining({ path: "/run", type: "tmpfs", superOptions: ["rw", "size=803860k"] }),
    ]);
  });

  it("decodes its escapes, and keeps names that are not ASCII", () => {
    const line = String.raw`50 1 8:17 /a\040b /media/My\040Disk\011\012\134040\0409 rw - vfat /dev/disk\040x rw`;
    expect(parseMountinfo(line)).toMatchObject([
      { root: "/a b", path: "/media/My Disk\t\n\\040 9", source: "/dev/disk x" },
    ]);
    expect(parseMountinfo("50 1 8:17 / /mnt/größe rw - ext4 /dev/sdb1 rw")).toMatchObject([{ path: "/mnt/größe" }]);
  });
});

it("fstab: which mount points are to be read-only", () => {
  const text = [
    "# /dev/sdz1 /comment ext4 ro 0 0",
    "UUID=1 / ext4 errors=remount-ro 0 1",
    "UUID=2\t/usr\text4\tdefaults,ro\t0 2",
    String.raw`  /dev/sdb1 /srv/my\040data xfs noatime,ro,nofail 0 2`,
    "/dev/sdc1 /srv/root ext4 rw,rootcontext=x 0 2",
    "/dev/sdd1",
  ].join("\n");
  expect([...parseReadOnlyPaths(text)]).toEqual(["/usr", "/srv/my data"]);
});

describe("the mount that a path leads to", () => {
  const mounts = (...lines: readonly [id: number, parent: number, path: string][]) =>
    parseMountinfo(
      lines.map(([id, parent, path]) => `${id} ${parent} 8:${id} / ${path} rw - ext4 /dev/sd${id} rw`).join("\n"),
    );
  const idAt = (given: ReturnType<typeof mounts>, path: string) => createMountLookup(given)(path)?.id;

  it("is the deepest one", () => {
    const given = mounts([1, 0, "/"], [2, 1, "/var"], [3, 2, "/var/log"], [4, 1, "/variety"]);
    expect(["/", "/var", "/var/log", "/var/log/x", "/variety", "/various"].map((path) => idAt(given, path))).toEqual([
      1, 2, 3, 3, 4, 1,
    ]);
  });

  it("is the last one on the same directory", () => {
    const given = mounts([1, 0, "/"], [2, 1, "/mnt"], [3, 2, "/mnt/deep"], [4, 2, "/mnt"], [5, 4, "/mnt"]);
    expect([idAt(given, "/mnt"), idAt(given, "/mnt/deep")]).toEqual([5, 5]);
  });

  it("is not one hidden by a later mount on a parent", () => {
    const given = mounts([1, 0, "/"], [2, 1, "/srv/a"], [3, 1, "/srv"]);
    expect(idAt(given, "/srv/a")).toBe(3);
  });

  it("is found in a chroot with missing parents, and for a root that is its own parent", () => {
    expect(idAt(mounts([7, 3, "/srv"], [8, 7, "/srv/x"]), "/srv/x/y")).toBe(8);
    expect(idAt(mounts([7, 3, "/srv"]), "/other")).toBeUndefined();
    expect(idAt(mounts([1, 1, "/"], [2, 1, "/a"]), "/a")).toBe(2);
  });
});
