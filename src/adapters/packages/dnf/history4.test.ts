import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LoggedTransaction } from "#domain/ports/package-catalog.ts";
import { createHistory, readReasons } from "./history4.ts";

const schema = `
  CREATE TABLE trans (id INTEGER PRIMARY KEY, dt_begin INTEGER, dt_end INTEGER, user_id INTEGER, cmdline TEXT, state INTEGER);
  CREATE TABLE trans_item (id INTEGER PRIMARY KEY, trans_id INTEGER, item_id INTEGER, action INTEGER, reason INTEGER);
  CREATE TABLE rpm (item_id INTEGER, name TEXT, epoch INTEGER, version TEXT, release TEXT, arch TEXT);
  CREATE TABLE console_output (id INTEGER PRIMARY KEY, trans_id INTEGER, file_descriptor INTEGER, line TEXT);`;

describe("the history of dnf", () => {
  let directory: string;
  const path = () => join(directory, "history.sqlite");
  const make = (journal: "delete" | "wal", sql: string): DatabaseSync => {
    const database = new DatabaseSync(path());
    database.exec(`PRAGMA journal_mode = ${journal}; ${schema} ${sql}`);
    return database;
  };
  const read = async (most = Number.MAX_SAFE_INTEGER): Promise<readonly LoggedTransaction[]> => {
    const found: LoggedTransaction[] = [];
    const history = createHistory({ history: path(), users: join(directory, "passwd") });
    for await (const each of history(new AbortController().signal)) if (found.push(each) >= most) break;
    return found;
  };
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "steward-history-"));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it("is read while dnf has it open, with what dnf has not yet moved to the file", async () => {
    const open = make(
      "wal",
      `INSERT INTO rpm VALUES (1, 'app', 1, '1.0', '1', 'noarch'), (2, 'app', 1, '2.0', '1', 'noarch'), (3, 'lib', 0, '1', '1', 'noarch');
       INSERT INTO trans VALUES (1, 1000, 1001, -1, 'upgrade app', 1), (2, 2000, NULL, 1000, NULL, 2), (3, 3000, 0, 0, '', 2);
       INSERT INTO trans_item VALUES (1, 1, 2, 6, 2), (2, 1, 1, 7, 2), (3, 1, 3, 1, 4), (4, 2, 3, 11, 1), (5, 2, 3, 99, 1);
       INSERT INTO console_output VALUES (1, 2, 1, 'fine'), (2, 2, 2, 'first'), (3, 2, 2, 'last');`,
    );
    try {
      expect(await read()).toMatchObject([
        { startedAt: 3_000_000, endedAt: undefined, error: "Failure", requestedBy: undefined, packages: [] },
        { startedAt: 2_000_000, commandLine: "", requestedBy: "1000", error: "first\nlast", packages: [] },
        {
          startedAt: 1_000_000,
          endedAt: 1_001_000,
          commandLine: "upgrade app",
          requestedBy: undefined,
          error: undefined,
          packages: [
            { name: "app", action: "upgrade", from: "1:1.0-1", to: "1:2.0-1", isAutomatic: false },
            { name: "lib", action: "install", from: undefined, to: "1-1", isAutomatic: true },
          ],
        },
      ]);
    } finally {
      open.close();
    }
  });

  it("is read a page at a time as far as it is wanted, and nothing is written beside it", async () => {
    const rows = Array.from({ length: 120 }, (_, at) => `(${at + 1}, ${at + 1}, ${at + 1}, 0, '', 1)`);
    make("wal", `INSERT INTO trans VALUES ${rows.join(",")};`).close();
    expect(readdirSync(directory)).toEqual(["history.sqlite"]);
    expect((await read()).map(({ startedAt }) => startedAt / 1000)).toEqual(
      Array.from({ length: 120 }, (_, at) => 120 - at),
    );
    expect(await read(3)).toHaveLength(3);
    expect(readdirSync(directory)).toEqual(["history.sqlite"]);
  });

  it("has the reason of each package, of its last transaction", () => {
    expect(readReasons(path())).toEqual(new Map());
    make(
      "delete",
      `INSERT INTO rpm VALUES (1, 'app', 0, '1', '1', 'noarch'), (2, 'app', 0, '2', '1', 'noarch'), (3, 'lib', 0, '1', '1', 'noarch'), (4, 'gone', 0, '1', '1', 'noarch'), (5, 'odd', 0, '1', '1', 'noarch');
       INSERT INTO trans VALUES (1, 1, 1, 0, '', 1), (2, 2, 2, 0, '', 1), (3, 3, 3, 0, '', 2);
       INSERT INTO trans_item VALUES (1, 1, 1, 1, 1), (2, 1, 3, 1, 4), (3, 1, 4, 1, 2), (4, 2, 2, 6, 2), (5, 2, 1, 7, 1), (6, 2, 4, 8, 2), (7, 3, 3, 11, 2), (8, 2, 5, 1, 77);`,
    ).close();
    expect(readReasons(path())).toEqual(
      new Map([
        ["app.noarch", "user"],
        ["lib.noarch", "weak-dependency"],
      ]),
    );
  });

  it("is empty where dnf has none, and fails where it cannot be read", async () => {
    expect(await read()).toEqual([]);
    new DatabaseSync(path()).exec("CREATE TABLE trans (id INTEGER)");
    await expect(read()).rejects.toThrow("no such column");
  });
});
