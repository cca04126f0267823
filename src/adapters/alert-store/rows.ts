import { alertNames, notificationChannels, notificationKinds, notificationOutcomes } from "#contract/alerts.ts";
import type { StoredAlert, StoredSilence } from "#domain/ports/alerts.ts";
import type { StoredComponent, StoredNotification } from "#domain/ports/notifications.ts";
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
