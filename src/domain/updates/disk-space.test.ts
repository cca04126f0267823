import { describe, expect, it } from "vitest";
import { brokenFileSystem, createFakeFileSystems, fakeFileSystem } from "../../../test/fakes/file-systems.ts";
import { createFakePackageManager, fakePackage } from "../../../test/fakes/package-manager.ts";
import { createFakeSnapshotBackend } from "../../../test/fakes/snapshot-backend.ts";
import { requireDiskSpace } from "./disk-space.ts";

const megabyte = 2 ** 20;
const signal = new AbortController().signal;
const installed = ["5", "6", "7"].map((version) => fakePackage(`linux-image-${version}-amd64`, version));
const change = (name: string, from: string | null = "1") => ({
  name,
  architecture: "amd64",
  from,
  to: "2",
  isSecurity: false,
});
const ask = async (
  given: { readonly boot?: number; readonly root?: number; readonly data?: number; readonly takesSnapshot?: boolean },
  ...names: readonly (readonly [name: string, from?: string | null])[]
): Promise<string> => {
  const { boot = 1000, root = 1000, data, takesSnapshot = true } = given;
  const fileSystems = createFakeFileSystems([
    fakeFileSystem({ path: "/", freeBytes: root * megabyte }),
    fakeFileSystem({ path: "/boot", totalBytes: (300 + boot) * megabyte, freeBytes: boot * megabyte }),
    ...(data === undefined ? [] : [fakeFileSystem({ path: "/srv", freeBytes: data * megabyte })]),
  ]);
  const plan = { changes: names.map(([name, from]) => change(name, from)), downloadBytes: 50 * megabyte, diskBytes: 0 };
  const manager = createFakePackageManager(installed);
  const backend = {
    ...createFakeSnapshotBackend(),
    ...(data !== undefined && { directory: () => Promise.resolve("/srv/steward/snapshots") }),
  };
  return requireDiskSpace(plan, { manager, backend, fileSystems, takesSnapshot }, signal).then(
    () => "",
    (error: Error) => error.message,
  );
};

describe("room for an update", () => {
  it("is demanded on /boot for each new kernel and for the image that is made again", async () => {
    const added = ["linux-image-8-amd64", null] as const;
    expect(await ask({ boot: 200 }, added)).toBe("");
    expect(await ask({ boot: 199 }, added)).toMatch(
      /^cannot update: \/boot has 199.* free, and 2 kernel images need about 200.*; nothing was changed \(remove old kernels/,
    );
    expect(await ask({ boot: 199 }, ["kernel", null])).toMatch(/^cannot update: \/boot has 199/);
    expect(await ask({ boot: 99 }, ["initramfs-tools"])).toMatch(/^cannot update: \/boot has 99/);
    expect(await ask({ boot: 0 }, ["editor"])).toBe("");
  });

  it("is demanded for downloads and the snapshot, together where they are on one file system", async () => {
    expect(await ask({ root: 164 }, ["editor"])).toBe("");
    expect(await ask({ root: 163 }, ["editor"])).toMatch(/\/ has 163.* the downloads and the snapshot need about 164/);
    expect(await ask({ root: 82, takesSnapshot: false }, ["editor"])).toBe("");
    expect(await ask({ root: 0 })).toBe("");
  });

  it("is demanded for the snapshot where snapshots are kept", async () => {
    expect(await ask({ root: 82, data: 82 }, ["editor"])).toBe("");
    expect(await ask({ root: 1000, data: 81 }, ["editor"])).toMatch(
      /\/srv has 81.* free, and the snapshot need about 82/,
    );
    expect(await ask({ root: 81, data: 1000 }, ["editor"])).toMatch(
      /\/ has 81.* free, and the downloads need about 82/,
    );
  });

  it("is not known where a file system that it takes cannot be inspected, and asked of no other", async () => {
    const askWith = (path: string): Promise<string> =>
      requireDiskSpace(
        { changes: [change("linux-image-8-amd64", null)], downloadBytes: megabyte, diskBytes: 0 },
        {
          manager: createFakePackageManager(installed),
          backend: createFakeSnapshotBackend(),
          fileSystems: createFakeFileSystems([fakeFileSystem(), brokenFileSystem({ path })]),
          takesSnapshot: false,
        },
        signal,
      ).then(
        () => "",
        (error: Error) => error.message,
      );
    const refused = (path: string): string => `cannot update: cannot look at ${path} (EIO); nothing was changed`;
    expect([await askWith("/boot"), await askWith("/var"), await askWith("/srv")]).toEqual([
      refused("/boot"),
      refused("/var"),
      "",
    ]);
  });
});
