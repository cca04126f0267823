import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { addPath } from "#kernel/errors.ts";

const { O_RDONLY, O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW, O_DIRECTORY } = constants;
const ownerOnly = 0o600;

/**
 * Opens a file, never through a symbolic link, and closes it whatever happens. What it creates is private to its owner.
 * @throws what opening it or the work throws, with the path of the file, see {@link addPath}.
 */
export function withFile<T>(path: string, flags: number, work: (handle: number) => T): T {
  const handle = openSync(path, flags | O_NOFOLLOW, ownerOnly);
  try {
    return work(handle);
  } catch (error) {
    throw addPath(error, path);
  } finally {
    closeSync(handle);
  }
}

/** Makes the names in a directory durable: without it a crash may lose what was created or renamed there. */
export const syncDirectory = (path: string): void => withFile(path, O_RDONLY | O_DIRECTORY, fsyncSync);

export interface WriteOptions {
  readonly mode?: number;
  readonly group?: number;
}

/** Writes a file to disk, under a name that nobody reads yet: readers may see half of it. */
export function writeFileSynced(path: string, content: string, { mode = ownerOnly, group }: WriteOptions = {}): void {
  withFile(path, O_WRONLY | O_CREAT | O_TRUNC, (handle) => {
    if (group !== undefined) fchownSync(handle, -1, group);
    if (mode !== ownerOnly) fchmodSync(handle, mode);
    writeFileSync(handle, content);
    fsyncSync(handle);
  });
}

/** Writes a file atomically: readers, and whoever comes after a crash, find the old content or the new one. Durable on return. */
export function writeFileAtomic(path: string, content: string, options: WriteOptions = {}): void {
  const draft = `${path}.${randomBytes(6).toString("hex")}.new`;
  try {
    writeFileSynced(draft, content, options);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  syncDirectory(dirname(path));
}

/**
 * Makes a directory that only this user may read, with those above it, and takes away what others may do in one that exists.
 * @throws Error when something else is in its place, or it belongs to another user.
 */
export function preparePrivateDirectory(path: string): void {
  mkdirSync(path, { mode: 0o700, recursive: true });
  const stat = lstatSync(path);
  if (!stat.isDirectory() || stat.uid !== process.getuid?.())
    throw new Error(`cannot use ${path}: it is not a directory of this user (move it away)`);
  if ((stat.mode & 0o077) !== 0) chmodSync(path, 0o700);
}
