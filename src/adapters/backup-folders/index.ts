import { constants } from "node:fs";
import { lstat, open, opendir } from "node:fs/promises";
import { join } from "node:path";
import type { BackupFolders, NewestFile } from "#domain/ports/backup-folders.ts";
import { errnoCode, isNotFound, orUndefined } from "#kernel/errors.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
/** A repository of deduplicated chunks has more: its last success is better told by its unit. */
const defaultMostEntries = 20_000;
const deepest = 8;

interface Walk {
  readonly matches: (name: string) => boolean;
  readonly latestAt: number;
  readonly signal: AbortSignal;
  readonly mostEntries: number;
  entries: number;
  isComplete: boolean;
  newest: NewestFile | undefined;
}

/** A name that has gone, or become a link, since it was listed. */
const hasChanged = (error: unknown): boolean => isNotFound(error) || errnoCode(error) === "ELOOP";

async function visit(walk: Walk, path: string, shown: string, flags: number, depth: number): Promise<void> {
  const directory = await open(path, O_RDONLY | O_DIRECTORY | flags);
  try {
    // By the handle: what is put in the place of the directory meanwhile leads nowhere else.
    const own = `/proc/self/fd/${directory.fd}`;
    for await (const entry of await opendir(own)) {
      walk.signal.throwIfAborted();
      walk.entries += 1;
      if (walk.entries > walk.mostEntries) {
        walk.isComplete = false;
        return;
      }
      const at = join(shown, entry.name);
      if (entry.isDirectory()) {
        if (depth >= deepest) walk.isComplete = false;
        else await orUndefined(visit(walk, `${own}/${entry.name}`, at, O_NOFOLLOW, depth + 1), hasChanged);
      } else if (entry.isFile() && walk.matches(entry.name)) {
        const file = await orUndefined(lstat(`${own}/${entry.name}`));
        const isNewer =
          file !== undefined &&
          file.mtimeMs <= walk.latestAt &&
          file.mtimeMs > (walk.newest?.modifiedAt ?? Number.NEGATIVE_INFINITY);
        if (isNewer && file.isFile() && file.size > 0)
          walk.newest = { path: at, bytes: file.size, modifiedAt: Math.floor(file.mtimeMs) };
      }
    }
  } finally {
    await directory.close();
  }
}

export function createBackupFolders({ mostEntries = defaultMostEntries } = {}): BackupFolders {
  return {
    async newest(directory, matches, latestAt, signal) {
      const walk: Walk = { matches, latestAt, signal, mostEntries, entries: 0, isComplete: true, newest: undefined };
      try {
        await visit(walk, directory, "", 0, 0);
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
      return { newest: walk.newest, isComplete: walk.isComplete };
    },
  };
}
