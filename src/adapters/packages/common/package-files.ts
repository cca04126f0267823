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

/**
 * Puts the file of a package into its place, from a cache or a repository.
 * @param sources.download brings it into a directory; resolves with its path, undefined where it cannot be had.
 */
export async function fetchFile(
  { wanted, isWhole, target }: Fetching,
  sources: {
    readonly cached: readonly string[];
    readonly download: (folder: string) => Promise<string | undefined>;
  },
  signal: AbortSignal,
): Promise<"cache" | "repository" | undefined> {
  for (const path of sources.cached) {
    const copied = await orUndefined(copyFile(path, target, constants.COPYFILE_FICLONE).then(() => true));
    if (copied === undefined) continue;
    if (await isWhole(target, wanted, signal)) return "cache";
    await rm(target);
  }
  const own = await mkdtemp(join(target, "..", "download-"));
  try {
    const path = await sources.download(own);
    if (path === undefined || !(await isWhole(path, wanted, signal))) return undefined;
    await rename(path, target);
    return "repository";
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}
