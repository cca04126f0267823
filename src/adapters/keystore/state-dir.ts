import { chmodSync, lstatSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { errnoCode, errorMessage } from "#kernel/errors.ts";

export const keyStoreName = "keys.db";

/** `mkdir -p`. Node's own never comes back where a file system refuses with ENOENT, as procfs does. */
function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (errnoCode(error) === "EEXIST") return;
    if (errnoCode(error) !== "ENOENT" || dirname(path) === path) throw error;
    makeDirectory(dirname(path));
    mkdirSync(path, { mode: 0o700 });
  }
}

/** @throws Error when it is not a directory of this user's own. */
export function prepareStateDir(path: string): void {
  try {
    makeDirectory(path);
    const stat = lstatSync(path);
    if (!stat.isDirectory()) throw new Error("it is not a directory");
    if (stat.uid !== process.getuid?.()) throw new Error("it belongs to another user");
    if ((stat.mode & 0o077) === 0) return;
    // Somebody else's directory is not made private by a slip of the pen: /tmp and /etc are directories of root's too.
    const names = readdirSync(path);
    if (names.length > 0 && !names.includes(keyStoreName)) {
      throw new Error(
        "it is open to other users and contains files that are not Steward's (chmod 700 it if it is the right one)",
      );
    }
    chmodSync(path, 0o700);
  } catch (error) {
    const reason = errorMessage(error);
    throw new Error(`cannot use the state directory ${path}: ${reason} (set STEWARD_STATE_DIR to another one)`, {
      cause: error,
    });
  }
}

export class KeyStoreLost extends Error {
  override readonly name = "KeyStoreLost";
}

const witnesses = ["admin.key", "tokens.db", "checks.db", "check-history.db", "alerts.db", "enabled.json"] as const;
const storeLog = `${keyStoreName}-wal`;

const fileSize = (path: string): number | undefined => {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat?.isFile() === true ? stat.size : undefined;
};

const hasContent = (path: string): boolean => (fileSize(path) ?? 0) > 0;

function hasAuditLog(directory: string): boolean {
  const stat = lstatSync(directory, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && readdirSync(directory).some((name) => hasContent(join(directory, name)));
}

export function traceOfKeys(stateDir: string, files: readonly string[] = witnesses): string | undefined {
  const found = files.filter((name) => hasContent(join(stateDir, name)));
  const traces = hasAuditLog(join(stateDir, "audit")) ? [...found, "audit"] : found;
  return traces.length === 0 ? undefined : `but the service has run here before (there is ${traces.join(", ")})`;
}

/** Without opening it, which would delete SQLite's log of an empty database. @returns undefined for an intact or new one. */
export function findKeyStoreLoss(stateDir: string): string | undefined {
  const stat = lstatSync(join(stateDir, keyStoreName), { throwIfNoEntry: false });
  if (stat !== undefined && stat.size > 0) return undefined;
  const trace = traceOfKeys(stateDir, [...witnesses, storeLog]);
  return trace === undefined ? undefined : `it is ${stat === undefined ? "missing" : "empty"}, ${trace}`;
}

const endings = ["", "-wal", "-shm", "-journal"];

/** @returns where it was moved; undefined when there was nothing. */
export function moveKeyStoreAside(stateDir: string, now: number): string | undefined {
  const path = join(stateDir, keyStoreName);
  const aside = `${path}.lost-${new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, "")}`;
  const found = endings.filter((ending) => lstatSync(`${path}${ending}`, { throwIfNoEntry: false }) !== undefined);
  for (const ending of found) renameSync(`${path}${ending}`, `${aside}${ending}`);
  return found.length === 0 ? undefined : aside;
}
