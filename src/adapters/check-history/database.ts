import { closeSync, constants, fchmodSync, lstatSync, openSync, renameSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

const schemaVersion = 1;
const schema = `
  CREATE TABLE runs (
    check_id TEXT NOT NULL, checked_at INTEGER NOT NULL, status TEXT NOT NULL, message TEXT NOT NULL,
    duration_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX runs_of_check ON runs (check_id, checked_at);
  CREATE INDEX runs_by_age ON runs (checked_at);
  CREATE TABLE states (
    check_id TEXT PRIMARY KEY, status TEXT NOT NULL, since INTEGER NOT NULL, consecutive_failures INTEGER NOT NULL
  ) STRICT;
  PRAGMA user_version = ${schemaVersion};
`;

/** SQLITE_CORRUPT and SQLITE_NOTADB, the primary codes in the low byte. */
const damageCodes = [11, 26];

/** Whether an error says that the file itself is damaged, and not that the disk is full or the like. */
export const isDamage = (error: unknown): boolean =>
  error instanceof Error &&
  "errcode" in error &&
  typeof error.errcode === "number" &&
  damageCodes.includes(error.errcode & 0xff);

/** The file is what this version does not write. */
class NotOurs extends Error {
  override readonly name = "NotOurs";
}

/** Makes the file where it is missing, mode 0600 whatever the umask; SQLite gives its log the mode of the file. */
function makePrivate(path: string): void {
  const { O_RDWR, O_CREAT, O_NOFOLLOW } = constants;
  const handle = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
  try {
    fchmodSync(handle, 0o600);
  } finally {
    closeSync(handle);
  }
}

/** @throws Error when it cannot be opened; NotOurs or one that {@link isDamage} knows when the file is at fault. */
function open(path: string): DatabaseSync {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat !== undefined && (!stat.isFile() || stat.uid !== process.getuid?.()))
    throw new NotOurs("it is not a file of this user's own");
  makePrivate(path);
  const database = new DatabaseSync(path);
  try {
    // NORMAL: a killed service loses nothing; a power cut may take the last results, which is not worth a wait for the disk
    // with each of them.
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
    database.exec("BEGIN EXCLUSIVE;");
    const version = Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
    if (version === 0) database.exec(schema);
    else if (version !== schemaVersion) throw new NotOurs(`its format ${version} is of another version of Steward`);
    database.exec("COMMIT;");
    // A file that was damaged in its tables shows it here and not in the middle of a run.
    database.prepare("SELECT * FROM states").all();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Puts a file that cannot be used beside its place, where somebody may look at it. The one put there before gives way. */
export function setAside(path: string): string {
  const aside = `${path}.damaged`;
  rmSync(aside, { recursive: true, force: true });
  renameSync(path, aside);
  for (const ending of ["-wal", "-shm"]) rmSync(`${path}${ending}`, { force: true });
  return aside;
}

/**
 * Opens the file, or a new one in its place where it is damaged, or none but the memory where neither can be written.
 * @param onTrouble is told what went wrong, and where the old file is.
 */
export function openDatabase(path: string, onTrouble: (error: Error, aside?: string) => void): DatabaseSync {
  try {
    return open(path);
  } catch (error) {
    const reason = error instanceof Error ? error : new Error(String(error));
    try {
      if (!(error instanceof NotOurs) && !isDamage(error)) throw error;
      onTrouble(reason, setAside(path));
      return open(path);
    } catch (second) {
      onTrouble(second instanceof Error ? second : new Error(String(second)));
      const database = new DatabaseSync(":memory:");
      database.exec(schema);
      return database;
    }
  }
}
