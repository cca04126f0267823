import { logWindowMs } from "#contract/limits.ts";
import { invalid, readTime } from "#domain/common/error.ts";
import { parseTimestamp } from "#kernel/clock.ts";

/** systemd takes no later one for a time: the year 3111. */
const latestMicros = 2 ** 55;

interface Timestamp {
  /** Whole microseconds since the epoch, rounded down. */
  readonly micros: number;
  /** Further decimals; may be empty. */
  readonly rest: string;
}

/** @throws DomainError for anything else than RFC 3339. */
function parseBound(field: "since" | "until", text: string): Timestamp {
  const millis = readTime(field, text);
  const decimals = /\.(\d+)/.exec(text)?.[1] ?? "";
  const seconds = Math.floor(millis / 1000);
  return {
    micros: seconds * 1_000_000 + Number(decimals.slice(0, 6).padEnd(6, "0")),
    rest: decimals.slice(6).replace(/0+$/, ""),
  };
}

const isAfter = (a: Timestamp, b: Timestamp): boolean =>
  a.micros === b.micros ? a.rest > b.rest : a.micros > b.micros;
const clamped = (micros: number): number => Math.min(Math.max(micros, 0), latestMicros);

/** Names of fields as a query has them. */
export const namesOf = (text: string): "all" | readonly string[] => (text === "*" ? "all" : text.split(","));

/** Microseconds since the epoch as RFC 3339, with all six decimals. */
export function timestampText(micros: number): string {
  const seconds = new Date(Math.floor(micros / 1_000_000) * 1000).toISOString().slice(0, 19);
  return `${seconds}.${String(Math.floor(micros % 1_000_000)).padStart(6, "0")}Z`;
}

/** @returns microseconds since the epoch; undefined for anything else than RFC 3339. */
export function readTimestamp(text: string): number | undefined {
  if (parseTimestamp(text) === undefined) return undefined;
  const { micros, rest } = parseBound("since", text);
  return clamped(micros + (rest === "" ? 0 : 1));
}

/** First and last time of a query, both included, in microseconds since the epoch. */
export interface LogWindow {
  /** One more than `until` when both lie between the same two microseconds: the window is empty. */
  readonly since: number;
  readonly until: number;
}

/**
 * The window of a query. It begins one hour ago, or at the epoch where cursor, entry, boot or compare say where to look, and ends now; one
 * entry may also be of a time to come.
 * @throws DomainError VALIDATION_ERROR when it ends before it begins.
 */
export function logWindow(
  query: Readonly<Partial<Record<"since" | "until" | "cursor" | "entry" | "boot" | "compare", string>>>,
  nowMs: number,
): LogWindow {
  const isPlaced = [query.cursor, query.entry, query.boot, query.compare].some((place) => place !== undefined);
  const earliest = isPlaced ? 0 : (nowMs - logWindowMs) * 1000;
  const since = query.since === undefined ? { micros: earliest, rest: "" } : parseBound("since", query.since);
  // The clock has milliseconds: entries of this one are included.
  const ending = query.entry === undefined ? nowMs * 1000 + 999 : latestMicros;
  const until = query.until === undefined ? { micros: ending, rest: "" } : parseBound("until", query.until);
  if (isAfter(since, until)) {
    const issue =
      query.since === undefined
        ? "Must be given: its default, one hour ago, is later than until"
        : "Must not be later than until";
    throw invalid("since", issue);
  }
  return { since: clamped(since.micros + (since.rest === "" ? 0 : 1)), until: clamped(until.micros) };
}

/** The parts of a cursor (sd_journal_get_cursor(3)). */
const parts: Readonly<Record<string, RegExp>> = {
  s: /^[0-9a-f]{32}$/i,
  i: /^[0-9a-f]{1,16}$/i,
  b: /^[0-9a-f]{32}$/i,
  m: /^[0-9a-f]{1,16}$/i,
  t: /^[0-9a-f]{1,16}$/i,
  x: /^[0-9a-f]{1,16}$/i,
};

/** @throws DomainError for a text that is not a cursor of journald. */
export function requireCursor(field: "cursor" | "entry", text: string | undefined): void {
  if (text !== undefined && !isCursor(text)) throw invalid(field, "Must be the cursor of a log entry");
}

/** Whether a text is a cursor of journald, with all six parts. */
function isCursor(text: string): boolean {
  const given = text.split(";").map((part) => [part.slice(0, 1), part] as const);
  const byName = new Map(given);
  const names = Object.keys(parts);
  if (given.length !== names.length || byName.size !== names.length) return false;
  return names.every((name) => {
    const part = byName.get(name);
    return part?.startsWith(`${name}=`) === true && parts[name]?.test(part.slice(2)) === true;
  });
}
