import { rename, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runCommand } from "./commands.ts";
import { mountDisk, unmountDisk } from "./disk.ts";
import type { RunDirectory } from "./runs.ts";

/** What of the system is there for its btrfs alone: on another file system nobody would have set it up. */
const withoutBtrfs: Readonly<Record<string, string>> = {
  "etc/fstab": "",
  "etc/default/snapper": 'SNAPPER_CONFIGS=""\n',
};

/**
 * Puts the system of a guest that does not run yet on an ext4 file system instead. All of it is in the directory of the run, and goes
 * with that.
 */
export async function moveToExt4(run: RunDirectory, sizeBytes: number): Promise<void> {
  const moved = `${run.image}.ext4`;
  await writeFile(moved, "");
  await truncate(moved, sizeBytes);
  await mountDisk(run.image, run.root);
  try {
    // It is given all of the tree at once, with owners, links and extended attributes.
    await runCommand(["mkfs.ext4", "-q", "-L", "steward-host", "-d", run.root, moved], { timeoutMs: 120_000 });
  } finally {
    await unmountDisk(run.root);
  }
  await rename(moved, run.image);
  await mountDisk(run.image, run.root);
  try {
    for (const [path, content] of Object.entries(withoutBtrfs)) await writeFile(join(run.root, path), content);
    await rm(join(run.root, "etc/snapper/configs/root"), { force: true });
    await rm(join(run.root, ".snapshots"), { recursive: true, force: true });
  } finally {
    await unmountDisk(run.root);
  }
}
