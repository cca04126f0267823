import { expect, it } from "vitest";
import { brokenFileSystem, createFakeFileSystems, fakeFileSystem } from "../../../../test/fakes/file-systems.ts";
import type { CheckSettings } from "../check.ts";
import { inodeUsageCheck } from "./inode-usage.ts";

const { signal } = new AbortController();
/** A file system of a thousand inodes with so many left. */
const withLeft = (freeInodes: number, path = "/") => fakeFileSystem({ path, totalInodes: 1000, freeInodes });
const run = (mounted: Parameters<typeof createFakeFileSystems>[0], settings: Partial<CheckSettings> = {}) =>
  inodeUsageCheck({ fileSystems: createFakeFileSystems(mounted) }).run({ ignore: [], ...settings }, signal);

it("inode_usage names the file systems near their limit, with settings and thresholds by mount point", async () => {
  expect(await run([withLeft(900), withLeft(10, "/var")])).toEqual({
    status: "fail",
    message: "/var uses 99 % of its inodes: 10 are left",
    graded: { "/var": "fail" },
    details: {
      path: "/var",
      percent_used: 99,
      total_inodes: 1000,
      free_inodes: 10,
      file_systems: [
        { path: "/var", percent_used: 99, total_inodes: 1000, free_inodes: 10 },
        { path: "/", percent_used: 10, total_inodes: 1000, free_inodes: 900 },
      ],
    },
    thresholds: { percent_used: { warn: 80, fail: 95 } },
  });
  const mounted = [withLeft(100), withLeft(20, "/a"), withLeft(0, "/b")];
  expect(await run(mounted)).toMatchObject({ message: expect.stringMatching(/; also running out: \/a, \/$/) });
  expect(await run(mounted, { ignore: ["/a", "/b"], warn: 95 })).toMatchObject({ status: "pass" });
  const mounts = { "/var": { warn: 90, freeBelow: { fail: 60 } } };
  const graded = async (left: number) => (await run([withLeft(left, "/var")], { mounts })).status;
  expect([await graded(101), await graded(100), await graded(59)]).toEqual(["pass", "warn", "fail"]);
  const btrfs = fakeFileSystem({ type: "btrfs", totalInodes: 0, freeInodes: 0 });
  expect(await run([btrfs])).toMatchObject({ status: "skip" });
  expect(await run([btrfs, withLeft(500, "/boot")])).toMatchObject({ status: "pass", details: { path: "/boot" } });
  expect(await run([brokenFileSystem(), withLeft(500)])).toMatchObject({
    status: "pass",
    message: "/ uses 50 % of its inodes: 500 are left; not read: /srv/broken (EIO)",
    details: { path: "/", unreadable: [{ path: "/srv/broken", reason: "EIO" }] },
  });
});

it.each([
  [201, "pass"],
  [200, "warn"],
  [51, "warn"],
  [50, "fail"],
])("inode_usage with %d of 1000 left is %s", async (left, status) => {
  expect(await run([withLeft(left)])).toMatchObject({ status });
});
