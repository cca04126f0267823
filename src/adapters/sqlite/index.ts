import { constants, fchmodSync, lstatSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { withFile } from "#adapters/files/index.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import type { Dispose } from "#kernel/clock.ts";
import { addPath, toError } from "#kernel/errors.ts";

export interface Format<Name extends string = string> {
  readonly file: string;
  readonly schema: string;
  /** Tables that came later, each made where it is missing: earlier versions of the service do not mind them. */
  readonly additions?: string;
  readonly statements: Readonly<Record<Name, string>>;
  readonly version: number;
  /** Up to this version what earlier versions of the service have written is given up for a new file. */
  readonly givesUpTo?: number;
  readonly check: string;
  /** Pages of the write-ahead log before they are moved to the file; 1000 by default. */
  readonly walPages?: number;
}

const foreignWaitMs = 1000;

/** SQLITE_CORRUPT and SQLITE_NOTADB, the primary codes in the low byte. */
const damageCodes = [11, 26];

export const isDamage = (error: unknown): boolean =>
  error instanceof Error &&
  "errcode" in error &&
  typeof error.errcode === "number" &&
  damageCodes.includes(error.errcode & 0xff);

class Outdated extends Error {
  override readonly name = "Outdated";
}

class NotOurs extends Error {
  override readonly name = "NotOurs";
}

const makePrivate = (path: string): void =>
  withFile(path, constants.O_RDWR | constants.O_CREAT, (handle) => fchmodSync(handle, 0o600));

const make = (database: DatabaseSync, { schema, version, additions = "" }: Format): void =>
  database.exec(`${schema} ${additions} PRAGMA user_version = ${version};`);

/** @throws Error where something else, or somebody else's file, has the path. */
export function requireOwn(path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat !== undefined && (!stat.isFile() || stat.uid !== process.getuid?.()))
    throw new NotOurs("it is not a file of this user's own");
}

export function inTransaction(database: DatabaseSync, work: () => void): void {
  try {
    database.exec("BEGIN IMMEDIATE");
    work();
    database.exec("COMMIT");
  } catch (error) {
    // A full disk makes SQLite roll back by itself.
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function open(path: string, format: Format): DatabaseSync {
  requireOwn(path);
  makePrivate(path);
  const database = new DatabaseSync(path);
  try {
    // NORMAL: a killed service loses nothing; a power cut may take the last entries.
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
    if (format.walPages !== undefined) database.exec(`PRAGMA wal_autocheckpoint = ${format.walPages};`);
    database.exec("BEGIN EXCLUSIVE;");
    const version = Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
    if (version === 0) make(database, format);
    else if (version <= (format.givesUpTo ?? 0)) throw new Outdated(`its format ${version} is outdated`);
    else if (version !== format.version) throw new NotOurs(`its format ${version} is of another version of Steward`);
    else if (format.additions !== undefined) database.exec(format.additions);
    database.exec("COMMIT;");
    database.prepare(format.check).all();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Opens the database of another program to be read. Where that program has it not open, and left no log beside it, nothing is
 * written there, not even what SQLite needs to share it.
 */
export function openForeign(path: string): DatabaseSync {
  if (lstatSync(`${path}-wal`, { throwIfNoEntry: false }) !== undefined)
    return new DatabaseSync(path, { readOnly: true, timeout: foreignWaitMs });
  const url = pathToFileURL(path);
  url.searchParams.set("immutable", "1");
  return new DatabaseSync(url, { readOnly: true });
}

/** Renames a database, so that a new one can be made. @returns the new path. */
export function moveAside(path: string): string {
  const aside = `${path}.damaged`;
  rmSync(aside, { recursive: true, force: true });
  renameSync(path, aside);
  for (const ending of ["-wal", "-shm"]) rmSync(`${path}${ending}`, { force: true });
  return aside;
}

export type Row = Readonly<Record<string, SQLOutputValue>>;
export type Statements<Name extends string> = Readonly<Record<Name, StatementSync>>;

export const numberOrNull = (value: unknown): number | null => (value === null ? null : Number(value));
export const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);

export interface StoreOptions {
  readonly stateDir: string;
  readonly onTrouble: (error: Error, aside?: string) => void;
}

/** A file that the service can do without: it never keeps one from starting, nor stops one that runs. */
export interface ExpendableDatabase<Name extends string> {
  /** Works with the statements. Damage that shows is handled as when opening, and the work is done on the new file. */
  readonly use: <R>(work: (statements: Statements<Name>) => R) => R;
  readonly run: (name: Name, ...values: readonly SQLInputValue[]) => void;
  /** Runs a statement that is on the disk when this returns. @throws HostUnavailable where there is nothing but the memory. */
  readonly keep: (name: Name, ...values: readonly SQLInputValue[]) => void;
  /** Whether there is a file. */
  readonly lasts: () => boolean;
  readonly change: (work: (statements: Statements<Name>) => void) => void;
  readonly dispose: Dispose;
}

/** Opens it, or a new file where it is damaged, or memory where neither can be written. */
export function openExpendable<Name extends string>(
  format: Format<Name>,
  { stateDir, onTrouble }: StoreOptions,
): ExpendableDatabase<Name> {
  const path = join(stateDir, format.file);

  let lastsNoLonger: Error | undefined;
  const inMemory = (error: unknown): DatabaseSync => {
    lastsNoLonger = toError(error);
    onTrouble(lastsNoLonger);
    const memory = new DatabaseSync(":memory:");
    make(memory, format);
    return memory;
  };

  const replace = (reason: Error): DatabaseSync => {
    try {
      onTrouble(reason, moveAside(path));
      return open(path, format);
    } catch (error) {
      return inMemory(error);
    }
  };

  const giveUp = (reason: Outdated): DatabaseSync => {
    try {
      for (const ending of ["", "-wal", "-shm"]) rmSync(`${path}${ending}`, { force: true });
      return open(path, format);
    } catch {
      return inMemory(reason);
    }
  };

  const openOrReplace = (): DatabaseSync => {
    try {
      return open(path, format);
    } catch (error) {
      if (error instanceof Outdated) return giveUp(error);
      return error instanceof NotOurs || isDamage(error) ? replace(toError(error)) : inMemory(error);
    }
  };

  let database = openOrReplace();
  const prepare = (): Statements<Name> =>
    Object.fromEntries(
      Object.entries<string>(format.statements).map(([name, sql]) => [name, database.prepare(sql)]),
    ) as Statements<Name>;
  let statements = prepare();

  const use = <R>(work: (statements: Statements<Name>) => R): R => {
    try {
      return work(statements);
    } catch (error) {
      if (!isDamage(error)) throw addPath(error, path);
      database.close();
      database = replace(toError(error));
      statements = prepare();
      return work(statements);
    }
  };

  const requireFile = (): void => {
    if (lastsNoLonger === undefined) return;
    const reason = `${path} could not be opened: ${lastsNoLonger.message}`;
    throw new HostUnavailable(
      `${reason} (restart the service when that is repaired)`,
      { missing: "database file", retryable: false, directory: stateDir },
      lastsNoLonger,
    );
  };

  const run = (name: Name, ...values: readonly SQLInputValue[]): void => {
    use((prepared) => prepared[name].run(...values));
  };

  return {
    use,
    run,
    keep(name, ...values) {
      requireFile();
      database.exec("PRAGMA synchronous = FULL");
      try {
        run(name, ...values);
      } finally {
        database.exec("PRAGMA synchronous = NORMAL");
        requireFile();
      }
    },
    lasts: () => lastsNoLonger === undefined,
    change: (work) => use((prepared) => inTransaction(database, () => work(prepared))),
    dispose: () => database.close(),
  };
}
