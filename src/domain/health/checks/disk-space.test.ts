import { expect, it } from "vitest";
import { brokenFileSystem, createFakeFileSystems, fakeFileSystem } from "../../../../test/fakes/file-systems.ts";
import type { CheckSettings } from "../check.ts";
import { diskSpaceCheck } from "./disk-space.ts";

const { signal } = new AbortController();
const gb = 1e9;
/** A file system of 100 GB with so much left. */
const withLeft = (left: number, path = "/") =>
  fakeFileSystem({ path, freeBytes: left * gb, availableBytes: left * gb });
const run = (mounted: Parameters<typeof createFakeFileSystems>[0], settings: Partial<CheckSettings> = {}) =>
  diskSpaceCheck({ fileSystems: createFakeFileSystems(mounted) }).run({ ignore: [], ...settings }, signal);

it("disk_space names the fullest file system, with the figures of all, or the worst", async () => {
  const small = fakeFileSystem({
    path: "/boot",
    totalBytes: 0.5 * gb,
    freeBytes: 0.25 * gb,
    availableBytes: 0.25 * gb,
  });
  expect(await run([small, withLeft(4, "/var"), withLeft(10)])).toEqual({
    status: "fail",
    message: "/var is 96 % full: 3.7 GiB of 93.1 GiB left; also filling up: /",
    graded: { "/var": "fail", "/": "warn" },
    details: {
      path: "/var",
      percent_used: 96,
      total_gb: 100,
      free_gb: 4,
      file_systems: [
        { path: "/var", percent_used: 96, total_gb: 100, free_gb: 4, status: "fail" },
        { path: "/", percent_used: 90, total_gb: 100, free_gb: 10, status: "warn" },
        { path: "/boot", percent_used: 50, total_gb: 0.5, free_gb: 0.25, status: "pass" },
      ],
    },
    thresholds: { percent_used: { warn: 80, fail: 95 } },
  });
  expect(
    await run([withLeft(4, "/var")], { freeBelow: { warn: 10 * gb }, mounts: { "/var": { warn: 97, fail: 99 } } }),
  ).toMatchObject({
    status: "warn",
    thresholds: { percent_used: { warn: 97, fail: 99 }, free_gb: { warn: 10 } },
  });
  const mounts = { "/srv": { warn: 99, fail: 100 } };
  expect(await run([withLeft(2, "/srv"), withLeft(15)], { mounts })).toMatchObject({
    status: "warn",
    message: "/ is 85 % full: 14.0 GiB of 93.1 GiB left",
  });
  const reserved = fakeFileSystem({ totalBytes: 105 * gb, freeBytes: 25 * gb, availableBytes: 20 * gb });
  expect(await run([reserved])).toMatchObject({ status: "warn", details: { percent_used: 80, free_gb: 20 } });
});

it.each([
  [20.1, "pass"],
  [20, "warn"],
  [5.1, "warn"],
  [5, "fail"],
  [0, "fail"],
])("disk_space with %d of 100 GB left is %s", async (left, status) => {
  expect(await run([withLeft(left)])).toMatchObject({ status });
});

it("disk_space takes its thresholds from settings, for all mount points or each, of used or free space", async () => {
  expect(await run([withLeft(50)], { warn: 50 })).toMatchObject({ status: "warn" });
  expect(await run([withLeft(50)], { warn: 40, fail: 50 })).toMatchObject({ status: "fail" });
  expect(await run([withLeft(10)], { warn: 98, fail: 99 })).toMatchObject({ status: "pass" });
  const mounts = { "/srv": { warn: 95 }, "/var": { freeBelow: { warn: 30 * gb, fail: 10 * gb } } };
  const graded = async (left: number, path: string, given: Partial<CheckSettings> = { mounts }) =>
    (await run([withLeft(left, path)], given)).status;
  expect([await graded(6, "/srv"), await graded(5, "/srv")]).toEqual(["pass", "warn"]);
  // Half way between its own warn and full.
  expect([await graded(2.6, "/srv"), await graded(2.5, "/srv")]).toEqual(["warn", "fail"]);
  expect([await graded(30, "/var"), await graded(29, "/var"), await graded(9, "/var")]).toEqual([
    "pass",
    "warn",
    "fail",
  ]);
  expect(await graded(29, "/")).toBe("pass");
  expect(await graded(29, "/", { freeBelow: { fail: 30 * gb } })).toBe("fail");
  expect(
    await graded(29, "/srv", { freeBelow: { fail: 30 * gb }, mounts: { "/srv": { freeBelow: { fail: 0 } } } }),
  ).toBe("pass");
});

it("disk_space leaves out ignored paths and meant read-only ones, and skips if nothing is left", async () => {
  const full = [
    withLeft(0, "/mnt/cold"),
    withLeft(0, "/mnt/cold/deep"),
    { ...withLeft(0, "/usr"), isReadOnly: true, isMeantReadOnly: true },
  ];
  expect(await run([...full, withLeft(60)], { ignore: ["/mnt/cold/"] })).toMatchObject({
    status: "pass",
    details: { path: "/", file_systems: [{ path: "/" }] },
  });
  expect(await run([withLeft(0, "/mnt/colder")], { ignore: ["/mnt/cold"] })).toMatchObject({ status: "fail" });
  expect(await run([withLeft(0), withLeft(0, "/var")], { ignore: ["/"] })).toMatchObject({ details: { path: "/var" } });
  expect(await run([{ ...withLeft(0), isReadOnly: true }])).toMatchObject({ status: "fail" });
  expect(await run([withLeft(0)], { ignore: ["/"] })).toMatchObject({ status: "skip", details: {} });
});

it("disk_space names one that cannot be inspected, beside the others", async () => {
  const unreadable = [{ path: "/srv/broken", reason: "EIO" }];
  expect(await run([brokenFileSystem(), withLeft(10)])).toMatchObject({
    status: "warn",
    message: "/ is 90 % full: 9.3 GiB of 93.1 GiB left; not read: /srv/broken (EIO)",
    details: { path: "/", file_systems: [{ path: "/" }], unreadable },
  });
  expect(await run([brokenFileSystem()])).toEqual({
    status: "skip",
    message: "There is no file system to check; not read: /srv/broken (EIO)",
    details: { unreadable },
  });
  const [passed] = [await run([brokenFileSystem(), withLeft(50)], { ignore: ["/srv"] })];
  expect(passed.details).not.toHaveProperty("unreadable");
});

it("disk_space keeps the grade of a file system until there is space again", async () => {
  const previous = { status: "warn", objects: { "/srv": "warn" } } as const;
  expect(await run([withLeft(21, "/srv"), withLeft(21)], { previous })).toMatchObject({
    status: "warn",
    message: "/srv is 79 % full: 19.6 GiB of 93.1 GiB left (/srv stays at warn until below 78 %)",
    details: {
      file_systems: [{ status: "warn" }, { status: "pass" }],
      held: [{ object: "/srv", status: "warn", until: "below 78 %" }],
    },
  });
});
