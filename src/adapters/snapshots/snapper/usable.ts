import { lstat, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { InstalledPackage } from "#domain/ports/packages.ts";
import { errorMessage, orUndefined } from "#kernel/errors.ts";
import { nestedPaths, type RootLayout } from "./layout.ts";
import type { Programs } from "./programs.ts";

const subvolumeInode = 256;

const entryExists = async (path: string): Promise<boolean> => (await orUndefined(lstat(path))) !== undefined;

const anyExists = async (paths: readonly string[]): Promise<boolean> =>
  (await Promise.all(paths.map(entryExists))).includes(true);

const init = ["sbin/init", "usr/sbin/init", "usr/lib/systemd/systemd", "lib/systemd/systemd"];

/** Kernels in a /boot of its own stay as they are, and need their modules in the root: those that would have none. */
async function kernelsWithoutModules(root: string, boot = "/boot"): Promise<readonly string[]> {
  if (!(await entryExists(boot)) || (await stat(boot)).dev === (await stat("/")).dev) return [];
  const kernels = (await readdir(boot)).filter((name) => name.startsWith("vmlinuz-"));
  const versions = kernels.map((name) => name.slice("vmlinuz-".length)).sort();
  const found = await Promise.all(
    versions.map((version) => anyExists([join(root, "usr/lib/modules", version), join(root, "lib/modules", version)])),
  );
  return versions.filter((_, at) => found[at] === false);
}

/** Nested subvolumes with content, which no snapshot has. @param carried directories that a rollback does not take back. */
export async function filledNested(
  programs: Pick<Programs, "belowRoot">,
  layout: RootLayout,
  carried: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const mountinfo = await readFile("/proc/self/mountinfo", "utf8");
  const paths = nestedPaths(await programs.belowRoot(signal), layout, mountinfo).filter(
    (path) => !carried.some((folder) => path.startsWith(`${folder}/`)),
  );
  const filled = await Promise.all(paths.map(async (path) => (await readdir(path)).length > 0));
  return paths.filter((_, at) => filled[at] === true);
}

export const nestedReason = (paths: readonly string[]): string =>
  `${paths.join(", ")}: a subvolume inside that of /, which no snapshot of / holds and which would be missing after a rollback`;

/** Why a snapshot cannot be booted. Contents are not read: btrfs has its own checksums. */
export async function whyUnusable(
  root: string,
  installed: (root: string, signal: AbortSignal) => Promise<readonly InstalledPackage[]>,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    if ((await lstat(root)).ino !== subvolumeInode) return "it is not a subvolume";
    for (const folder of ["etc", "usr"]) {
      if (!(await entryExists(join(root, folder)))) return `it has no /${folder}`;
      await readdir(join(root, folder));
    }
    if (!(await anyExists(init.map((path) => join(root, path))))) return "it has no program to boot with";
    if ((await installed(root, signal)).length === 0) return "it has no packages";
  } catch (error) {
    signal.throwIfAborted();
    return `it cannot be read: ${errorMessage(error)}`;
  }
  const kernels = await kernelsWithoutModules(root);
  if (kernels.length === 0) return undefined;
  return `/boot is another file system and does not return, and it has no modules for the kernel ${kernels.join(", ")} that is there`;
}
