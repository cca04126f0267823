import { lstat, mkdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { syncDirectory } from "#adapters/files/index.ts";
import { orUndefined } from "#kernel/errors.ts";
import { snapshotsFolder } from "./layout.ts";
import type { Programs } from "./programs.ts";

/** Makes the folders that lead to a place in a copy of the root, none of which may be a link: it would lead out of it. */
async function makeFolders(root: string, folder: string): Promise<void> {
  const parts = folder.split("/").filter((part) => part !== "");
  let path = root;
  for (const part of parts) {
    path = join(path, part);
    const found = await orUndefined(lstat(path));
    if (found === undefined) await mkdir(path, { mode: 0o755 });
    else if (!found.isDirectory()) throw new Error(`cannot copy the state: ${path} is not a directory`);
  }
}

async function isInRoot(folder: string): Promise<boolean> {
  const [found, root] = [await orUndefined(stat(folder)), await stat("/")];
  return found !== undefined && found.dev === root.dev;
}

/** Copies the state directory, from a snapshot for consistent databases, into a copy of the root: revoked keys stay revoked. */
export async function carryState(
  { programs, stateDir, name }: { readonly programs: Programs; readonly stateDir: string; readonly name: string },
  copyRoot: string,
  signal: AbortSignal,
): Promise<void> {
  if (!(await isInRoot(stateDir))) return;
  const moment = join(snapshotsFolder, `steward-${name}`);
  if ((await orUndefined(lstat(moment))) !== undefined) await programs.deleteSubvolume(moment, signal);
  const target = join(copyRoot, stateDir);
  const [made, gone] = [`${target}.carried`, `${target}.earlier`];
  const remove = async (folder: string): Promise<void> => {
    const attempt = (): Promise<void> => rm(folder, { recursive: true, force: true });
    try {
      await attempt();
    } catch {
      // An audit log that was made for appending only is that in a snapshot, too. Which error comes of it depends on the file.
      await programs.allowRemoval(folder, signal);
      await attempt();
    }
  };
  await makeFolders(copyRoot, dirname(stateDir));
  try {
    await programs.snapshotRoot(moment, signal);
    await remove(made);
    await programs.copyFolder(join(moment, stateDir), made, signal);
  } finally {
    if ((await orUndefined(lstat(moment))) !== undefined)
      await programs.deleteSubvolume(moment, AbortSignal.timeout(60_000));
  }
  await remove(gone);
  if ((await orUndefined(lstat(target))) !== undefined) await rename(target, gone);
  await rename(made, target);
  syncDirectory(dirname(target));
  await remove(gone);
}
