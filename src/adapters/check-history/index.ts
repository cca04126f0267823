import { type Format, openExpendable, type StoreOptions } from "#adapters/sqlite/index.ts";
import { type CheckStatus, checkStatuses } from "#contract/checks.ts";
import type { CheckHistory } from "#domain/ports/check-history.ts";
import type { Dispose } from "#kernel/clock.ts";

const format = {
  file: "checks.db",
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
  statements: {
    insertRun: "INSERT INTO runs VALUES (?, ?, ?, ?, ?)",
    saveState: "INSERT OR REPLACE INTO states VALUES (?, ?, ?, ?)",
    readState: "SELECT * FROM states WHERE check_id = ?",
    count: "SELECT count(*) AS total FROM runs WHERE check_id = ? AND checked_at >= ?",
    newest: "SELECT * FROM runs WHERE check_id = ? AND checked_at >= ? ORDER BY checked_at DESC, rowid DESC LIMIT ?",
    forget: "DELETE FROM runs WHERE checked_at < ?",
  },
} satisfies Format;

export interface SqliteCheckHistory extends CheckHistory {
  readonly dispose: Dispose;
}

function statusOf(value: unknown): CheckStatus {
  const status = checkStatuses.find((each) => each === value);
  if (status === undefined) throw new Error(`cannot read the history: unknown status ${String(value)}`);
  return status;
}

export function openCheckHistory(options: StoreOptions): SqliteCheckHistory {
  const { use, run, change, dispose } = openExpendable(format, options);
  return {
    record: (id, { checkedAt, status, message, durationMs }, { since, consecutiveFailures, ...state }) =>
      change(({ insertRun, saveState }) => {
        insertRun.run(id, checkedAt, status, message, durationMs);
        saveState.run(id, state.status, since, consecutiveFailures);
      }),
    state: (id) =>
      use(({ readState }) => {
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
      use(({ newest, count }) => ({
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
    forget: (before) => run("forget", before),
    dispose,
  };
}
