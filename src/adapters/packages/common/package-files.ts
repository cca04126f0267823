import { constants } from "node:fs";
import { copyFile, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { PackageVersion } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";

export type IsWhole = (path: string, wanted: PackageVersion, signal: AbortSignal) => Promise<boolean>;

interface Fetching {
  readonly wanted: PackageVersion;
  readonly isWhole: IsWhole;
  readonly target: string;
}

export async function fetchCached(
  { wanted, isWhole, target }: Fetching,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  for (const path of paths) {
    const copied = await orUndefined(copyFile(path, target, constants.COPYFILE_FICLONE).then(() => true));
    if (copied === undefined) continue;
    if (await isWhole(target, wanted, signal)) return true;
    await rm(target);
  }
  return false;
}

/** @param download brings the file into a directory; resolves with its path, undefined where it cannot be had. */
export async function fetchDownloaded(
  { wanted, isWhole, target }: Fetching,
  download: (folder: string) => Promise<string | undefined>,
  signal: AbortSignal,
): Promise<boolean> {
  const own = await mkdtemp(join(target, "..", "download-"));
  try {
    const path = await download(own);
    if (path === undefined || !(await isWhole(path, wanted, signal))) return false;
    await rename(path, target);
    return true;
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}
