import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { type Format, openExpendable } from "#adapters/sqlite/index.ts";
import { type CheckStatus, checkStatuses } from "#contract/checks.ts";
import type { CheckHistory } from "#domain/ports/check-history.ts";
import type { Dispose } from "#kernel/clock.ts";

const fileName = "checks.db";

const format: Format = {
  version: 1,
  schema: `
    CREATE TABLE runs (
      check_id TEXT NOT NULL, checked_at INTEGER NOT NULL, status TEXT NOT NULL, message TEXT NOT NULL,
      duration_ms INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX runs_of_check ON runs (check_id, checked_at);
    CREATE INDEX runs_by_age ON runs (checked_at);
    CREATE TABLE states (
      check_id TEXT PRIMARY KEY, status TEXT NOT NULL, since INTEGER NOT NULL, consecutive_failures INTEGER NOT NULL
    ) STRICT;
  `,
  check: "SELECT * FROM states",
};

export interface SqliteCheckHistory extends CheckHistory {
  readonly dispose: Dispose;
}

/** @throws Error for a status that this version does not know. */
function statusOf(value: unknown): CheckStatus {
  const status = checkStatuses.find((each) => each === value);
  if (status === undefined) throw new Error(`cannot read the history: unknown status ${String(value)}`);
  return status;
}

const prepareHistoryStatements = (database: DatabaseSync) => ({
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
  const database = openExpendable({
    path: join(stateDir, fileName),
    format,
    prepare: prepareHistoryStatements,
    onTrouble,
  });
  return {
    record: (id, { checkedAt, status, message, durationMs }, { since, consecutiveFailures, ...state }) =>
      database.change(({ insertRun, saveState }) => {
        insertRun.run(id, checkedAt, status, message, durationMs);
        saveState.run(id, state.status, since, consecutiveFailures);
      }),
    state: (id) =>
      database.use(({ readState }) => {
        const row = readState.get(id);
        return (
          row && {
            status: statusOf(row["status"]),
            since: Number(row["since"]),
            consecutiveFailures: Number(row["consecutive_failures"]),
          }
        );
      }),
    runs: (id, since, limit) =>
      database.use(({ newest, count }) => ({
        runs: newest
          .all(id, since, limit)
          .map((row) => ({
            checkedAt: Number(row["checked_at"]),
            status: statusOf(row["status"]),
            message: String(row["message"]),
            durationMs: Number(row["duration_ms"]),
          }))
          .reverse(),
        total: Number(count.get(id, since)?.["total"]),
      })),
    forget: (before) =>
      database.use(({ forget }) => {
        forget.run(before);
      }),
    dispose: database.dispose,
  };
}
