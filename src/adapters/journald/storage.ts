import type { Dirent } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { JournalStorage } from "#domain/health/ports.ts";

/** Where journald keeps its files: on the disk, and in memory until the disk is there or where none is wanted. */
const diskFolder = "/var/log/journal";
const memoryFolder = "/run/log/journal";

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");

/** Journal files, active and archived; a file that was not closed well is renamed to end with `~`. */
const isJournalFile = (entry: Dirent): boolean => entry.isFile() && /\.journal~?$/.test(entry.name);

interface Taken {
  bytes: number;
  files: number;
}

/** What the files below a folder take; undefined where there is no such folder. Files that vanish meanwhile take nothing. */
async function taken(folder: string, signal: AbortSignal): Promise<Taken | undefined> {
  let entries: readonly Dirent[];
  try {
    entries = await readdir(folder, { withFileTypes: true, recursive: true });
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  const sum: Taken = { bytes: 0, files: 0 };
  for (const entry of entries.filter(isJournalFile)) {
    signal.throwIfAborted();
    try {
      // st_blocks counts 512 bytes whatever the block size (stat(2)); files are grown ahead of what is in them.
      sum.bytes += (await lstat(join(entry.parentPath, entry.name))).blocks * 512;
      sum.files += 1;
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return sum;
}

/** Whether there is a folder of journals at all. */
export async function holdsJournal(dir: string | undefined): Promise<boolean> {
  const signal = new AbortController().signal;
  for (const folder of dir === undefined ? [diskFolder, memoryFolder] : [dir]) {
    const found = await taken(folder, signal);
    if (found !== undefined && found.files > 0) return true;
  }
  return false;
}

/** The files of journald, of this machine and of any other whose journals lie there. */
export function createJournalStorage(
  folders: { disk: string; memory: string } = { disk: diskFolder, memory: memoryFolder },
): JournalStorage {
  return {
    async size(signal) {
      const disk = await taken(folders.disk, signal);
      const memory = await taken(folders.memory, signal);
      const files = (disk?.files ?? 0) + (memory?.files ?? 0);
      if (files === 0) return undefined;
      return { diskBytes: disk?.bytes ?? 0, memoryBytes: memory?.bytes ?? 0, files };
    },
  };
}
