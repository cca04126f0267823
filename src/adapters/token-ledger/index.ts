import { type Format, openExpendable, type StoreOptions } from "#adapters/sqlite/index.ts";
import type { TokenLedger } from "#domain/ports/connectors.ts";
import type { Dispose } from "#kernel/clock.ts";

const format = {
  file: "tokens.db",
  version: 1,
  schema: `
    CREATE TABLE used (
      key_id TEXT NOT NULL, day TEXT NOT NULL, tokens INTEGER NOT NULL, PRIMARY KEY (key_id, day)
    ) STRICT, WITHOUT ROWID;
  `,
  check: "SELECT * FROM used",
  statements: {
    read: "SELECT tokens FROM used WHERE key_id = ? AND day = ?",
    add: "INSERT INTO used VALUES (?, ?, ?) ON CONFLICT (key_id, day) DO UPDATE SET tokens = tokens + excluded.tokens",
    forget: "DELETE FROM used WHERE day < ?",
  },
} satisfies Format;

export interface SqliteTokenLedger extends TokenLedger {
  readonly dispose: Dispose;
}

/** Opens the ledger in the state directory, making it when it is missing. In a new file, or in memory, budgets are reset. */
export function openTokenLedger(options: StoreOptions): SqliteTokenLedger {
  const { use, run, dispose } = openExpendable(format, options);
  return {
    used: (keyId, day) => use(({ read }) => Number(read.get(keyId, day)?.["tokens"] ?? 0)),
    add: (keyId, day, tokens) => run("add", keyId, day, tokens),
    forget: (before) => run("forget", before),
    dispose,
  };
}
