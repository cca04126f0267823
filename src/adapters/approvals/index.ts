import { type Format, openExpendable, type StoreOptions } from "#adapters/sqlite/index.ts";
import type { ApprovalRecord, ApprovalStore } from "#domain/ports/approvals.ts";
import type { Dispose } from "#kernel/clock.ts";
import { isString, parseJsonObject } from "#kernel/values.ts";

const format = {
  file: "approvals.db",
  version: 1,
  schema: `
    CREATE TABLE approvals (id TEXT PRIMARY KEY, created_at INTEGER NOT NULL, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
  `,
  check: "SELECT * FROM approvals LIMIT 1",
  statements: {
    list: "SELECT record FROM approvals ORDER BY created_at, id",
    save: "INSERT INTO approvals VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET record = excluded.record",
    remove: "DELETE FROM approvals WHERE id = ?",
  },
} satisfies Format;

/** Opens the approvals of the state directory, private to the service: calls that wait have their arguments in it. */
export function openApprovalStore(options: StoreOptions): ApprovalStore & { readonly dispose: Dispose } {
  const { use, keep, change, dispose } = openExpendable(format, options);
  return {
    list: () =>
      use(({ list }) => list.all())
        .map((row) => row["record"])
        .filter(isString)
        // The service alone writes the file.
        .flatMap((text) => (parseJsonObject(text) as ApprovalRecord | undefined) ?? []),
    save: (record) => keep("save", record.id, record.createdAt, JSON.stringify(record)),
    remove: (ids) =>
      change(({ remove }) => {
        for (const id of ids) remove.run(id);
      }),
    dispose,
  };
}
