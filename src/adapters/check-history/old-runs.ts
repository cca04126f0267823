import { lstatSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isDamage, moveAside, type Row, requireOwn, type StoreOptions } from "#adapters/sqlite/index.ts";
import { checkStatuses } from "#contract/checks.ts";
import type { OldRuns } from "#domain/health/history/migrate.ts";
import type { StoredState } from "#domain/ports/check-history.ts";
import type { Dispose } from "#kernel/clock.ts";
import { toError } from "#kernel/errors.ts";
import { isNumber } from "#kernel/values.ts";

const version = 1;

export interface OldFile extends Pick<OldRuns, "read"> {
  readonly states: () => readonly (readonly [checkId: string, StoredState])[];
  readonly remove: () => void;
  readonly dispose: Dispose;
}

const statusOf = (row: Row) => checkStatuses.find((each) => each === row["status"]);

function open(path: string): DatabaseSync {
  requireOwn(path);
  const database = new DatabaseSync(path);
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE;");
    const found = Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
    if (found !== version) throw new Error(`its format ${found} is of another version of Steward`);
    database.prepare("SELECT count(*) FROM states").get();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function reportAside(path: string, error: Error, onTrouble: StoreOptions["onTrouble"]): void {
  try {
    onTrouble(error, moveAside(path));
  } catch {
    onTrouble(error);
  }
}

const hasCode = (error: unknown): error is Error & { readonly errcode: number } =>
  error instanceof Error && "errcode" in error && isNumber(error.errcode);

/** SQLITE_ERROR: it has no such table. */
const isForeign = (error: unknown): boolean => !hasCode(error) || error.errcode === 1;

/**
 * Opens `checks.db`, in which every run had a row; undefined where it does not exist or cannot be opened at present. One that is
 * corrupt is moved aside.
 */
export function openOldRuns({ stateDir, onTrouble }: StoreOptions): OldFile | undefined {
  const path = join(stateDir, "checks.db");
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  let database: DatabaseSync;
  try {
    database = open(path);
  } catch (error) {
    if (isDamage(error) || isForeign(error)) reportAside(path, toError(error), onTrouble);
    else onTrouble(toError(error));
    return undefined;
  }
  const dispose = (): void => {
    if (database.isOpen) database.close();
  };
  const select = database.prepare("SELECT rowid AS place, * FROM runs WHERE rowid > ? ORDER BY rowid LIMIT ?");
  return {
    states: () =>
      database
        .prepare("SELECT * FROM states")
        .all()
        .flatMap((row) => {
          const status = statusOf(row);
          const [since, consecutiveFailures] = [Number(row["since"]), Number(row["consecutive_failures"])];
          return status === undefined
            ? []
            : [[String(row["check_id"]), { status, since, consecutiveFailures }] as const];
        }),
    read: (after, limit) =>
      select.all(after, limit).map((row) => ({
        place: Number(row["place"]),
        checkId: String(row["check_id"]),
        run: {
          checkedAt: Number(row["checked_at"]),
          // Nothing else was ever written.
          status: statusOf(row) ?? "skip",
          message: String(row["message"]),
          durationMs: Number(row["duration_ms"]),
        },
      })),
    remove() {
      dispose();
      for (const ending of ["", "-wal", "-shm"]) rmSync(`${path}${ending}`, { force: true });
    },
    dispose,
  };
}
