import { chmodSync, lstatSync, mkdirSync, readdirSync } from "node:fs";
import { dirname } from "node:path";
import { errnoCode, errorMessage } from "#kernel/errors.ts";

export const keyStoreName = "keys.db";

/** `mkdir -p`. Node's own never comes back where a file system refuses with ENOENT, as procfs does. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (errnoCode(error) === "EEXIST") return;
    if (errnoCode(error) !== "ENOENT" || dirname(path) === path) throw error;
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
    if ((stat.mode & 0o077) === 0) return;
    // Somebody else's folder is not made private by a slip of the pen: /tmp and /etc are folders of root's too.
    const names = readdirSync(path);
    if (names.length > 0 && !names.includes(keyStoreName)) {
      throw new Error("it is open to others and holds what is not Steward's (chmod 700 it if it is the right one)");
    }
    chmodSync(path, 0o700);
  } catch (error) {
    const reason = errorMessage(error);
    throw new Error(`cannot use the state folder ${path}: ${reason} (set STEWARD_STATE_DIR to another one)`, {
      cause: error,
    });
  }
}
