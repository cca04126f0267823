import {
  type Format,
  numberOrNull,
  openExpendable,
  type Row,
  type StoreOptions,
  textOrNull,
} from "#adapters/sqlite/index.ts";
import {
  type AlertSeverity,
  alertNames,
  alertSeverities,
  notificationChannels,
  notificationKinds,
  notificationOutcomes,
} from "#contract/alerts.ts";
import type { AlertStore, Silenced, StoredAlert, StoredSilence } from "#domain/ports/alerts.ts";
import type {
  Message,
  NotificationStore,
  StoredCheck,
  StoredComponent,
  StoredNotification,
} from "#domain/ports/notifications.ts";
import type { Dispose } from "#kernel/clock.ts";
import { orElse } from "#kernel/errors.ts";
import { defined, isNumber, isRecord, isString } from "#kernel/values.ts";

const oneOf = <T extends string>(names: readonly T[], value: unknown): T | undefined =>
  names.find((name) => name === value);

const parsed = (text: unknown): unknown => orElse(() => JSON.parse(String(text)) as unknown, undefined);

const wantedList = <T>(value: unknown, isWanted: (value: unknown) => value is T): readonly T[] | undefined =>
  Array.isArray(value) && value.every(isWanted) ? value : undefined;

/** A list in JSON; undefined unless all its values are wanted. */
const listOf = <T>(text: unknown, isWanted: (value: unknown) => value is T): readonly T[] | undefined =>
  wantedList(parsed(text), isWanted);

const isFact = (value: unknown): value is readonly [string, string] =>
  Array.isArray(value) && value.length === 2 && value.every(isString);

/**
 * The facts, and the severity beside them where there is one: a column of its own would be another format of the file, which an
 * earlier version of the service moves aside with all silences in it.
 */
const factsText = ({ facts, severity }: Pick<Message, "facts" | "severity">): string =>
  JSON.stringify(severity === undefined ? facts : { facts, severity });

function toFacts(text: unknown): (Pick<Message, "facts"> & { readonly severity?: AlertSeverity }) | undefined {
  const value = parsed(text);
  const facts = wantedList(isRecord(value) ? value["facts"] : value, isFact);
  const severity = isRecord(value) ? oneOf(alertSeverities, value["severity"]) : undefined;
  return facts === undefined ? undefined : { facts, ...defined({ severity }) };
}

function toNotification(row: Row): StoredNotification | undefined {
  const kind = oneOf(notificationKinds, row["kind"]);
  const channel = oneOf(notificationChannels, row["channel"]);
  const outcome = oneOf(notificationOutcomes, row["outcome"]);
  const to = listOf(row["recipients"], isString);
  const facts = toFacts(row["facts"]);
  if (kind === undefined || channel === undefined || outcome === undefined || to === undefined || facts === undefined)
    return undefined;
  const id = String(row["id"]);
  return {
    id,
    kind,
    subject: String(row["subject"]),
    channel,
    to,
    message: { id, at: Number(row["at"]), isGood: row["is_good"] === 1, title: String(row["title"]), ...facts },
    attempts: Number(row["attempts"]),
    outcome,
    error: textOrNull(row["error"]),
    endedAt: numberOrNull(row["ended_at"]),
  };
}

function toComponent(row: Row): StoredComponent | undefined {
  const changeAgesMs = listOf(row["change_ages_ms"], isNumber);
  if (changeAgesMs === undefined) return undefined;
  return {
    name: String(row["name"]),
    isDown: row["is_down"] === 1,
    changeAgesMs,
    flaps: Number(row["flaps"]),
    pending: Number(row["untold"]),
    savedAt: Number(row["saved_at"]),
  };
}

const levels = ["pass", "warn", "fail"] as const;

function toCheck(row: Row): StoredCheck | undefined {
  const notified = oneOf(levels, row["told"]);
  const seen = oneOf(levels, row["seen"]);
  const notifiedAgesMs = listOf(row["told_ages_ms"], isNumber);
  if (notified === undefined || seen === undefined || notifiedAgesMs === undefined) return undefined;
  const { name, changes, saved_at: savedAt } = row;
  return { name: String(name), notified, seen, notifiedAgesMs, changes: Number(changes), savedAt: Number(savedAt) };
}

function toAlert(row: Row): StoredAlert | undefined {
  const name = oneOf(alertNames, row["name"]);
  if (name === undefined) return undefined;
  return {
    name,
    heldMs: numberOrNull(row["held_ms"]),
    isFiring: row["is_firing"] === 1,
    isNotifiedFiring: row["is_told_firing"] === 1,
    sinceNotifiedMs: Number(row["since_told_ms"]),
    groupMs: numberOrNull(row["group_ms"]),
    isFirstWait: row["is_first_wait"] === 1,
    savedAt: Number(row["saved_at"]),
  };
}

/** In the column of alerts, whose names have no colon: where earlier versions of the service ignore it. */
const checkPrefix = "check:";

function toSilenced(text: string): Silenced | undefined {
  const alert = oneOf(alertNames, text);
  if (alert !== undefined) return { alert };
  return text.startsWith(checkPrefix) ? { check: text.slice(checkPrefix.length) } : undefined;
}

function toSilence(row: Row): StoredSilence | undefined {
  const silenced = toSilenced(String(row["alert"]));
  if (silenced === undefined) return undefined;
  return {
    ...silenced,
    id: String(row["id"]),
    until: Number(row["until"]),
    comment: String(row["comment"]),
    createdAt: Number(row["created_at"]),
    createdBy: String(row["created_by"]),
  };
}

const format = {
  file: "alerts.db",
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
  additions: `
    CREATE TABLE IF NOT EXISTS checks (
      name TEXT PRIMARY KEY, told TEXT NOT NULL, seen TEXT NOT NULL, told_ages_ms TEXT NOT NULL, changes INTEGER NOT NULL,
      saved_at INTEGER NOT NULL
    ) STRICT;
  `,
  check: "SELECT id FROM notifications",
  statements: {
    notifications: "SELECT * FROM notifications ORDER BY number",
    saveNotification: `
      INSERT INTO notifications
        (id, kind, subject, channel, recipients, at, is_good, title, facts, attempts, outcome, error, ended_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET
        subject = excluded.subject, title = excluded.title, facts = excluded.facts,
        attempts = excluded.attempts, outcome = excluded.outcome, error = excluded.error, ended_at = excluded.ended_at`,
    forgetNotification: "DELETE FROM notifications WHERE id = ?",
    components: "SELECT * FROM components ORDER BY name",
    saveComponent: "INSERT OR REPLACE INTO components VALUES (?, ?, ?, ?, ?, ?)",
    forgetComponent: "DELETE FROM components WHERE name = ?",
    checks: "SELECT * FROM checks ORDER BY name",
    saveCheck: "INSERT OR REPLACE INTO checks VALUES (?, ?, ?, ?, ?, ?)",
    alerts: "SELECT * FROM alerts ORDER BY name",
    saveAlert: "INSERT OR REPLACE INTO alerts VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    forgetAlert: "DELETE FROM alerts WHERE name = ?",
    silences: "SELECT * FROM silences ORDER BY number",
    saveSilence: "INSERT INTO silences (id, alert, until, comment, created_at, created_by) VALUES (?, ?, ?, ?, ?, ?)",
    forgetSilence: "DELETE FROM silences WHERE id = ?",
  },
} satisfies Format;

export interface SqliteAlertStore {
  readonly alerts: AlertStore;
  readonly notifications: NotificationStore;
  readonly dispose: Dispose;
}

/**
 * Opens what is stored of alerts and notifications in the state directory, making it when it is missing. While there is only memory,
 * notifications are still sent, but silences are refused: anyone who made one got the answer that it lasts.
 */
export function openAlertStore(options: StoreOptions): SqliteAlertStore {
  const { use, run, keep, change, dispose } = openExpendable(format, options);
  const list = <T>(
    name: "notifications" | "components" | "checks" | "alerts" | "silences",
    read: (row: Row) => T | undefined,
  ) => use((statements) => statements[name].all().flatMap((row) => read(row) ?? []));

  return {
    notifications: {
      notifications: () => list("notifications", toNotification),
      saveNotification({ id, kind, subject, channel, to, message, attempts, outcome, error, endedAt }) {
        const { at, isGood, title } = message;
        const about = [id, kind, subject, channel, JSON.stringify(to)];
        const notified = [at, Number(isGood), title, factsText(message)];
        run("saveNotification", ...about, ...notified, attempts, outcome, error, endedAt);
      },
      forgetNotification: (id) => run("forgetNotification", id),
      components: () => list("components", toComponent),
      saveComponent: ({ name, isDown, changeAgesMs, flaps, pending, savedAt }) =>
        run("saveComponent", name, Number(isDown), JSON.stringify(changeAgesMs), flaps, pending, savedAt),
      forgetComponent: (name) => run("forgetComponent", name),
      checks: () => list("checks", toCheck),
      saveCheck: ({ name, notified, seen, notifiedAgesMs, changes, savedAt }) =>
        run("saveCheck", name, notified, seen, JSON.stringify(notifiedAgesMs), changes, savedAt),
      together: change,
    },
    alerts: {
      alerts: () => list("alerts", toAlert),
      saveAlert({ name, heldMs, isFiring, isNotifiedFiring, sinceNotifiedMs, groupMs, isFirstWait, savedAt }) {
        const notified = [Number(isFiring), Number(isNotifiedFiring), sinceNotifiedMs];
        run("saveAlert", name, heldMs, ...notified, groupMs, Number(isFirstWait), savedAt);
      },
      forgetAlert: (name) => run("forgetAlert", name),
      silences: () => list("silences", toSilence),
      saveSilence: ({ id, alert, check = "", until, comment, createdAt, createdBy }) =>
        keep("saveSilence", id, alert ?? `${checkPrefix}${check}`, until, comment, createdAt, createdBy),
      forgetSilence: (id) => keep("forgetSilence", id),
    },
    dispose,
  };
}
