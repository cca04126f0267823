import {
  type Format,
  numberOrNull,
  openExpendable,
  type Row,
  type Statements,
  type StoreOptions,
} from "#adapters/sqlite/index.ts";
import { type CheckStatus, checkStatuses } from "#contract/checks.ts";
import type { OldRuns } from "#domain/health/history/migrate.ts";
import { combine } from "#domain/health/history/series.ts";
import type { CheckHistory, HistoryChanges, StoredHour, StoredRun } from "#domain/ports/check-history.ts";
import type { Dispose } from "#kernel/clock.ts";
import { orReport, toError } from "#kernel/errors.ts";
import { type OldFile, openOldRuns } from "./old-runs.ts";
import { decodeHour, decodeMinute, encodeHour, encodeMinute } from "./points.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

const checkRef = "(SELECT ref FROM checks WHERE id = ?)";

/** Hours and minutes are counted from the epoch, which takes half of the bytes of milliseconds. */
const format = {
  file: "check-history.db",
  version: 1,
  // A megabyte, which with the default would be four.
  walPages: 250,
  schema: `
    CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE checks (ref INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE) STRICT;
    CREATE TABLE states (
      check_id TEXT PRIMARY KEY, status TEXT NOT NULL, since INTEGER NOT NULL, consecutive_failures INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE runs (
      check_ref INTEGER NOT NULL, checked_at INTEGER NOT NULL, status TEXT NOT NULL, message TEXT NOT NULL,
      duration_ms INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE transitions (
      seq INTEGER PRIMARY KEY, check_ref INTEGER NOT NULL, checked_at INTEGER NOT NULL, status TEXT NOT NULL,
      message TEXT NOT NULL, duration_ms INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX transitions_of_check ON transitions (check_ref);
    CREATE TABLE hours (
      hour INTEGER NOT NULL, check_ref INTEGER NOT NULL, runs INTEGER NOT NULL, changes INTEGER NOT NULL,
      min_ms INTEGER NOT NULL, max_ms INTEGER NOT NULL, total_ms INTEGER NOT NULL, pass_ms INTEGER NOT NULL,
      warn_ms INTEGER NOT NULL, fail_ms INTEGER NOT NULL, skip_ms INTEGER NOT NULL, PRIMARY KEY (hour, check_ref)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE series (
      id INTEGER PRIMARY KEY, check_id TEXT NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL, seen_at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE minutes (minute INTEGER PRIMARY KEY, points BLOB NOT NULL) STRICT;
    CREATE TABLE point_hours (hour INTEGER PRIMARY KEY, points BLOB NOT NULL) STRICT;
  `,
  check: "SELECT * FROM states",
  statements: {
    readFact: "SELECT value FROM facts WHERE name = ?",
    forgetFact: "DELETE FROM facts WHERE name = ?",
    saveFact: "INSERT OR REPLACE INTO facts VALUES (?, ?)",
    addCheck: "INSERT OR IGNORE INTO checks (id) VALUES (?)",
    readState: "SELECT * FROM states WHERE check_id = ?",
    saveState: "INSERT OR REPLACE INTO states VALUES (?, ?, ?, ?)",
    takeState: "INSERT OR IGNORE INTO states VALUES (?, ?, ?, ?)",
    addRun: `INSERT INTO runs VALUES (${checkRef}, ?, ?, ?, ?)`,
    readRuns: `SELECT * FROM runs WHERE check_ref = ${checkRef} AND checked_at >= ? ORDER BY checked_at, rowid`,
    forgetRuns: "DELETE FROM runs WHERE checked_at < ?",
    firstTransition: "SELECT min(seq) AS seq FROM transitions",
    lastTransition: "SELECT max(seq) AS seq FROM transitions",
    addTransition: `INSERT INTO transitions VALUES (?, ${checkRef}, ?, ?, ?, ?)`,
    readTransitions: `SELECT * FROM transitions WHERE check_ref = ${checkRef} ORDER BY seq`,
    forgetTransitions: `DELETE FROM transitions WHERE checked_at < ?
      AND seq NOT IN (SELECT max(seq) FROM transitions GROUP BY check_ref)`,
    limitTransitions: `DELETE FROM transitions WHERE seq IN
      (SELECT seq FROM (SELECT seq, row_number() OVER (PARTITION BY check_ref ORDER BY seq DESC) AS place FROM transitions)
       WHERE place > ?)`,
    addHour: `INSERT INTO hours VALUES (?, ${checkRef}, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
      min_ms = CASE WHEN runs = 0 THEN excluded.min_ms WHEN excluded.runs = 0 THEN min_ms
        ELSE min(min_ms, excluded.min_ms) END,
      max_ms = max(max_ms, excluded.max_ms), total_ms = total_ms + excluded.total_ms,
      runs = runs + excluded.runs, changes = changes + excluded.changes, pass_ms = pass_ms + excluded.pass_ms,
      warn_ms = warn_ms + excluded.warn_ms, fail_ms = fail_ms + excluded.fail_ms, skip_ms = skip_ms + excluded.skip_ms`,
    readHours: `SELECT * FROM hours WHERE hour >= ? AND check_ref = ${checkRef} ORDER BY hour`,
    forgetHours: "DELETE FROM hours WHERE hour < ?",
    allSeries: "SELECT * FROM series ORDER BY id",
    saveSeries: "INSERT OR REPLACE INTO series VALUES (?, ?, ?, ?, ?)",
    forgetSeries: "DELETE FROM series WHERE seen_at < ?",
    readMinute: "SELECT points FROM minutes WHERE minute = ?",
    readMinutes: "SELECT * FROM minutes WHERE minute BETWEEN ? AND ? ORDER BY minute",
    saveMinute: "INSERT OR REPLACE INTO minutes VALUES (?, ?)",
    forgetMinutes: "DELETE FROM minutes WHERE minute < ?",
    readPointHour: "SELECT points FROM point_hours WHERE hour = ?",
    readPointHours: "SELECT * FROM point_hours WHERE hour BETWEEN ? AND ? ORDER BY hour",
    savePointHour: "INSERT OR REPLACE INTO point_hours VALUES (?, ?)",
    forgetPointHours: "DELETE FROM point_hours WHERE hour < ?",
  },
} satisfies Format;

type Prepared = Statements<keyof typeof format.statements>;

export interface SqliteCheckHistory extends CheckHistory {
  /** What an earlier version has left behind; undefined where there is nothing, or no file to write it to. */
  readonly oldRuns: () => OldRuns | undefined;
  readonly dispose: Dispose;
}

function statusOf(value: unknown): CheckStatus {
  const status = checkStatuses.find((each) => each === value);
  if (status === undefined) throw new Error(`cannot read the history: unknown status ${String(value)}`);
  return status;
}

const toRun = (row: Row): StoredRun => ({
  checkedAt: Number(row["checked_at"]),
  status: statusOf(row["status"]),
  message: String(row["message"]),
  durationMs: Number(row["duration_ms"]),
});

const toHour = (row: Row): StoredHour => ({
  hour: Number(row["hour"]) * hourMs,
  runs: Number(row["runs"]),
  changes: Number(row["changes"]),
  minMs: Number(row["min_ms"]),
  maxMs: Number(row["max_ms"]),
  totalMs: Number(row["total_ms"]),
  inStatus: {
    pass: Number(row["pass_ms"]),
    warn: Number(row["warn_ms"]),
    fail: Number(row["fail_ms"]),
    skip: Number(row["skip_ms"]),
  },
});

const bytesOf = (row: Row | undefined): Uint8Array => {
  const points = row?.["points"];
  return points instanceof Uint8Array ? points : new Uint8Array();
};

function addTransitions(prepared: Prepared, { transitions = new Map(), areEarlier = false }: HistoryChanges): void {
  const all = [...transitions].flatMap(([checkId, runs]) => runs.map((run) => ({ checkId, run })));
  if (all.length === 0) return;
  const first = numberOrNull(prepared.firstTransition.get()?.["seq"] ?? null) ?? 1;
  const last = numberOrNull(prepared.lastTransition.get()?.["seq"] ?? null) ?? 0;
  let seq = areEarlier ? Math.min(first, 1) - all.length : Math.max(last, 0) + 1;
  for (const { checkId, run } of all) {
    prepared.addTransition.run(seq, checkId, run.checkedAt, run.status, run.message, run.durationMs);
    seq += 1;
  }
}

function applyChanges(prepared: Prepared, changes: HistoryChanges): void {
  const { states = new Map(), runs = new Map(), transitions = new Map(), hours = new Map() } = changes;
  const ids = [...runs.keys(), ...transitions.keys(), ...hours.keys()];
  for (const id of new Set<string>(ids)) prepared.addCheck.run(id);
  for (const [id, { status, since, consecutiveFailures }] of states)
    prepared.saveState.run(id, status, since, consecutiveFailures);
  for (const [checkId, ofCheck] of runs)
    for (const { checkedAt, status, message, durationMs } of ofCheck)
      prepared.addRun.run(checkId, checkedAt, status, message, durationMs);
  if (changes.runsSince !== undefined) prepared.forgetRuns.run(changes.runsSince);
  addTransitions(prepared, changes);
  for (const [checkId, ofCheck] of hours) {
    for (const { hour, inStatus, ...each } of ofCheck) {
      const figures = [each.runs, each.changes, each.minMs, each.maxMs, each.totalMs];
      const { pass, warn, fail, skip } = inStatus;
      prepared.addHour.run(Math.floor(hour / hourMs), checkId, ...figures, pass, warn, fail, skip);
    }
  }
  if (changes.aliveUntil !== undefined) prepared.saveFact.run("alive_until", changes.aliveUntil);
}

function applyPoints(prepared: Prepared, { series = [], minutes, pointHours }: HistoryChanges): void {
  for (const { id, checkId, name, unit, seenAt } of series) prepared.saveSeries.run(id, checkId, name, unit, seenAt);
  for (const [at, points] of minutes ?? []) {
    const minute = Math.floor(at / minuteMs);
    const stored = decodeMinute(bytesOf(prepared.readMinute.get(minute)));
    prepared.saveMinute.run(minute, encodeMinute(new Map([...stored, ...points])));
  }
  for (const [at, points] of pointHours ?? []) {
    const hour = Math.floor(at / hourMs);
    const stored = decodeHour(bytesOf(prepared.readPointHour.get(hour)));
    for (const [id, point] of points) stored.set(id, combine(stored.get(id), point));
    prepared.savePointHour.run(hour, encodeHour(stored));
  }
}

function takeStates({ takeState }: Prepared, states: ReturnType<OldFile["states"]>): void {
  for (const [id, { status, since, consecutiveFailures }] of states)
    takeState.run(id, status, since, consecutiveFailures);
}

/** Opens the history in SQLite, with the last states that an earlier version has stored. */
export function openCheckHistory(options: StoreOptions): SqliteCheckHistory {
  const { use, run, keep, change, dispose } = openExpendable(format, options);
  const fact = (name: string): number | undefined => {
    const value = use(({ readFact }) => readFact.get(name)?.["value"]);
    return value === undefined ? undefined : Number(value);
  };
  const apply = (changes: HistoryChanges): void =>
    change((prepared) => {
      applyChanges(prepared, changes);
      applyPoints(prepared, changes);
    });

  const old = openOldRuns(options);
  const isMigrated = fact("migrated") !== undefined;
  const takeOver = (): void => {
    // It was killed between both.
    if (isMigrated) old?.remove();
    if (isMigrated) run("forgetFact", "migrated");
    if (old !== undefined && !isMigrated) change((prepared) => takeStates(prepared, old.states()));
  };
  // A full disk keeps no service from starting.
  orReport(takeOver, (error) => options.onTrouble(toError(error)));

  return {
    oldRuns: () =>
      old === undefined || isMigrated
        ? undefined
        : {
            read: old.read,
            replaceBy(changes) {
              change((prepared) => {
                applyChanges(prepared, changes);
                prepared.saveFact.run("migrated", 1);
              });
              // Also after a power cut there must be one of both.
              keep("saveFact", "migrated", 1);
              old.remove();
              run("forgetFact", "migrated");
            },
          },
    aliveUntil: () => fact("alive_until"),
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
    series: () =>
      use(({ allSeries }) =>
        allSeries.all().map((row) => ({
          id: Number(row["id"]),
          checkId: String(row["check_id"]),
          name: String(row["name"]),
          unit: String(row["unit"]),
          seenAt: Number(row["seen_at"]),
        })),
      ),
    apply,
    forget({ transitions, transitionsPerCheck, hours, minutes, pointHours, series }) {
      if (transitions !== undefined) run("forgetTransitions", transitions);
      if (transitionsPerCheck !== undefined) run("limitTransitions", transitionsPerCheck);
      if (hours !== undefined) run("forgetHours", Math.floor(hours / hourMs));
      if (minutes !== undefined) run("forgetMinutes", Math.floor(minutes / minuteMs));
      if (pointHours !== undefined) run("forgetPointHours", Math.floor(pointHours / hourMs));
      if (series !== undefined) run("forgetSeries", series);
    },
    runs: (id, since) => use(({ readRuns }) => readRuns.all(id, since).map(toRun)),
    transitions: (id) => use(({ readTransitions }) => readTransitions.all(id).map(toRun)),
    hours: (id, since) => use(({ readHours }) => readHours.all(Math.floor(since / hourMs), id).map(toHour)),
    minutes: (ids, since, until) =>
      use(({ readMinutes }) =>
        readMinutes
          .all(Math.ceil(since / minuteMs), Math.floor(until / minuteMs))
          .map((row) => [Number(row["minute"]) * minuteMs, decodeMinute(bytesOf(row), ids)] as const),
      ),
    pointHours: (ids, since, until) =>
      use(({ readPointHours }) =>
        readPointHours
          .all(Math.ceil(since / hourMs), Math.floor(until / hourMs))
          .map((row) => [Number(row["hour"]) * hourMs, decodeHour(bytesOf(row), ids)] as const),
      ),
    dispose() {
      old?.dispose();
      dispose();
    },
  };
}
