import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { CheckStatus } from "#contract/checks.ts";
import { checkStatuses } from "#contract/checks.ts";
import type { CheckHistory } from "#domain/health/ports.ts";
import type { Dispose } from "#domain/kernel/clock.ts";
import { isDamage, openDatabase, setAside } from "./database.ts";

const fileName = "checks.db";

export interface SqliteCheckHistory extends CheckHistory {
  readonly dispose: Dispose;
}

/** @throws Error for a status that this version does not know. */
function statusOf(value: unknown): CheckStatus {
  const status = checkStatuses.find((each) => each === value);
  if (status === undefined) throw new Error(`cannot read the history: unknown status ${String(value)}`);
  return status;
}

const prepare = (database: DatabaseSync) => ({
  insertRun: database.prepare("INSERT INTO runs VALUES (?, ?, ?, ?, ?)"),
  saveState: database.prepare("INSERT OR REPLACE INTO states VALUES (?, ?, ?, ?)"),
  readState: database.prepare("SELECT * FROM states WHERE check_id = ?"),
  count: database.prepare("SELECT count(*) AS total FROM runs WHERE check_id = ? AND checked_at >= ?"),
  newest: database.prepare(
    "SELECT * FROM runs WHERE check_id = ? AND checked_at >= ? ORDER BY checked_at DESC, rowid DESC LIMIT ?",
  ),
  forget: database.prepare("DELETE FROM runs WHERE checked_at < ?"),
});

/**
 * Opens the history of checks in the state folder, making it when it is missing. It is worth less than a running service, so
 * it never keeps one from starting: a damaged file is set aside, and where none can be written it is kept in memory.
 * @param ports.onTrouble is told of either, with the path of the file that was set aside.
 */
export function openCheckHistory(ports: {
  readonly stateDir: string;
  readonly onTrouble: (error: Error, aside?: string) => void;
}): SqliteCheckHistory {
  const { stateDir, onTrouble } = ports;
  const path = join(stateDir, fileName);
  let database = openDatabase(path, onTrouble);
  let statements = prepare(database);

  /** Damage that shows later is met as at the start, and what was to be done is done on the new file. */
  const guarded = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof Error) || !isDamage(error)) throw error;
      database.close();
      onTrouble(error, setAside(path));
      database = openDatabase(path, onTrouble);
      statements = prepare(database);
      return work();
    }
  };

  const inTransaction = (work: () => void): void => {
    try {
      database.exec("BEGIN IMMEDIATE");
      work();
      database.exec("COMMIT");
    } catch (error) {
      // A full disk makes SQLite roll back by itself.
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  };

  return {
    record: (id, { checkedAt, status, message, durationMs }, { since, consecutiveFailures, ...state }) =>
      guarded(() =>
        inTransaction(() => {
          statements.insertRun.run(id, checkedAt, status, message, durationMs);
          statements.saveState.run(id, state.status, since, consecutiveFailures);
        }),
      ),
    state: (id) =>
      guarded(() => {
        const row = statements.readState.get(id);
        return (
          row && {
            status: statusOf(row["status"]),
            since: Number(row["since"]),
            consecutiveFailures: Number(row["consecutive_failures"]),
          }
        );
      }),
    runs: (id, since, limit) =>
      guarded(() => ({
        runs: statements.newest
          .all(id, since, limit)
          .map((row) => ({
            checkedAt: Number(row["checked_at"]),
            status: statusOf(row["status"]),
            message: String(row["message"]),
            durationMs: Number(row["duration_ms"]),
          }))
          .reverse(),
        total: Number(statements.count.get(id, since)?.["total"]),
      })),
    forget: (before) =>
      guarded(() => {
        statements.forget.run(before);
      }),
    dispose: () => database.close(),
  };
}
