import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { type Format, openExpendable } from "#adapters/sqlite/index.ts";
import type { TokenLedger } from "#domain/ports/connectors.ts";
import type { Dispose } from "#kernel/clock.ts";

const fileName = "tokens.db";

const format: Format = {
  version: 1,
  schema: `
    CREATE TABLE used (
      key_id TEXT NOT NULL, day TEXT NOT NULL, tokens INTEGER NOT NULL, PRIMARY KEY (key_id, day)
    ) STRICT, WITHOUT ROWID;
  `,
  check: "SELECT * FROM used",
};

export interface SqliteTokenLedger extends TokenLedger {
  readonly dispose: Dispose;
}

const prepareLedgerStatements = (database: DatabaseSync) => ({
  read: database.prepare("SELECT tokens FROM used WHERE key_id = ? AND day = ?"),
  add: database.prepare(
    "INSERT INTO used VALUES (?, ?, ?) ON CONFLICT (key_id, day) DO UPDATE SET tokens = tokens + excluded.tokens",
  ),
  forget: database.prepare("DELETE FROM used WHERE day < ?"),
});

/**
 * Opens the ledger in the state folder, making it when it is missing. A damaged file is set aside, and where none can be
 * written it is kept in memory: budgets then begin anew, which is better than no service.
 * @param ports.onTrouble is told of either, with the path of the file that was set aside.
 */
export function openTokenLedger(ports: {
  readonly stateDir: string;
  readonly onTrouble: (error: Error, aside?: string) => void;
}): SqliteTokenLedger {
  const { stateDir, onTrouble } = ports;
  const database = openExpendable({
    path: join(stateDir, fileName),
    format,
    prepare: prepareLedgerStatements,
    onTrouble,
  });
  return {
    used: (keyId, day) => database.use(({ read }) => Number(read.get(keyId, day)?.["tokens"] ?? 0)),
    add: (keyId, day, tokens) =>
      database.use(({ add }) => {
        add.run(keyId, day, tokens);
      }),
    forget: (before) =>
      database.use(({ forget }) => {
        forget.run(before);
      }),
    dispose: database.dispose,
  };
}
