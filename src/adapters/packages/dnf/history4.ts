import { existsSync } from "node:fs";
import { openForeign } from "#adapters/sqlite/index.ts";
import type { LoggedTransaction, PackageCatalog } from "#domain/ports/package-catalog.ts";
import { isString } from "#kernel/values.ts";
import { versionOf } from "../common/rpm/names.ts";
import { createRequesters, type LoggedItem, millisecondsOf, packagesOf } from "./logged.ts";

const pageLength = 50;
/** Lines of what scripts and rpm said in a transaction that failed. */
const mostLines = 20;

const statements = {
  transactions: `SELECT id, dt_begin, dt_end, user_id, cmdline, state FROM trans WHERE id < ? ORDER BY id DESC LIMIT ${pageLength}`,
  items:
    "SELECT name, epoch, version, release, arch, action, reason FROM trans_item JOIN rpm USING (item_id) WHERE trans_id = ? ORDER BY trans_item.id",
  errors: `SELECT line FROM console_output WHERE trans_id = ? AND file_descriptor = 2 ORDER BY id DESC LIMIT ${mostLines}`,
};

/** The last that is known of why each package is there: of transactions that were done, and not of versions that were replaced. */
const lastReasons = `SELECT name, arch, action, reason, MAX(trans_item.id) FROM trans_item JOIN rpm USING (item_id)
  JOIN trans ON trans.id = trans_id WHERE trans.state = 1 AND action NOT IN (3, 5, 7, 10) GROUP BY name, arch`;
const removed = 8;
const reasonWords: Readonly<Record<number, string>> = {
  1: "dependency",
  2: "user",
  3: "clean",
  4: "weak-dependency",
  5: "group",
};

/** Why packages are there, in dnf's words, by `name.noarch`. */
export function readReasons(history: string): ReadonlyMap<string, string> {
  if (!existsSync(history)) return new Map();
  const database = openForeign(history);
  try {
    const rows = database.prepare(lastReasons).all();
    return new Map(
      rows.flatMap(({ name, arch, action, reason }) => {
        const word = action === removed ? undefined : reasonWords[Number(reason)];
        return word === undefined ? [] : [[`${String(name)}.${String(arch)}`, word] as const];
      }),
    );
  } finally {
    database.close();
  }
}

/** Numbers in the database, as libdnf has them. */
const actions: Readonly<Record<number, LoggedItem["action"]>> = {
  1: "install",
  2: "downgrade",
  3: "replaced",
  // What takes the place of a package of another name, and what goes for it.
  4: "install",
  5: "replaced",
  6: "upgrade",
  7: "replaced",
  8: "remove",
  9: "reinstall",
  10: "replaced",
};
/** It came for another one, is wanted by none any more, or was recommended. */
const automaticReasons: ReadonlySet<unknown> = new Set([1, 3, 4]);
const failedState = 2;

type Row = Readonly<Record<string, unknown>>;

const itemOf = ({ name, epoch, version, release, arch, action, reason }: Row): LoggedItem => ({
  name: String(name),
  version: versionOf(String(epoch), String(version), String(release)),
  architecture: String(arch),
  action: actions[Number(action)] ?? "other",
  isAutomatic: automaticReasons.has(reason),
});

/** Dnf itself shows its history to nobody but root, since it writes to the database when it reads. */
export const createHistory = ({
  history,
  users,
}: {
  readonly history: string;
  readonly users: string;
}): PackageCatalog["history"] =>
  async function* (signal) {
    if (!existsSync(history)) return;
    const requester = await createRequesters(users);
    const database = openForeign(history);
    try {
      const [transactions, items, errors] = [statements.transactions, statements.items, statements.errors].map((sql) =>
        database.prepare(sql),
      ) as [Statement, Statement, Statement];
      const toTransaction = (row: Row): LoggedTransaction => {
        const id = Number(row["id"]);
        const said =
          row["state"] === failedState
            ? errors
                .all(id)
                .map(({ line }) => String(line))
                .reverse()
            : [];
        return {
          startedAt: millisecondsOf(row["dt_begin"]) ?? 0,
          endedAt: millisecondsOf(row["dt_end"]),
          commandLine: isString(row["cmdline"]) ? row["cmdline"] : "",
          requestedBy: requester(row["user_id"]),
          error: row["state"] === failedState ? said.join("\n") || "Failure" : undefined,
          packages: packagesOf(items.all(id).map(itemOf)),
        };
      };
      let before = Number.MAX_SAFE_INTEGER;
      for (;;) {
        signal.throwIfAborted();
        const page = transactions.all(before);
        for (const row of page) yield toTransaction(row);
        if (page.length < pageLength) return;
        before = Number(page.at(-1)?.["id"]);
      }
    } finally {
      database.close();
    }
  };

type Statement = ReturnType<ReturnType<typeof openForeign>["prepare"]>;
