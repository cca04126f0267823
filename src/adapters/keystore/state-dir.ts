import {
  chmodSync,
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);

/** `mkdir -p`. Node's own never comes back where a file system refuses with ENOENT, as procfs does. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) === "EEXIST") return;
    if (codeOf(error) !== "ENOENT" || dirname(path) === path) throw error;
    makeFolder(dirname(path));
    mkdirSync(path, { mode: 0o700 });
  }
}

/**
 * Makes the state folder, readable by its owner alone, and takes away what others may do in it.
 * @throws Error when it is not a folder of this user's own.
 */
export function prepareStateDir(path: string): void {
  try {
    makeFolder(path);
    const stat = lstatSync(path);
    if (!stat.isDirectory()) throw new Error("it is not a folder");
    if (stat.uid !== process.getuid?.()) throw new Error("it belongs to another user");
    if ((stat.mode & 0o077) !== 0) chmodSync(path, 0o700);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`cannot use the state folder ${path}: ${reason} (set STEWARD_STATE_DIR to another one)`, {
      cause: error,
    });
  }
}

/** Makes what was renamed into a folder last: without it a crash may lose the new name. */
function syncDir(path: string): void {
  const handle = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/**
 * Writes a file of the state folder whole or not at all, mode 0600.
 * @returns its path.
 */
export function writeStateFile(stateDir: string, name: string, content: string): string {
  const path = join(stateDir, name);
  const temporary = `${path}.${process.pid}.new`;
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
  const handle = openSync(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
  try {
    writeSync(handle, content);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(temporary, path);
  syncDir(stateDir);
  return path;
}
