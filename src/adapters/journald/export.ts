import { type ExportPart, type ExportQuery, JournalUnavailable, LogQueryRefused } from "#domain/ports/journal.ts";
import { resolveBoot } from "./boots.ts";
import { type ByteWriter, createByteWriter } from "./byte-writer.ts";
import { isHidden } from "./copies.ts";
import { createEntryExport, type EntryExport } from "./entry-export.ts";
import { compileGrep, fittingIn, searchFile } from "./grep-postings.ts";
import type { EntryList } from "./journal-file/entry-array.ts";
import { type Found, merge, type Run } from "./merge.ts";
import {
  comparePlaces,
  copyPlace,
  formatCursor,
  type Location,
  type Place,
  parseCursor,
  unknownPlace,
} from "./order.ts";
import type { Ordering } from "./ordering.ts";
import { countOf, offsetAt, type Postings } from "./postings.ts";
import { type Across, beyond, matchedOf } from "./query.ts";
import type { Source } from "./source.ts";

/** A part ends with the entry that fills it. Searching a file takes long, so that more is taken of it at a time. */
const [partBytes, searchedPartBytes] = [1024 * 1024, 4 * 1024 * 1024];
/** So long is searched for one part. */
const searchMs = 400;

interface Searched {
  readonly list: EntryList;
  readonly pattern: string;
  readonly offsets: Float64Array | undefined;
}

/** Searches of the last files, which the next part continues with. */
function createSearches() {
  let kept: readonly Searched[] = [];
  return (source: Source, pattern: string): Float64Array | undefined => {
    const list = source.all();
    const known = kept.find((each) => each.list === list && each.pattern === pattern);
    if (known !== undefined) return known.offsets;
    // A copy: the memory of a search is used for the next one.
    const offsets = searchFile(source, compileGrep(pattern))?.slice();
    kept = [{ list, pattern, offsets }, ...kept].slice(0, 2);
    return offsets;
  };
}

/** Writes parts of exports. */
export interface Exporter {
  readonly page: ByteWriter;
  readonly entries: EntryExport;
  readonly search: (source: Source, pattern: string) => Float64Array | undefined;
}

export function createExporter(): Exporter {
  const page = createByteWriter();
  return { page, entries: createEntryExport(page), search: createSearches() };
}

/** @throws JournalUnavailable where entries that an export has not come to are gone with their files. */
function requireFiles(position: ExportQuery["position"], sources: readonly Source[]): void {
  const there = new Set(sources.map(({ id }) => id));
  if (position?.files.every((id) => there.has(id)) === false)
    throw new JournalUnavailable("journald has removed files before all of their entries were exported");
}

/** What is left of the entries that fit, after those up to a place. */
const after = (runs: readonly Run[], place: Place, ordering: Ordering): readonly Run[] =>
  runs.map((run) => beyond(run, place, "asc", ordering)).filter(({ postings }) => countOf(postings) > 0);

interface Window {
  readonly runs: readonly Run[];
  /** Nothing after this place is in the runs' turn yet; undefined: all is. */
  readonly end: Place | undefined;
}

/**
 * The files that come next, so that no file is searched before the export comes to it: up to the end of the one that ends first.
 */
function nextFiles(runs: readonly Run[], { place }: Ordering): Window {
  const ends = runs.map(({ source, postings }) => place(source, offsetAt(postings, countOf(postings) - 1)));
  let end: Place | undefined;
  for (const each of ends) {
    if (each === undefined) return { runs, end: undefined };
    if (end === undefined || comparePlaces(each, end) < 0) end = each;
  }
  const isNear = ({ source, postings }: Run): boolean => {
    const first = place(source, offsetAt(postings, 0));
    return first === undefined || end === undefined || comparePlaces(first, end) <= 0;
  };
  return { runs: runs.filter(isNear), end };
}

/** Writes entries until a part is full. */
function createPart({ page, entries }: Exporter, query: ExportQuery, most: number, { copies }: Pick<Across, "copies">) {
  const write = entries.begin(query, query.position?.written);
  const last = unknownPlace();
  let written = query.position?.written;
  page.cut(0);
  return {
    /** The last entry that was written. */
    last,
    written: () => written,
    isFull: () => page.size() >= most,
    /** @returns whether there is space for more. */
    add(found: Found): boolean {
      if (isHidden(copies.get(found.source), found.offset)) return true;
      written = formatCursor(found.place);
      copyPlace(found.place, last);
      write(found, written);
      return page.size() < most;
    },
    end(): Uint8Array {
      const bytes = page.bytes();
      page.cut(0);
      return bytes;
    },
  };
}

/** Where an export begins, or continues. @throws LogQueryRefused */
function beginningOf({ cursor, position }: ExportQuery): Location | undefined {
  const text = position?.cursor ?? cursor;
  const place = text === undefined ? undefined : parseCursor(text);
  if (text !== undefined && place === undefined)
    throw new LogQueryRefused("cursor", "Must be the cursor of a log entry");
  return place;
}

/** Writes what comes next of all entries that match. @throws LogQueryRefused, JournalUnavailable */
export function answerExport(
  sources: readonly Source[],
  across: Across,
  query: ExportQuery,
  exporter: Exporter,
): Omit<ExportPart, "unread"> {
  const { copies, ordering } = across;
  const { grep, position } = query;
  if (grep !== undefined) compileGrep(grep);
  requireFiles(position, sources);
  const start = beginningOf(query);
  const boots =
    query.boot === undefined
      ? undefined
      : position?.boot === undefined
        ? resolveBoot(sources, query.boot, ordering)
        : [position.boot];
  const matched = matchedOf(sources, query, boots, across).filter(({ postings }) => countOf(postings) > 0);
  let runs: readonly Run[] = start === undefined ? matched : after(matched, ordering.locate(start), ordering);
  const part = createPart(exporter, query, grep === undefined ? partBytes : searchedPartBytes, { copies });
  const reached = unknownPlace();
  const endsAt = performance.now() + searchMs;
  while (runs.length > 0) {
    const { runs: near, end } = grep === undefined ? { runs, end: undefined } : nextFiles(runs, ordering);
    merge(
      grep === undefined ? near : near.map((run) => searched(run, grep, exporter)),
      "forwards",
      ordering,
      (found) => (end !== undefined && comparePlaces(found.place, end) > 0 ? false : part.add(found)),
    );
    if (!part.isFull() && end === undefined) runs = [];
    else {
      copyPlace(part.isFull() || end === undefined ? part.last : end, reached);
      runs = after(runs, reached, ordering);
    }
    if (part.isFull() || performance.now() > endsAt) break;
  }
  const written = part.written();
  const next = {
    cursor: formatCursor(reached),
    written,
    boot: boots?.[0],
    files: runs.map(({ source }) => source.id),
  };
  return { bytes: part.end(), written, next: runs.length === 0 ? undefined : next };
}

const searched = (run: Run, grep: string, { search }: Exporter): Run => {
  const postings: Postings = fittingIn(run, compileGrep(grep), () => search(run.source, grep));
  return { source: run.source, postings };
};
