import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { nameError } from "#domain/common/host-unavailable.ts";

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_DIRECTORY } = constants;

/** Makes names in a directory last. */
export function syncDirectory(path: string): void {
  const handle = openSync(path, O_RDONLY | O_DIRECTORY);
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/**
 * Writes a file whole or not at all; it is on disk, under its name, when this returns.
 * @param group who may read it besides its owner.
 */
export function writeWhole(path: string, content: string, group?: number): void {
  const beside = `${path}.${randomBytes(6).toString("hex")}.new`;
  const handle = openSync(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    if (group !== undefined) {
      fchownSync(handle, -1, group);
      fchmodSync(handle, 0o640);
    }
    writeFileSync(handle, content);
    fsyncSync(handle);
    renameSync(beside, path);
  } catch (error) {
    unlinkSync(beside);
    throw nameError(error, path);
  } finally {
    closeSync(handle);
  }
  syncDirectory(dirname(path));
}
