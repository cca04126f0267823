import type { LogEntry } from "#contract/log-entry.ts";
import type { LogList } from "#contract/logs.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import { runJournalctl } from "./programs.ts";

/** An entry as journalctl shows it. */
export interface KnownEntry {
  readonly entry: LogEntry;
  /** Microseconds since the epoch. */
  readonly realtime: number;
  /** Every value of every field, as text; bytes that are not UTF-8 are replaced. */
  readonly fields: ReadonlyMap<string, readonly string[]>;
}

/** Journal directory or file, as journalctl takes it. */
export type Source = readonly ["-D" | "--file", string];

const coredumpMessageId = "fc2e22bc6ee647b6b90729ab34a250b1";

const decodeBytes = (bytes: readonly unknown[]): string => Buffer.from(bytes.map(Number)).toString("utf8");

/** journalctl writes bytes that it does not take for printable text as numbers, and a repeated field as a list of its values. */
function decodeValues(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (!Array.isArray(value)) return [];
  if (value.every((each) => typeof each === "number")) return [decodeBytes(value)];
  return value.map((each) => (typeof each === "string" ? each : Array.isArray(each) ? decodeBytes(each) : ""));
}

const microsecondsAsTimestamp = (micros: number): string =>
  `${new Date(Math.floor(micros / 1000)).toISOString().slice(0, 19)}.${String(micros % 1_000_000).padStart(6, "0")}Z`;

/** The units that an entry is about or was written by, in this order, without slices. */
export function namedUnits(fields: KnownEntry["fields"]): readonly string[] {
  const has = (name: string, value: string): boolean => fields.get(name)?.includes(value) === true;
  return [
    ...(has("_TRANSPORT", "kernel") ? ["kernel"] : []),
    ...((has("_PID", "1") && fields.get("UNIT")) || []),
    ...((has("_UID", "0") && has("MESSAGE_ID", coredumpMessageId) && fields.get("COREDUMP_UNIT")) || []),
    ...((has("_UID", "0") && fields.get("OBJECT_SYSTEMD_UNIT")) || []),
    ...(fields.get("_SYSTEMD_UNIT") ?? []),
  ].filter((name) => name !== "");
}

/** The unit that the entry is about as systemd or root say, else the one that wrote it. */
const unitOf = (fields: KnownEntry["fields"]): string => namedUnits(fields)[0] ?? "";

function decodeEntry(line: string): KnownEntry {
  const fields = new Map(
    Object.entries(JSON.parse(line) as Record<string, unknown>).map(([name, value]) => [name, decodeValues(value)]),
  );
  const first = (name: string): string | undefined => fields.get(name)?.[0];
  const cursor = first("__CURSOR") ?? "";
  const realtime = Number(first("__REALTIME_TIMESTAMP"));
  const priority = first("PRIORITY") ?? "";
  const pid = first("_PID") ?? first("SYSLOG_PID") ?? "";
  return {
    realtime,
    fields,
    entry: {
      timestamp: microsecondsAsTimestamp(realtime),
      unit: unitOf(fields),
      priority: /^[0-7]$/.test(priority) ? Number(priority) : 6,
      message: first("MESSAGE") ?? "",
      cursor,
      identifier: first("SYSLOG_IDENTIFIER") ?? "",
      pid: /^\d+$/.test(pid) ? Number(pid) : null,
      hostname: first("_HOSTNAME") ?? "",
      boot_id: /;b=([0-9a-f]{32});/.exec(cursor)?.[1] ?? "",
    },
  };
}

/** Boot and time of an entry, but not which one of that time it is. */
const timestampOf = (cursor: string): string => cursor.replace(/^s=[^;]*;i=[^;]*;/, "").replace(/;x=.*$/, "");

/** Whether both stand in the same microsecond: of one boot also by its own clock, as one that was set back passes it twice. */
export function isSameTime(left: string, right: string): boolean {
  const [[boot, time], [otherBoot, otherTime]] = [left, right].map((cursor) => [
    /b=([^;]*)/.exec(cursor)?.[1],
    /t=([^;]*)/.exec(cursor)?.[1],
  ]) as [string[], string[]];
  return boot === otherBoot ? timestampOf(left) === timestampOf(right) : time === otherTime;
}

/** Sequence and number of an entry, so that text can be compared. */
function numberOf(cursor: string): string {
  const [, sequence = "", number = ""] = /^s=([^;]*);i=([^;]*);/.exec(cursor) ?? [];
  return sequence + number.padStart(16, "0");
}

/**
 * Puts what is of one microsecond into the order of sequences and numbers, the rest being in that of time. journalctl
 * orders it by content where it is of several files, which nobody can continue in: see README.md.
 */
function orderTies<T>(found: readonly T[], cursorOf: (one: T) => string): readonly T[] {
  const groups: T[][] = [];
  for (const one of found) {
    const group = groups.at(-1);
    if (group?.[0] !== undefined && isSameTime(cursorOf(group[0]), cursorOf(one))) group.push(one);
    else groups.push([one]);
  }
  const order = (left: T, right: T): number => (numberOf(cursorOf(left)) < numberOf(cursorOf(right)) ? -1 : 1);
  return groups.flatMap((group) => group.toSorted(order));
}

/** Everything that journalctl reads, in its order, but for {@link orderTies}. */
export function dumpJournal(source: Source): readonly KnownEntry[] {
  const { status, stdout, stderr } = runJournalctl([...source, "-o", "json", "--all", "--quiet"]);
  if (status !== 0) throw new Error(`cannot dump ${source[1]}: ${stderr}`);
  return orderTies(decodeLines(stdout).map(decodeEntry), ({ entry }) => entry.cursor);
}

/** Node refuses strings beyond half a gigabyte, so lines are cut out of the bytes. */
function decodeLines(output: Buffer): readonly string[] {
  const lines: string[] = [];
  for (let from = 0; from < output.length; ) {
    const end = output.indexOf(10, from);
    const to = end === -1 ? output.length : end;
    if (to > from) lines.push(output.toString("utf8", from, to));
    from = to + 1;
  }
  return lines;
}

/** fnmatch(3) with FNM_NOESCAPE, as far as unit names need it. */
function globToRegExp(glob: string): RegExp {
  const source = glob.replaceAll(
    /\[([!^]?)([^\]]+)\]|[\s\S]/g,
    (part: string, not: string, set: string | undefined) => {
      if (set !== undefined) return `[${not === "" ? "" : "^"}${set.replaceAll(/[\\\]^]/g, "\\$&")}]`;
      if (part === "*") return "[\\s\\S]*";
      if (part === "?") return "[\\s\\S]";
      return part.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
    },
  );
  return new RegExp(`^${source}$`, "u");
}

const isGlob = (unit: string): boolean => /[*?[]/.test(unit);

function bearsUnit({ fields }: KnownEntry, unit: string): boolean {
  const has = (name: string, value: string): boolean => fields.get(name)?.includes(value) === true;
  if (unit === "kernel") return has("_TRANSPORT", "kernel");
  const pattern = isGlob(unit) ? globToRegExp(unit) : undefined;
  const isNamed = (name: string, ending = ""): boolean =>
    fields
      .get(name)
      ?.some((value) => value.endsWith(ending) && (pattern === undefined ? value === unit : pattern.test(value))) ===
    true;
  return (
    isNamed("_SYSTEMD_UNIT") ||
    (has("_PID", "1") && isNamed("UNIT")) ||
    (has("_UID", "0") && has("MESSAGE_ID", coredumpMessageId) && isNamed("COREDUMP_UNIT")) ||
    (has("_UID", "0") && isNamed("OBJECT_SYSTEMD_UNIT")) ||
    isNamed("_SYSTEMD_SLICE", ".slice")
  );
}

/** Boots in the order of their first entries, as journals with sound clocks have them. */
function bootOf(query: LogQuery, all: readonly KnownEntry[]): string | undefined {
  if (query.boot === undefined || query.boot.length === 32) return query.boot;
  const boots = [...new Set(all.map(({ entry }) => entry.boot_id))];
  const offset = Number(query.boot);
  return boots[offset > 0 ? offset - 1 : boots.length - 1 + offset] ?? "";
}

/** The entries that a query asks for, in journal order, whatever its cursor and limit. */
export function matchingEntries(all: readonly KnownEntry[], query: LogQuery): readonly KnownEntry[] {
  const { since, until, units, priority, identifier, uid, grep } = query;
  const boot = bootOf(query, all);
  const severities =
    priority === undefined || priority === 7
      ? undefined
      : Array.from({ length: priority + 1 }, (_, severity) => String(severity));
  // Before a last line feed, too, is an end for PCRE2.
  const source = grep?.replaceAll("$", "(?=\\n?(?![^]))");
  const pattern = source === undefined ? undefined : new RegExp(source, /[A-Z]/.test(source) ? "" : "i");
  return all.filter(
    (each) =>
      each.realtime >= since &&
      each.realtime <= until &&
      (units === undefined || units.some((unit) => bearsUnit(each, unit))) &&
      (severities === undefined || each.fields.get("PRIORITY")?.some((value) => severities.includes(value)) === true) &&
      (identifier === undefined || each.fields.get("SYSLOG_IDENTIFIER")?.includes(identifier) === true) &&
      (uid === undefined || each.fields.get("_UID")?.includes(String(uid)) === true) &&
      (boot === undefined || each.fields.get("_BOOT_ID")?.includes(boot) === true) &&
      (pattern === undefined || (each.fields.has("MESSAGE") && pattern.test(each.entry.message))),
  );
}

/** Where a cursor stands among all entries: those before it, whether it is there, those after it. */
export interface CursorPosition {
  /** Number of entries of the journal before the cursor's. */
  readonly before: number;
  readonly isPresent: boolean;
}

/** What a page holds of the entries that match, and where the next one continues. */
export function pageOf(
  all: readonly KnownEntry[],
  query: LogQuery,
  position: CursorPosition | undefined,
  matching: readonly KnownEntry[] = matchingEntries(all, query),
): LogList {
  const index = new Map(all.map((each, at) => [each, at]));
  const at = (each: KnownEntry): number => index.get(each) ?? -1;
  const isAsc = query.order === "asc";
  const eligible =
    position === undefined
      ? matching
      : matching.filter((each) =>
          isAsc ? at(each) >= position.before + (position.isPresent ? 1 : 0) : at(each) < position.before,
        );
  const fromStart = isAsc && position !== undefined;
  const page = fromStart ? eligible.slice(0, query.limit) : eligible.slice(-query.limit);
  const logs = page.map(({ entry }) => entry);
  if (!isAsc) logs.reverse();
  const last = logs.at(-1)?.cursor;
  const hasOlder = eligible.length > page.length;
  return {
    logs,
    total: matching.length,
    next_cursor: isAsc ? (last ?? query.cursor ?? null) : hasOlder ? (last ?? null) : null,
  };
}

/** The window that leaves nothing out. */
export const always = { since: 0, until: 4_102_444_800_000_000 } as const;

const asAtTime = (micros: number): string =>
  `@${Math.floor(micros / 1_000_000)}.${String(micros % 1_000_000).padStart(6, "0")}`;

/** Nothing is said of an end that leaves nothing out: where clocks jump, journalctl would stop at the first entry beyond it. */
const windowOptions = ({ since, until }: LogQuery): readonly string[] => [
  ...(since === always.since ? [] : [`--since=${asAtTime(since)}`]),
  ...(until === always.until ? [] : [`--until=${asAtTime(until)}`]),
];

/** The options of journalctl that select what the query selects; its cursor, order and limit aside. */
function filterOptions({ units = [], priority, identifier, uid, boot, grep }: LogQuery): readonly string[] {
  const [only] = units;
  return [
    ...(units.length === 1 && only === "kernel" ? ["_TRANSPORT=kernel"] : units.map((unit) => `--unit=${unit}`)),
    ...(priority === undefined ? [] : [`--priority=${priority}`]),
    ...(identifier === undefined ? [] : [`--identifier=${identifier}`]),
    ...(uid === undefined ? [] : [`_UID=${uid}`]),
    ...(boot === undefined ? [] : [`--boot=${boot}`]),
    ...(grep === undefined ? [] : [`--grep=${grep}`]),
  ];
}

/** Whether journalctl has words for the query: it cannot ask for the kernel or a unit, and `--unit` makes no empty list. */
export const canAskJournalctl = ({ units }: LogQuery): boolean =>
  units === undefined || units.length === 1 || (units.length > 1 && !units.includes("kernel"));

/** Absent units of a pattern, and absent boots, are errors to journalctl; to a query they are filters that nothing passes. */
const nothingMatches = /No data available|is not available|No such boot ID/;

function askForCursors(source: Source, options: readonly string[]): readonly string[] {
  const { status, stdout, stderr } = runJournalctl([
    ...source,
    "-o",
    "json",
    "--quiet",
    "--output-fields=__CURSOR",
    ...options,
  ]);
  if (nothingMatches.test(stderr)) return [];
  // With --grep, finding nothing is exit 1 without a word but for files that are no journals.
  const complaint = stderr.replaceAll(/^Journal file .* ignoring file\.\n/gm, "");
  if (status !== 0 && (status !== 1 || complaint !== "")) {
    throw new Error(`cannot ask journalctl ${options.join(" ")}: exit ${status} ${stderr}`);
  }
  return decodeLines(stdout).map((line) => decodeEntry(line).entry.cursor);
}

/** The same oldest first, ties in our order. */
const askInOrder = (source: Source, options: readonly string[]): readonly string[] =>
  orderTies(askForCursors(source, options), (cursor) => cursor);

/** {@link matchingEntries} as journalctl itself filters, as cursors. */
export const askForMatching = (source: Source, query: LogQuery): readonly string[] =>
  askInOrder(source, [...filterOptions(query), ...windowOptions(query)]);

/**
 * The page as journalctl itself finds it, as cursors in the query's order.
 * `--since` and a cursor exclude each other, so a query with both is asked without the window and cut afterwards by `within`.
 */
export function askForPage(source: Source, query: LogQuery, within: (cursor: string) => boolean): readonly string[] {
  const { cursor, order, limit } = query;
  const options = filterOptions(query);
  const isDesc = order === "desc";
  if (cursor !== undefined) {
    // `--cursor` includes the entry itself. `--after-cursor` would skip one entry too many where the cursor's is gone or filtered out.
    const asked = askForCursors(source, [...options, `--cursor=${cursor}`, ...(isDesc ? ["--reverse"] : [])]);
    const found = orderTies(isDesc ? asked.toReversed() : asked, (each) => each);
    const beyond = (isDesc ? found.toReversed() : found).filter((each) => each !== cursor && within(each));
    return beyond.slice(0, limit);
  }
  // Cut here: of entries of one time journalctl would leave out others.
  const newest = askInOrder(source, [...options, ...windowOptions(query)]).slice(-limit);
  return isDesc ? newest.toReversed() : newest;
}

/** Where journalctl seeks for a cursor, be its entry there or gone; one that is gone shares its time with no other entry. */
export function positionOf(source: Source, all: readonly KnownEntry[], cursor: string): CursorPosition {
  const present = all.findIndex(({ entry }) => entry.cursor === cursor);
  if (present !== -1) return { before: present, isPresent: true };
  const [first] = askForCursors(source, [`--cursor=${cursor}`, "--lines=1"]);
  const found = all.find(({ entry }) => entry.cursor === first);
  // journalctl may begin with any entry of one time; all of them come after the cursor.
  const next = all.findIndex(
    ({ realtime, entry }) => realtime === found?.realtime && entry.boot_id === found.entry.boot_id,
  );
  return { before: next === -1 ? all.length : next, isPresent: false };
}
