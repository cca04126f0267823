import { expect, it } from "vitest";
import { createFakeFileSystems, fakeFileSystem } from "../../../../test/fakes/file-systems.ts";
import { readOnlyFilesystemsCheck } from "./read-only-filesystems.ts";

const { signal } = new AbortController();
const run = (mounted: Parameters<typeof createFakeFileSystems>[0], ignore: readonly string[] = []) =>
  readOnlyFilesystemsCheck({ fileSystems: createFakeFileSystems(mounted) }).run({ ignore }, signal);
const root = fakeFileSystem();
const lost = fakeFileSystem({ path: "/srv", device: "/dev/sdb1", type: "xfs", isReadOnly: true });
const meant = fakeFileSystem({ path: "/usr", isReadOnly: true, isMeantReadOnly: true });

it("passes while all that should be writable is", async () => {
  expect(await run([root, meant])).toEqual({
    status: "pass",
    message: "Every file system that should be writable is",
    details: { looked_at: ["/"], read_only: [] },
  });
});

it("fails for each that is not, and says which", async () => {
  expect(await run([root, lost, meant])).toEqual({
    status: "fail",
    message: "/srv is read-only and should not be: look for disk errors in the kernel log",
    details: { looked_at: ["/", "/srv"], read_only: [{ path: "/srv", device: "/dev/sdb1", type: "xfs" }] },
  });
  expect(await run([{ ...root, isReadOnly: true }, lost])).toMatchObject({
    message: expect.stringMatching(/^\/, \/srv are read-only/),
  });
});

it("leaves out what settings ignore, and skips when nothing is left", async () => {
  expect(await run([root, lost], ["/srv"])).toMatchObject({ status: "pass" });
  expect(await run([lost, meant], ["/srv"])).toMatchObject({ status: "skip" });
});
