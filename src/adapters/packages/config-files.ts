import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ConfigFiles, OfferedConfig } from "#domain/ports/packages.ts";
import { isNotFound } from "#kernel/errors.ts";

/** What package managers call the new version of a file that was changed on the host: dpkg, ucf, rpm, pacman. */
const endings: readonly string[] = [".dpkg-dist", ".ucf-dist", ".rpmnew", ".pacnew"];
const maxDepth = 12;

/** The configuration files of packages, where every distribution has them. Links are not followed. */
export function createConfigFiles(directory = "/etc"): ConfigFiles {
  const below = async (path: string, depth: number, signal: AbortSignal): Promise<readonly OfferedConfig[]> => {
    signal.throwIfAborted();
    const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) => {
      if (isNotFound(error)) return [];
      throw error;
    });
    const found: OfferedConfig[] = [];
    for (const entry of entries) {
      const offered = join(path, entry.name);
      if (entry.isDirectory() && depth < maxDepth) found.push(...(await below(offered, depth + 1, signal)));
      const ending = entry.isFile() ? endings.find((each) => entry.name.endsWith(each)) : undefined;
      if (ending === undefined) continue;
      const { ctimeMs } = await stat(offered);
      found.push({ file: offered.slice(0, -ending.length), offered, changedAt: ctimeMs });
    }
    return found;
  };
  return { offered: (signal) => below(directory, 0, signal) };
}
