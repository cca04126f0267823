import { chmodSync, lstatSync, mkdirSync } from "node:fs";

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
