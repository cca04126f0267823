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

/** Never through a symbolic link; new files are private. @throws with the path, see {@link addPath}. */
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

type Content = string | Uint8Array;

export function writeFileSynced(path: string, content: Content, { mode = ownerOnly, group }: WriteOptions = {}): void {
  withFile(path, O_WRONLY | O_CREAT | O_TRUNC, (handle) => {
    if (group !== undefined) fchownSync(handle, -1, group);
    if (mode !== ownerOnly) fchmodSync(handle, mode);
    writeFileSync(handle, content);
    fsyncSync(handle);
  });
}

/** Writes a file atomically: readers, and whoever comes after a crash, find the old content or the new one. Durable on return. */
export function writeFileAtomic(path: string, content: Content, options: WriteOptions = {}): void {
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

/** Makes it private, also where it exists. @throws Error when it is something else or another user's. */
export function preparePrivateDirectory(path: string): void {
  mkdirSync(path, { mode: 0o700, recursive: true });
  const stat = lstatSync(path);
  if (!stat.isDirectory() || stat.uid !== process.getuid?.())
    throw new Error(`cannot use ${path}: it is not a directory of this user (move it away)`);
  if ((stat.mode & 0o077) !== 0) chmodSync(path, 0o700);
}
