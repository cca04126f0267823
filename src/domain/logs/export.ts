import { type UnreadFiles, unreadHeader } from "#contract/log-entry.ts";
import type { logs } from "#contract/logs.ts";
import { ByteStream, type Context, type Handlers } from "#contract/operation.ts";
import { checked, DomainError } from "#domain/common/error.ts";
import type { ExportPart, ExportQuery, JournalExport, JournalLists, LogFilters } from "#domain/ports/journal.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import type { AskedFilters } from "./exploration.ts";
import { journalMissing } from "./live-feed.ts";
import type { LogReader, Reading } from "./reader.ts";
import { requireCursor } from "./window.ts";

const mediaTypes = {
  journal: "application/vnd.fdo.journal",
  json: "application/x-ndjson",
  text: "text/plain; charset=utf-8",
} as const;

/** Each holds a part in memory for a client that may read slowly. */
const [exportsAtOnce, exportsPerOwner] = [8, 2];
const usualRetrySeconds = 5;

/** @returns how to take a place for an export, and how to give it back. */
function createPlaces() {
  const taken = new Map<string, number>();
  return (owner: string): Dispose => {
    const own = taken.get(owner) ?? 0;
    const all = [...taken.values()].reduce((sum, count) => sum + count, 0);
    if (own >= exportsPerOwner || all >= exportsAtOnce) {
      const whose = own >= exportsPerOwner ? `this key has ${own}` : `${all} are running`;
      throw new DomainError("RATE_LIMITED", `too many exports at once: ${whose} (wait for the end of one)`, {
        running: own >= exportsPerOwner ? own : all,
        retry_after_seconds: usualRetrySeconds,
      });
    }
    taken.set(owner, own + 1);
    return () => {
      const left = (taken.get(owner) ?? 1) - 1;
      if (left > 0) taken.set(owner, left);
      else taken.delete(owner);
    };
  };
}

/** How long to wait before a turn is asked for again; undefined for errors that waiting does not help. */
function retryAfterMs(error: unknown): number | undefined {
  if (!(error instanceof DomainError) || error.code !== "RATE_LIMITED") return undefined;
  return Number(error.details?.["retry_after_seconds"] ?? usualRetrySeconds) * 1000;
}

/** As `journalctl --show-cursor` ends. */
const cursorLine = (cursor: string): Uint8Array => new TextEncoder().encode(`-- cursor: ${cursor}\n`);

/** @throws DomainError where the answer lacks what its header does not say: its end would look like that of a complete one. */
function requireNamed({ unread }: ExportPart, named: ReadonlySet<string>): void {
  const late = unread.find(({ file }) => !named.has(file));
  if (late === undefined) return;
  throw new DomainError(
    "UNAVAILABLE",
    `cannot read all entries of ${late.file}: ${late.reason} (the export can be continued without them)`,
    { missing: "journal", retryable: true },
  );
}

/** Its characters as HTTP takes them in a header. */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Gives all that the journal has in a window. */
export function exportHandlers(ports: {
  readonly reader: LogReader;
  readonly journal: JournalExport & Pick<JournalLists, "missing">;
  readonly clock: Pick<Clock, "sleep">;
  readonly readingOf: (context: Context) => Reading;
  /** @throws DomainError for filters that are malformed, or name what the caller may not read. */
  readonly filtersOf: (query: AskedFilters & { readonly cursor?: string }, context: Context) => LogFilters;
}): Pick<Handlers<typeof logs>, "exportLogs"> {
  const { reader, journal, clock, readingOf, filtersOf } = ports;
  const takePlace = createPlaces();

  /** A part takes one turn, as a query does: between two parts it is that of others. */
  const partOf = (query: ExportQuery, reading: Reading): Promise<ExportPart> => {
    const work = (signal: AbortSignal): Promise<ExportPart> => journal.export(query, signal);
    return query.grep === undefined ? reader.ask(work, reading) : reader.search(work, reading);
  };

  /** The same of an export that has started, which other queries of its key may only delay. */
  async function nextPart(query: ExportQuery, reading: Reading): Promise<ExportPart> {
    for (;;) {
      try {
        return await partOf(query, reading);
      } catch (error) {
        const waitMs = retryAfterMs(error);
        if (waitMs === undefined || reading.signal.aborted) throw error;
        await clock.sleep(waitMs, reading.signal);
      }
    }
  }

  /** @throws DomainError where there is no journal: an export without entries would look like one of a journal that has none. */
  async function requireJournal(query: ExportQuery, reading: Reading): Promise<void> {
    const reason = await reader.ask((signal) => journal.missing(query, signal), reading);
    if (reason === undefined) return;
    const { code, message, details } = journalMissing(reason);
    throw new DomainError(code, message, { ...details });
  }

  /** @param onStarted is called with the files that cannot be read, before the first part. */
  async function* partsOf(
    query: ExportQuery,
    reading: Reading,
    onStarted: (unread: UnreadFiles) => void,
  ): AsyncGenerator<Uint8Array> {
    const leave = takePlace(reading.owner);
    try {
      let part = await partOf(query, reading);
      if (part.written === undefined && part.next === undefined) await requireJournal(query, reading);
      onStarted(part.unread);
      const named = new Set(part.unread.map(({ file }) => file));
      for (;;) {
        yield part.bytes;
        requireNamed(part, named);
        const { written, next } = part;
        if (next === undefined) {
          if (query.format === "text" && written !== undefined) yield cursorLine(written);
          return;
        }
        part = await nextPart({ ...query, position: next }, reading);
      }
    } finally {
      leave();
    }
  }

  return {
    async exportLogs({ query }, context) {
      const { cursor, format = "journal", all = false } = query;
      const [, filters] = checked(
        () => requireCursor("cursor", cursor),
        () => filtersOf(query, context),
      );
      const asked = { ...filters, format, all, cursor, position: undefined };
      let unread: UnreadFiles = [];
      const parts = partsOf(asked, readingOf(context), (files) => {
        unread = files;
      });
      const headers = () => (unread.length === 0 ? {} : { [unreadHeader]: asciiJson(unread) });
      return Promise.resolve(new ByteStream(mediaTypes[format], parts, headers));
    },
  };
}
