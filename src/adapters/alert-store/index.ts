import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { type Format, openExpendable } from "#adapters/sqlite/index.ts";
import { alertNames, notificationChannels, notificationKinds, notificationOutcomes } from "#contract/alerts.ts";
import type { AlertStore, StoredAlert, StoredSilence } from "#domain/ports/alerts.ts";
import type { NotificationStore, StoredComponent, StoredNotification } from "#domain/ports/notifications.ts";
import type { Dispose } from "#kernel/clock.ts";
import { isNumber, isString } from "#kernel/values.ts";

export type Row = Readonly<Record<string, unknown>>;

const oneOf = <T extends string>(names: readonly T[], value: unknown): T | undefined =>
  names.find((name) => name === value);

const numberOrNull = (value: unknown): number | null => (value === null ? null : Number(value));
const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);

const isTextList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === "string");

/** A list as JSON; undefined when it is none of what is wanted. */
function listOf<T>(text: unknown, isWanted: (value: unknown) => value is T): readonly T[] | undefined {
  try {
    const value: unknown = JSON.parse(String(text));
    return Array.isArray(value) && value.every(isWanted) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isFact = (value: unknown): value is readonly [string, string] => isTextList(value) && value.length === 2;

export function toNotification(row: Row): StoredNotification | undefined {
  const kind = oneOf(notificationKinds, row["kind"]);
  const channel = oneOf(notificationChannels, row["channel"]);
  const outcome = oneOf(notificationOutcomes, row["outcome"]);
  const to = listOf(row["recipients"], isString);
  const facts = listOf(row["facts"], isFact);
  if (kind === undefined || channel === undefined || outcome === undefined || to === undefined || facts === undefined)
    return undefined;
  const id = String(row["id"]);
  return {
    id,
    kind,
    subject: String(row["subject"]),
    channel,
    to,
    message: { id, at: Number(row["at"]), isGood: row["is_good"] === 1, title: String(row["title"]), facts },
    attempts: Number(row["attempts"]),
    outcome,
    error: textOrNull(row["error"]),
    endedAt: numberOrNull(row["ended_at"]),
  };
}

export function toComponent(row: Row): StoredComponent | undefined {
  const changeAgesMs = listOf(row["change_ages_ms"], isNumber);
  if (changeAgesMs === undefined) return undefined;
  return {
    name: String(row["name"]),
    isDown: row["is_down"] === 1,
    changeAgesMs,
    flaps: Number(row["flaps"]),
    untold: Number(row["untold"]),
    savedAt: Number(row["saved_at"]),
  };
}

export function toAlert(row: Row): StoredAlert | undefined {
  const name = oneOf(alertNames, row["name"]);
  if (name === undefined) return undefined;
  return {
    name,
    heldMs: numberOrNull(row["held_ms"]),
    isFiring: row["is_firing"] === 1,
    isToldFiring: row["is_told_firing"] === 1,
    sinceToldMs: Number(row["since_told_ms"]),
    groupMs: numberOrNull(row["group_ms"]),
    isFirstWait: row["is_first_wait"] === 1,
    savedAt: Number(row["saved_at"]),
  };
}

export function toSilence(row: Row): StoredSilence | undefined {
  const alert = oneOf(alertNames, row["alert"]);
  if (alert === undefined) return undefined;
  return {
    id: String(row["id"]),
    alert,
    until: Number(row["until"]),
    comment: String(row["comment"]),
    createdAt: Number(row["created_at"]),
    createdBy: String(row["created_by"]),
  };
}

const fileName = "alerts.db";

const format: Format = {
  version: 1,
  schema: `
    CREATE TABLE notifications (
      number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, subject TEXT NOT NULL,
      channel TEXT NOT NULL, recipients TEXT NOT NULL, at INTEGER NOT NULL, is_good INTEGER NOT NULL, title TEXT NOT NULL,
      facts TEXT NOT NULL, attempts INTEGER NOT NULL, outcome TEXT NOT NULL, error TEXT, ended_at INTEGER
    ) STRICT;
    CREATE TABLE components (
      name TEXT PRIMARY KEY, is_down INTEGER NOT NULL, change_ages_ms TEXT NOT NULL, flaps INTEGER NOT NULL,
      untold INTEGER NOT NULL, saved_at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE alerts (
      name TEXT PRIMARY KEY, held_ms REAL, is_firing INTEGER NOT NULL, is_told_firing INTEGER NOT NULL,
      since_told_ms REAL NOT NULL, group_ms REAL, is_first_wait INTEGER NOT NULL, saved_at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE silences (
      number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, alert TEXT NOT NULL, until INTEGER NOT NULL,
      comment TEXT NOT NULL, created_at INTEGER NOT NULL, created_by TEXT NOT NULL
    ) STRICT;
  `,
  check: "SELECT id FROM notifications",
};

export interface SqliteAlertStore {
  readonly alerts: AlertStore;
  readonly notifications: NotificationStore;
  readonly dispose: Dispose;
}

const prepareAlertStatements = (database: DatabaseSync) => ({
  notifications: database.prepare("SELECT * FROM notifications ORDER BY number"),
  saveNotification: database.prepare(`
    INSERT INTO notifications
      (id, kind, subject, channel, recipients, at, is_good, title, facts, attempts, outcome, error, ended_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET
      attempts = excluded.attempts, outcome = excluded.outcome, error = excluded.error, ended_at = excluded.ended_at`),
  forgetNotification: database.prepare("DELETE FROM notifications WHERE id = ?"),
  components: database.prepare("SELECT * FROM components ORDER BY name"),
  saveComponent: database.prepare("INSERT OR REPLACE INTO components VALUES (?, ?, ?, ?, ?, ?)"),
  forgetComponent: database.prepare("DELETE FROM components WHERE name = ?"),
  alerts: database.prepare("SELECT * FROM alerts ORDER BY name"),
  saveAlert: database.prepare("INSERT OR REPLACE INTO alerts VALUES (?, ?, ?, ?, ?, ?, ?, ?)"),
  forgetAlert: database.prepare("DELETE FROM alerts WHERE name = ?"),
  silences: database.prepare("SELECT * FROM silences ORDER BY number"),
  saveSilence: database.prepare(`
    INSERT INTO silences (id, alert, until, comment, created_at, created_by) VALUES (?, ?, ?, ?, ?, ?)`),
  forgetSilence: database.prepare("DELETE FROM silences WHERE id = ?"),
});

const readable = <T>(rows: readonly Row[], read: (row: Row) => T | undefined): readonly T[] =>
  rows.flatMap((row) => read(row) ?? []);

/**
 * Opens what is kept of alerts and notifications in the state folder, making it when it is missing. A damaged file is set
 * aside, and where none can be written it is kept in memory: a service that cannot remember whom it told still tells. Silences
 * are refused then: who made one was told that it lasts.
 * @param ports.onTrouble is told of either, with the path of the file that was set aside.
 */
export function openAlertStore(ports: {
  readonly stateDir: string;
  readonly onTrouble: (error: Error, aside?: string) => void;
}): SqliteAlertStore {
  const { stateDir, onTrouble } = ports;
  const database = openExpendable({
    path: join(stateDir, fileName),
    format,
    prepare: prepareAlertStatements,
    onTrouble,
  });

  const notifications: NotificationStore = {
    notifications: () => database.use((statements) => readable(statements.notifications.all(), toNotification)),
    saveNotification: ({ id, kind, subject, channel, to, message, attempts, outcome, error, endedAt }) =>
      database.use(({ saveNotification }) => {
        const { at, isGood, title, facts } = message;
        const about = [
          id,
          kind,
          subject,
          channel,
          JSON.stringify(to),
          at,
          Number(isGood),
          title,
          JSON.stringify(facts),
        ];
        saveNotification.run(...about, attempts, outcome, error, endedAt);
      }),
    forgetNotification: (id) =>
      database.use(({ forgetNotification }) => {
        forgetNotification.run(id);
      }),
    components: () => database.use((statements) => readable(statements.components.all(), toComponent)),
    saveComponent: ({ name, isDown, changeAgesMs, flaps, untold, savedAt }) =>
      database.use(({ saveComponent }) => {
        saveComponent.run(name, Number(isDown), JSON.stringify(changeAgesMs), flaps, untold, savedAt);
      }),
    forgetComponent: (name) =>
      database.use(({ forgetComponent }) => {
        forgetComponent.run(name);
      }),
  };

  const alerts: AlertStore = {
    alerts: () => database.use((statements) => readable(statements.alerts.all(), toAlert)),
    saveAlert: ({ name, heldMs, isFiring, isToldFiring, sinceToldMs, groupMs, isFirstWait, savedAt }) =>
      database.use(({ saveAlert }) => {
        const told = [Number(isFiring), Number(isToldFiring), sinceToldMs];
        saveAlert.run(name, heldMs, ...told, groupMs, Number(isFirstWait), savedAt);
      }),
    forgetAlert: (name) =>
      database.use(({ forgetAlert }) => {
        forgetAlert.run(name);
      }),
    silences: () => database.use((statements) => readable(statements.silences.all(), toSilence)),
    saveSilence: ({ id, alert, until, comment, createdAt, createdBy }) =>
      database.keep(({ saveSilence }) => {
        saveSilence.run(id, alert, until, comment, createdAt, createdBy);
      }),
    forgetSilence: (id) =>
      database.keep(({ forgetSilence }) => {
        forgetSilence.run(id);
      }),
  };

  return { alerts, notifications, dispose: database.dispose };
}
