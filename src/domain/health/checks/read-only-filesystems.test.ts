import { expect, it } from "vitest";
import { brokenFileSystem, createFakeFileSystems, fakeFileSystem } from "../../../../test/fakes/file-systems.ts";
import { readOnlyFilesystemsCheck } from "./read-only-filesystems.ts";

const { signal } = new AbortController();
const run = (mounted: Parameters<typeof createFakeFileSystems>[0], ignore: readonly string[] = []) =>
  readOnlyFilesystemsCheck({ fileSystems: createFakeFileSystems(mounted) }).run({ ignore }, signal);
const root = fakeFileSystem();
const lost = fakeFileSystem({ path: "/srv", device: "/dev/sdb1", type: "xfs", isReadOnly: true });
const meant = fakeFileSystem({ path: "/usr", isReadOnly: true, isMeantReadOnly: true });

it("read_only_filesystems fails for each file system that became read-only, and leaves out ignored ones", async () => {
  expect(await run([root, meant])).toEqual({
    status: "pass",
    message: "Every file system that should be writable is writable",
    details: { looked_at: ["/"], read_only: [] },
  });
  expect(await run([root, lost, meant])).toEqual({
    status: "fail",
    message: "/srv is read-only and should not be: look for disk errors in the kernel log",
    details: { looked_at: ["/", "/srv"], read_only: [{ path: "/srv", device: "/dev/sdb1", type: "xfs" }] },
  });
  expect(await run([{ ...root, isReadOnly: true }, lost])).toMatchObject({
    message: expect.stringMatching(/^\/, \/srv are read-only/),
  });
  expect(await run([root, lost], ["/srv"])).toMatchObject({ status: "pass" });
  expect(await run([lost, meant], ["/srv"])).toMatchObject({ status: "skip" });
});

it("read_only_filesystems fails for one that cannot be inspected, and still finds the others", async () => {
  const unreadable = [{ path: "/srv/broken", reason: "EIO" }];
  expect(await run([brokenFileSystem(), root])).toEqual({
    status: "fail",
    message: "cannot look at /srv/broken (EIO): look for disk errors in the kernel log",
    details: { looked_at: ["/srv/broken", "/"], read_only: [], unreadable },
  });
  expect(await run([brokenFileSystem(), lost])).toMatchObject({
    message:
      "/srv is read-only and should not be; cannot look at /srv/broken (EIO): look for disk errors in the kernel log",
    details: { read_only: [{ path: "/srv" }], unreadable },
  });
  expect(await run([brokenFileSystem(), root], ["/srv"])).toMatchObject({ status: "pass" });
});
