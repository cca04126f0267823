import { describe, expect, it } from "vitest";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import { UpdateRefused } from "#domain/ports/packages.ts";
import type { CleanupCandidate } from "#domain/ports/storage.ts";
import { createFakeDiskCleanup } from "../../../../test/fakes/disk-cleanup.ts";
import { createFakeFileSystems, fakeFileSystem } from "../../../../test/fakes/file-systems.ts";
import { createFakeJournalStorage, fakeJournalSize } from "../../../../test/fakes/journal.ts";
import { createFakePackageManager, fakePackage } from "../../../../test/fakes/package-manager.ts";
import { diskCleanupFix } from "./disk-cleanup.ts";

const { signal } = new AbortController();
const found = (full: Readonly<Record<string, string>>) => ({
  status: "fail" as const,
  message: "",
  details: { file_systems: Object.entries(full).map(([path, status]) => ({ path, status })) },
});
const packages: CleanupCandidate = {
  kind: "packages",
  directory: "/var/cache/apt/archives",
  files: ["a.deb"],
  bytes: 2e6,
};
const files = ["tmp.a", "tmp.b", "tmp.c", "tmp.d", "tmp.e"];
const temporary: CleanupCandidate = { kind: "temporary", directory: "/tmp", files, bytes: 3e6 };
const mounted = ["/", "/tmp", "/var/log"].map((path) => fakeFileSystem({ path }));
const mebibyte = 1024 ** 2;
const make = (archivedBytes = 150 * mebibyte, manager = createFakePackageManager()) => {
  const cleanup = createFakeDiskCleanup([packages, temporary]);
  const journal = createFakeJournalStorage(fakeJournalSize({ diskBytes: 160 * mebibyte, archivedBytes }));
  const fix = diskCleanupFix({ packages: manager, cleanup, journal, fileSystems: createFakeFileSystems(mounted) });
  return { cleanup, journal, fix };
};

it("disk_cleanup cleans the file systems that are too full", async () => {
  const { fix, journal } = make();
  const { steps, freesBytes } = await fix.plan(found({ "/": "warn", "/tmp": "fail", "/var/log": "fail" }), signal);
  expect(steps.map(({ action }) => action)).toEqual([
    "remove 1 downloaded package (1.9 MiB: a.deb) from /var/cache/apt/archives",
    "remove 5 old temporary files (2.9 MiB: tmp.a, tmp.b, tmp.c, tmp.d, tmp.e) from /tmp",
    "remove the oldest archived journal files from /var/log/journal until they take at most 100 MiB",
  ]);
  expect(freesBytes).toBe(5e6 + 50 * mebibyte);
  expect(journal.actions).toEqual([]);

  const messages: string[] = [];
  for (const { run } of steps) messages.push(await run(signal));
  expect(messages).toEqual(["1 file removed, 1.9 MiB freed", "5 files removed, 2.9 MiB freed", "50.0 MiB freed"]);
  expect(journal.actions).toEqual([`vacuum ${100 * mebibyte}`]);
});

it.each([
  ["/", { "/": "warn", "/tmp": "pass" }, "/var/cache/apt/archives"],
  ["/tmp", { "/": "pass", "/tmp": "fail" }, "/tmp"],
])("disk_cleanup touches nothing outside of %s", async (_, full, directory) => {
  const { steps } = await make().fix.plan(found(full), signal);
  expect(steps.map(({ action }) => action)).toEqual([expect.stringContaining(`from ${directory}`)]);
});

it("disk_cleanup leaves files among foreign ones, and says so", async () => {
  const { fix, cleanup } = make(0);
  const reason =
    "1 downloaded package (1.9 MiB) in /var/cache/apt/archives cannot be removed while notes.txt, which is not of the package manager, lies among them";
  cleanup.candidates = [{ ...packages, foreign: "notes.txt" }, temporary];
  expect(await fix.plan(found({ "/": "warn" }), signal)).toEqual({ steps: [], reason });
  const plan = await fix.plan(found({ "/": "warn", "/tmp": "fail" }), signal);
  expect(plan).toMatchObject({ steps: [{ action: expect.stringContaining("from /tmp") }], freesBytes: 3e6, reason });
});

it("disk_cleanup names directories that give no answer, and cleans the others", async () => {
  const { cleanup, journal } = make(0);
  cleanup.unread = ["/tmp/tmp.x gives no answer"];
  const fileSystems = createFakeFileSystems(mounted);
  const holding = (path: string) =>
    path === "/var/cache/apt/archives"
      ? Promise.reject(new HostUnavailable(`${path} gives no answer`, { missing: path, retryable: true }))
      : fileSystems.holding(path);
  const fix = diskCleanupFix({ packages: createFakePackageManager(), cleanup, journal, fileSystems: { holding } });
  const plan = await fix.plan(found({ "/": "warn", "/tmp": "fail" }), signal);
  expect(plan).toMatchObject({ steps: [{ action: expect.stringContaining("from /tmp") }] });
  expect(plan.reason).toBe("/tmp/tmp.x gives no answer; /var/cache/apt/archives gives no answer");
});

it("disk_cleanup removes nothing without a full file system, a large journal or removable files", async () => {
  const plan = await make(100e6).fix.plan(found({ "/var/log": "fail" }), signal);
  expect(plan).toEqual({ steps: [], reason: "there is nothing on /var/log that can be removed safely" });
  const { fix, cleanup } = make(0);
  cleanup.candidates = [];
  expect(await fix.plan(found({ "/": "warn", "/tmp": "fail" }), signal)).toEqual({
    steps: [],
    reason: "there is nothing on the file systems that are too full that can be removed safely",
  });
  for (const details of [{}, { file_systems: [null, { path: 1, status: "fail" }, { path: "/" }] }])
    expect(await make().fix.plan({ status: "fail", message: "", details }, signal)).toMatchObject({ steps: [] });
});

describe("disk_cleanup: old kernels", () => {
  const kernels = () =>
    createFakePackageManager(
      [18, 19, 20].map((at) => fakePackage(`linux-image-6.1.0-${at}-amd64`, "1", { isManual: false })),
    );

  it("are removed from the file system that they fill", async () => {
    const manager = kernels();
    const { fix, cleanup } = make(0, manager);
    cleanup.candidates = [];
    expect(await fix.plan(found({ "/tmp": "fail" }), signal)).toMatchObject({ steps: [] });
    const { steps, freesBytes } = await fix.plan(found({ "/": "warn" }), signal);
    expect(steps.map(({ action }) => action)).toEqual([
      "remove 1 package of old kernels (linux-image-6.1.0-18-amd64 1)",
    ]);
    expect(freesBytes).toBe(1000);
    expect(await steps[0]?.run(signal)).toBe("1 package of old kernels removed");
    expect([...manager.packages.keys()]).toEqual(["linux-image-6.1.0-19-amd64", "linux-image-6.1.0-20-amd64"]);
    expect(await fix.plan(found({ "/": "warn" }), signal)).toMatchObject({ steps: [] });
  });

  it("stay when the package manager cannot plan their removal", async () => {
    const manager = kernels();
    manager.oldKernels.plan = () => Promise.reject(new UpdateRefused("dependencies cannot be met: a (b)"));
    const { steps, reason } = await make(0, manager).fix.plan(found({ "/": "warn" }), signal);
    expect(steps).toHaveLength(1);
    expect(reason).toBe("old kernels cannot be removed: dependencies cannot be met: a (b)");
  });
});
