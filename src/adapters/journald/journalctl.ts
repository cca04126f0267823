import { statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { CommandExited, type ExecLines } from "#adapters/exec/index.ts";
import type { LogEntry } from "#contract/log-entry.ts";
import { isInNamespace } from "#domain/logs/namespace.ts";
import {
  anyEntries,
  JournalUnavailable,
  type LiveEntry,
  type LogQuery,
  LogQueryRefused,
} from "#domain/ports/journal.ts";
import { errorMessage, isNotFound } from "#kernel/errors.ts";
import { bootNumbered, isBootId, isBootNumber } from "./boots.ts";
import type { FieldCountAnswer, FieldCountQuestion } from "./exploration.ts";
import { createCounter } from "./journalctl-count.ts";
import { type JournalRecord, parseJournalctlLine, recordFields } from "./journalctl-entry.ts";
import { createListing } from "./journalctl-list.ts";
import { type Selection, selectEntries } from "./journalctl-options.ts";
import { createPage } from "./journalctl-page.ts";
import type { FileQuestion, ListAnswer } from "./lists.ts";
import { comparePlaces, formatCursor, type Location, type Place, parseCursor } from "./order.ts";
import { isAskedFor, narrowed } from "./query.ts";
import { createDirectories } from "./registry.ts";

export interface JournalctlOptions {
  readonly execLines: ExecLines;
  /** Read the journals below this folder, of all machines, instead of the host's. journalctl takes no more than one. */
  readonly directories?: readonly [directory: string];
  readonly machineId?: string;
  /** How long a query may take; a damaged file can keep journalctl busy for ever. */
  readonly queryTimeoutMs?: number;
  readonly restartDelayMs?: number;
}

export interface OneFile {
  readonly path: string;
  /**
   * Whether another file shows an entry of this one: it is neither listed nor counted then.
   * @param before those of the same moment that precede it in this file.
   */
  readonly isCopy: (location: Location, before: readonly Location[]) => boolean;
}

/** The journal as journalctl reads it: all kinds of file, several times slower than from the files themselves. */
export interface Journalctl {
  /**
   * @param only to read one file alone.
   * @returns the JSON of a LogList.
   * @throws LogQueryRefused when the query is at fault, JournalUnavailable when journalctl cannot be run or fails.
   */
  readonly query: (query: LogQuery, signal: AbortSignal, only?: OneFile) => Promise<Uint8Array>;
  /**
   * The same query with the id of the boot that it names by a number, counted over all files. `journalctl --boot` counts
   * otherwise where there are boots of several hosts: before systemd 255 it loses some of them.
   * @returns undefined where there is no such boot.
   * @throws JournalUnavailable when journalctl cannot be run or fails.
   */
  readonly resolveBoot: (query: LogQuery, signal: AbortSignal) => Promise<LogQuery | undefined>;
  /** @throws JournalUnavailable when journalctl cannot be run or fails. */
  readonly list: (question: FileQuestion, signal: AbortSignal) => Promise<ListAnswer>;
  /**
   * Counts entries in the window of the question.
   * @param only to read one file alone.
   * @throws LogQueryRefused when the query is at fault, JournalUnavailable when journalctl cannot be run or fails.
   */
  readonly count: (question: FieldCountQuestion, signal: AbortSignal, only?: OneFile) => Promise<FieldCountAnswer>;
  /**
   * Entries from now on, or from the first after the cursor. An entry whose JSON is over 64 MiB is left out.
   * @throws LogQueryRefused for a malformed cursor, JournalUnavailable when journalctl cannot be run or keeps failing.
   */
  readonly follow: (
    options: { readonly cursor: string | undefined },
    signal: AbortSignal,
  ) => AsyncGenerator<readonly LiveEntry[], void, undefined>;
}

const noFilters: LogQuery = { ...anyEntries, limit: 1 };

const defaultQueryTimeoutMs = 120_000;
const defaultRestartDelayMs = 1_000;
const maxFailures = 5;

/** A pattern that no unit fits is an error to journalctl; to a query it matches nothing. */
const nothingMatches = /^Failed to add filter for units: No data available$/m;

function asUnavailable(error: unknown): JournalUnavailable {
  const cause = { cause: error };
  if (error instanceof Error && isNotFound(error.cause)) {
    return new JournalUnavailable(
      "cannot read the journal: its files are of a kind that only journalctl reads, and journalctl is not there (install systemd's command line tools)",
      cause,
    );
  }
  const why = errorMessage(error);
  return new JournalUnavailable(
    `cannot read the journal: ${why} (see what \`journalctl --verify\` says; the service needs to be root or in the group systemd-journal)`,
    cause,
  );
}

function readCursor(text: string): Location {
  const location = parseCursor(text);
  if (location === undefined) throw new LogQueryRefused("cursor", "Must be the cursor of a log entry");
  return location;
}

const compareNumbers = (left: number, right: number): number => (left < right ? -1 : left > right ? 1 : 0);

const placeOf = ({ location }: Pick<JournalRecord, "location">): Place => ({ ...location, moment: location.realtime });

/** Within a boot also by its own clock, as one that was set back passes a moment twice. */
const isOfOneMoment = (left: Location, right: Location): boolean =>
  left.realtime === right.realtime && (left.monotonic === right.monotonic || left.bootId !== right.bootId);

/**
 * How journalctl compares entries: by sequence number where both come from one sequence, else by time since boot within one
 * boot, else by wall clock. It is no order over several files: two entries may each come before the other.
 */
function compareAsJournalctl(left: Location, right: Location): number {
  const bySequence = left.seqnumId === right.seqnumId ? compareNumbers(left.seqnum, right.seqnum) : 0;
  const byBoot = left.bootId === right.bootId ? compareNumbers(left.monotonic, right.monotonic) : 0;
  return bySequence || byBoot || comparePlaces(placeOf({ location: left }), placeOf({ location: right }));
}

interface Journal {
  readonly execLines: ExecLines;
  readonly directory: string | undefined;
  /** Instead of the directory. */
  readonly only?: OneFile;
  /** Those that are wanted, as of a query. */
  readonly namespace?: string | undefined;
  readonly scope: readonly string[];
  readonly timeoutMs: number;
  readonly restartDelayMs: number;
}

/** `--file` takes a pattern as of glob(3). */
const quoteGlob = (path: string): string => path.replaceAll(/[\\*?[\]]/g, "\\$&");

type Where = Pick<Journal, "directory" | "only" | "namespace">;

/** Of a directory journalctl takes no namespace: its files are named then. */
function placeOptions({ directory, only, namespace }: Where): readonly string[] {
  if (only !== undefined) return [`--file=${quoteGlob(only.path)}`];
  if (namespace === undefined) return directory === undefined ? [] : [`--directory=${directory}`];
  if (directory === undefined) return [`--namespace=${namespace}`];
  return filesIn(directory, namespace).map((path) => `--file=${quoteGlob(path)}`);
}

function filesIn(directory: string, wanted: string): readonly string[] {
  const listed = createDirectories([{ path: directory }], () => undefined).list();
  return listed.flatMap(({ path, namespace }) => (isInNamespace(wanted, namespace) ? [path] : []));
}

const argvOf = (journal: Where, more: readonly string[], hasAllFields = false): readonly [string, ...string[]] => [
  "journalctl",
  "--quiet",
  "--no-pager",
  "--output=json",
  "--all",
  ...(hasAllFields ? [] : [`--output-fields=${recordFields.join(",")}`]),
  ...placeOptions(journal),
  ...more,
];

/** journalctl fails where the directory is not there; an absent journal is an empty one. */
function isAbsent({ directory, only, namespace }: Where): boolean {
  const path = only?.path ?? directory;
  if (path === undefined) return false;
  if (only === undefined && namespace !== undefined && filesIn(path, namespace).length === 0) return true;
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

interface Read {
  readonly record: JournalRecord;
  /** Whether another file shows it. */
  readonly isCopy: boolean;
}

/**
 * The entries of a selection, those of one microsecond in the order of their places: journalctl has them in the order of their
 * content, which nobody can go on in.
 */
async function* readEntries(
  { execLines, timeoutMs, only, ...journal }: Journal,
  selection: Selection,
  { query, signal }: { readonly query: LogQuery; readonly signal: AbortSignal },
): AsyncGenerator<Read, void, undefined> {
  const isWanted = isAskedFor(query);
  let ties: JournalRecord[] = [];
  const ordered = (): readonly Read[] => {
    const before: Location[] = [];
    const read = ties
      .toSorted((left, right) => comparePlaces(placeOf(left), placeOf(right)))
      .map((record) => {
        const isCopy = only?.isCopy(record.location, before) === true;
        before.push(record.location);
        return { record, isCopy };
      });
    ties = [];
    return read;
  };
  const argv = argvOf(
    only === undefined ? journal : { ...journal, only },
    selection.options,
    query.fields !== undefined,
  );
  for await (const lines of execLines(argv, { signal, timeoutMs })) {
    for (const { bytes, isCut } of lines) {
      if (isCut) throw new LogQueryRefused("since", "An entry is over 64 MiB: choose a window without it");
      const record = parseJournalctlLine(bytes, query.entry?.offset);
      if (record === undefined || !selection.passes(record) || !isWanted(record.location)) continue;
      if (ties[0] !== undefined && !isOfOneMoment(ties[0].location, record.location)) yield* ordered();
      ties.push(record);
    }
  }
  yield* ordered();
}

async function scan(journal: Journal, asked: LogQuery, signal: AbortSignal): Promise<Buffer> {
  const query = narrowed(asked);
  const cursor = query.cursor === undefined ? undefined : readCursor(query.cursor);
  const selection = selectEntries(query);
  /** By comparison with the cursor, in case its entry is gone or does not match. */
  const ordered = createPage(query);
  if (selection === undefined || isAbsent(journal)) return ordered.write(0);
  const around = createPage(query);
  const named = cursor && formatCursor(cursor);
  const isForward = query.order === "asc";
  const isBeyond = (location: Location): boolean => {
    if (cursor === undefined) return true;
    const order = compareAsJournalctl(location, cursor);
    return isForward ? order > 0 : order < 0;
  };
  let isPassed = false;
  let total = 0;
  const shown = ({ live: { entry }, raw }: JournalRecord): LogEntry => withFields(entry, query.fields, raw);
  for await (const { record, isCopy } of readEntries(journal, selection, { query, signal })) {
    const isNamed = record.live.entry.cursor === named;
    if (isNamed) isPassed = true;
    if (isCopy) continue;
    total += 1;
    if (!isNamed && isForward === isPassed && named !== undefined) around.add(shown(record));
    if (!isPassed && isBeyond(record.location)) ordered.add(shown(record));
  }
  return (isPassed ? around : ordered).write(total);
}

function withFields(entry: LogEntry, wanted: LogQuery["fields"], raw: JournalRecord["raw"]): LogEntry {
  if (wanted === undefined) return entry;
  return { ...entry, fields: raw().filter(({ name }) => wanted === "all" || wanted.includes(name)) };
}

/** The ids of all boots, in the order of their first entries. */
async function listBoots(journal: Journal, signal: AbortSignal): Promise<readonly string[]> {
  const { execLines, timeoutMs } = journal;
  if (isAbsent(journal)) return [];
  const ids: string[] = [];
  const argv = ["journalctl", "--quiet", "--no-pager", "--field=_BOOT_ID", ...placeOptions(journal)] as const;
  for await (const lines of execLines(argv, { signal, timeoutMs })) {
    ids.push(...lines.map(({ bytes }) => bytes.toString("latin1")).filter(isBootId));
  }
  const firsts: (readonly [id: string, first: Place])[] = [];
  for (const id of ids) {
    const first = await firstOf(journal, [`_BOOT_ID=${id}`], signal);
    if (first !== undefined) firsts.push([id, first]);
  }
  return firsts.sort(([, left], [, right]) => comparePlaces(left, right)).map(([id]) => id);
}

async function firstOf(journal: Journal, matches: readonly string[], signal: AbortSignal): Promise<Place | undefined> {
  const { execLines, timeoutMs } = journal;
  let first: Place | undefined;
  for await (const lines of execLines(argvOf(journal, matches), { signal, timeoutMs })) {
    for (const { bytes } of lines) {
      const record = parseJournalctlLine(bytes);
      if (record === undefined) continue;
      const place = placeOf(record);
      // Of one moment journalctl has entries in an order of its own.
      if (first !== undefined && place.moment !== first.moment) return first;
      if (first === undefined || comparePlaces(place, first) < 0) first = place;
    }
  }
  return first;
}

async function resolveBoot(journal: Journal, asked: LogQuery, signal: AbortSignal): Promise<LogQuery | undefined> {
  if (asked.boot === undefined || !isBootNumber(asked.boot)) return asked;
  try {
    const boot = bootNumbered(await listBoots(journal, signal), Number(asked.boot));
    return boot === undefined ? undefined : { ...asked, boot };
  } catch (error) {
    signal.throwIfAborted();
    throw asUnavailable(error);
  }
}

/** Reads all entries: what journalctl itself lists is not of some units only. */
async function list(journal: Journal, question: FileQuestion, signal: AbortSignal): Promise<ListAnswer> {
  const { execLines, timeoutMs } = journal;
  const listing = createListing(question);
  const selection = selectEntries({ ...noFilters, units: question.units });
  try {
    if (selection === undefined || isAbsent(journal)) return listing.answer([]);
    const argv = argvOf(journal, selection.options, question.what !== "boots");
    for await (const lines of execLines(argv, { signal, timeoutMs })) {
      for (const { bytes } of lines) {
        const record = parseJournalctlLine(bytes);
        if (record !== undefined && selection.passes(record)) listing.add(record);
      }
    }
    return listing.answer(question.what === "boots" ? await listBoots(journal, signal) : []);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CommandExited && nothingMatches.test(error.stderr)) return listing.answer([]);
    throw asUnavailable(error);
  }
}

/** Reads all entries that match. */
async function count(journal: Journal, question: FieldCountQuestion, signal: AbortSignal): Promise<FieldCountAnswer> {
  const counter = createCounter(question);
  const query = { ...noFilters, ...question.query };
  try {
    const selection = selectEntries(query);
    if (selection === undefined || isAbsent(journal)) return counter.answer();
    for await (const { record, isCopy } of readEntries(journal, selection, { query, signal }))
      if (!isCopy) counter.add(record);
    return counter.answer();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof LogQueryRefused) throw error;
    if (error instanceof CommandExited && nothingMatches.test(error.stderr)) return counter.answer();
    throw asUnavailable(error);
  }
}

async function query(journal: Journal, asked: LogQuery, signal: AbortSignal): Promise<Uint8Array> {
  const named = await resolveBoot(journal, asked, signal);
  if (named === undefined) return createPage(asked).write(0);
  try {
    return await scan(journal, named, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof LogQueryRefused) throw error;
    if (error instanceof CommandExited && nothingMatches.test(error.stderr)) return createPage(asked).write(0);
    throw asUnavailable(error);
  }
}

async function newest(journal: Journal, signal: AbortSignal): Promise<string | undefined> {
  const { execLines, scope, timeoutMs } = journal;
  let cursor: string | undefined;
  for await (const lines of execLines(argvOf(journal, [...scope, "--lines=1"]), { signal, timeoutMs })) {
    for (const { bytes } of lines) cursor = parseJournalctlLine(bytes)?.live.entry.cursor ?? cursor;
  }
  return cursor;
}

async function* follow(
  journal: Journal,
  { cursor }: { readonly cursor: string | undefined },
  signal: AbortSignal,
): AsyncGenerator<readonly LiveEntry[], void, undefined> {
  const { execLines, scope, restartDelayMs } = journal;
  /** The last entry that was given. `--cursor` begins with it; `--after-cursor` passes over one more where it is gone. */
  let last = cursor === undefined ? undefined : formatCursor(readCursor(cursor));
  let knowsWhere = last !== undefined;
  let failures = 0;
  while (!signal.aborted) {
    try {
      if (isAbsent(journal)) {
        knowsWhere = true;
      } else {
        if (!knowsWhere) last = await newest(journal, signal);
        knowsWhere = true;
        const from = last;
        const start = from === undefined ? [] : [`--cursor=${from}`];
        for await (const lines of execLines(argvOf(journal, [...scope, "--follow", "--no-tail", ...start]), {
          signal,
        })) {
          failures = 0;
          const batch = lines
            .flatMap(({ bytes }) => parseJournalctlLine(bytes)?.live ?? [])
            .filter(({ entry }) => entry.cursor !== from);
          last = batch.at(-1)?.entry.cursor ?? last;
          if (batch.length > 0) yield batch;
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      if (failures >= maxFailures || (error instanceof Error && isNotFound(error.cause))) throw asUnavailable(error);
    }
    await delay(restartDelayMs, undefined, { signal }).catch(() => undefined);
  }
}

export function createJournalctl(options: JournalctlOptions): Journalctl {
  const { execLines, directories, machineId } = options;
  const journal: Journal = {
    execLines,
    directory: directories?.[0],
    // Without --merge, which adds other machines' entries, following is confined to the present boot, and fails where the
    // journal has none.
    scope: ["--merge", ...(machineId === undefined ? [] : [`_MACHINE_ID=${machineId}`])],
    timeoutMs: options.queryTimeoutMs ?? defaultQueryTimeoutMs,
    restartDelayMs: options.restartDelayMs ?? defaultRestartDelayMs,
  };
  const of = ({ namespace }: Pick<LogQuery, "namespace">, only?: OneFile): Journal => ({
    ...journal,
    namespace,
    ...(only !== undefined && { only }),
  });
  return {
    query: (asked, signal, only) => query(of(asked, only), asked, signal),
    resolveBoot: (asked, signal) => resolveBoot(of(asked), asked, signal),
    list: (question, signal) => list(of(question), question, signal),
    count: (question, signal, only) => count(of(question.query, only), question, signal),
    // Files that are named do not become more.
    follow: (from, signal) =>
      follow(of({ namespace: journal.directory === undefined ? "*" : undefined }), from, signal),
  };
}
