import { existsSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, it } from "vitest";
import { openCheckHistory, type SqliteCheckHistory } from "#adapters/check-history/index.ts";
import { systemClock } from "#adapters/clock/index.ts";
import { createRunHistory } from "#domain/health/history/history.ts";
import { migrateRuns } from "#domain/health/history/migrate.ts";
import { directoryPerTest } from "./support/directories.ts";
import { runUntilKilled, sourceOf } from "./support/programs.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const start = Date.parse("2026-01-01T00:00:00Z");
const signal = new AbortController().signal;

const at = directoryPerTest();
let open: SqliteCheckHistory | undefined;
let troubles: (string | undefined)[] = [];
const close = (): void => {
  open?.dispose();
  open = undefined;
};
afterEach(() => {
  close();
  troubles = [];
});
const openNew = (): SqliteCheckHistory => {
  close();
  open = openCheckHistory({ stateDir: at(), onTrouble: (_, aside) => void troubles.push(aside) });
  return open;
};
const oldFile = (): string => at("checks.db");

/** The file of version 0.2: `a` fails in the second hour, `b` passes all the time, and the service was down for an hour after three. */
function writeOld(): void {
  const old = new DatabaseSync(oldFile());
  old.exec(`
    PRAGMA journal_mode = WAL;
    CREATE TABLE runs (
      check_id TEXT NOT NULL, checked_at INTEGER NOT NULL, status TEXT NOT NULL, message TEXT NOT NULL,
      duration_ms INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX runs_of_check ON runs (check_id, checked_at);
    CREATE INDEX runs_by_age ON runs (checked_at);
    CREATE TABLE states (
      check_id TEXT PRIMARY KEY, status TEXT NOT NULL, since INTEGER NOT NULL, consecutive_failures INTEGER NOT NULL
    ) STRICT;
    PRAGMA user_version = 1;
    INSERT INTO states VALUES ('a', 'pass', ${start + 2 * hourMs}, 0), ('b', 'pass', ${start}, 0), ('gone', 'fail', 5, 7);
    BEGIN;`);
  const insert = old.prepare("INSERT INTO runs VALUES (?, ?, ?, ?, ?)");
  for (let minute = 0; minute < 300; minute += 1) {
    if (minute >= 180 && minute < 240) continue;
    const at = start + minute * minuteMs;
    insert.run("a", at, minute >= 60 && minute < 120 ? "fail" : "pass", `a at ${minute}`, minute);
    insert.run("b", at + 1, "pass", `b at ${minute}`, 2);
  }
  old.exec("COMMIT");
  old.close();
}

async function migrate(store: SqliteCheckHistory): Promise<void> {
  const old = store.oldRuns();
  if (old === undefined) throw new Error("nothing to migrate");
  await migrateRuns({ old, clock: systemClock, signal });
}

function expectMigrated(store: SqliteCheckHistory): void {
  const end = start + 299 * minuteMs;
  const times = store.transitions("a").map(({ checkedAt }) => (checkedAt - start) / minuteMs);
  expect(times).toEqual([0, 60, 120, 240]);
  expect(store.transitions("b").map(({ checkedAt }) => (checkedAt - 1 - start) / minuteMs)).toEqual([0, 240]);
  const history = createRunHistory(store);
  expect(history.days("a", start, end)).toMatchObject([
    {
      runs: 240,
      changes: 2,
      minMs: 0,
      maxMs: 299,
      timeMs: { fail: hourMs, pass: 60 * minuteMs + 59 * minuteMs + 59 * minuteMs + 1 },
    },
  ]);
  expect(store.runs("a", 0)).toHaveLength(60);
}

describe("runs of checks that version 0.2 stored one by one", () => {
  it("become transitions and hours once, and are removed", async () => {
    writeOld();
    const store = openNew();
    expect(store.state("gone")).toEqual({ status: "fail", since: 5, consecutiveFailures: 7 });
    await migrate(store);
    expectMigrated(store);
    for (const ending of ["", "-wal", "-shm"]) expect(existsSync(`${oldFile()}${ending}`)).toBe(false);
    const again = openNew();
    expect(again.oldRuns()).toBeUndefined();
    expectMigrated(again);
    expect(troubles).toEqual([]);
  });

  it("come before those of the service that continues meanwhile", async () => {
    writeOld();
    const store = openNew();
    const history = createRunHistory(store);
    const at = start + 300 * minuteMs;
    history.record(
      "a",
      { checkedAt: at, status: "warn", message: "new", durationMs: 1 },
      { status: "warn", since: at, consecutiveFailures: 0 },
    );
    await migrate(store);
    expect(store.transitions("a").map(({ status }) => status)).toEqual(["pass", "fail", "pass", "pass", "warn"]);
    expect(openNew().state("a")).toEqual({ status: "warn", since: at, consecutiveFailures: 0 });
  });

  it("are migrated from the start after a kill at any point, and never twice", async () => {
    writeOld();
    const program = (point: string) => `
      const { openCheckHistory } = await import(${sourceOf("adapters/check-history/index.ts")});
      const { migrateRuns } = await import(${sourceOf("domain/health/history/migrate.ts")});
      const store = openCheckHistory({ stateDir: process.argv[1], onTrouble: (error) => { throw error; } });
      const kill = () => process.kill(process.pid, "SIGKILL");
      const old = store.oldRuns();
      const sleep = () => Promise.resolve(${point === "reading" ? "kill()" : ""});
      await migrateRuns({
        old: { ...old, replaceBy(changes) { ${point === "before" ? "kill();" : ""} old.replaceBy(changes); kill(); } },
        clock: { sleep }, signal: new AbortController().signal,
      });`;
    const killedAt = (point: string) => runUntilKilled(program(point), at());
    for (const point of ["reading", "before"]) {
      await killedAt(point);
      const store = openNew();
      expect([point, store.transitions("a").length, existsSync(oldFile())]).toEqual([point, 0, true]);
      close();
    }
    await killedAt("after");
    expect(existsSync(oldFile())).toBe(false);
    expectMigrated(openNew());
  });

  it("are removed without another migration where only that was missing", async () => {
    writeOld();
    await migrate(openNew());
    close();
    // As a kill between both leaves it.
    const database = new DatabaseSync(at("check-history.db"));
    database.exec("INSERT INTO facts VALUES ('migrated', 1)");
    database.close();
    writeOld();
    const store = openNew();
    expect([store.oldRuns(), existsSync(oldFile())]).toEqual([undefined, false]);
    expectMigrated(store);
  });

  it("stay where the service stops in between", async () => {
    writeOld();
    const old = openNew().oldRuns();
    if (old === undefined) throw new Error("nothing to migrate");
    await migrateRuns({ old, clock: systemClock, signal: AbortSignal.abort() });
    expect([open?.transitions("a"), existsSync(oldFile())]).toEqual([[], true]);
  });

  it("stay where the new file cannot be written", async () => {
    writeOld();
    writeFileSync(at("check-history.db"), "");
    const database = new DatabaseSync(at("check-history.db"));
    database.exec("BEGIN EXCLUSIVE");
    const store = openNew();
    await expect(migrate(store)).rejects.toThrow("could not be opened");
    expect(existsSync(oldFile())).toBe(true);
    database.exec("ROLLBACK");
    database.close();
  });

  it("stay where their file cannot be opened at present", async () => {
    writeOld();
    const other = new DatabaseSync(oldFile());
    other.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT");
    expect(openNew().oldRuns()).toBeUndefined();
    expect([troubles, existsSync(oldFile())]).toEqual([[undefined], true]);
    other.close();
    const store = openNew();
    await migrate(store);
    expectMigrated(store);
  });

  it("are moved aside where the file is corrupt", () => {
    writeFileSync(oldFile(), "this is not a database, and was never one");
    expect(openNew().oldRuns()).toBeUndefined();
    expect([troubles, existsSync(oldFile())]).toEqual([[`${oldFile()}.damaged`], false]);
  });
});
