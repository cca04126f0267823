import { createHash } from "node:crypto";
import { join } from "node:path";
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { type Format, openExpendable } from "#adapters/sqlite/index.ts";
import type { TraceSummary } from "#contract/traces.ts";
import type { Dispose } from "#domain/kernel/clock.ts";
import type { Keeping, KeptSpan, SpanGroup, TraceQuery } from "#domain/traces/ports.ts";
import { maxTraceBytes, maxTraceSpans } from "#domain/traces/ports.ts";
import { timestampOfUs } from "#domain/traces/time.ts";

const fileName = "traces.db";

/**
 * A trace has the number under which it arrived, and all that belongs to it bears that number: the oldest go by one range of
 * each table. Spans have row ids, since a row of a table without them takes a page of its own from a kilobyte on. `named_at` is -1 once its root has named it, else the start of the span that did.
 */
const format: Format = {
  version: 1,
  schema: `
    CREATE TABLE traces (
      id INTEGER PRIMARY KEY, trace_id BLOB NOT NULL UNIQUE, name TEXT NOT NULL, service TEXT NOT NULL,
      named_at INTEGER NOT NULL, start_us INTEGER NOT NULL, end_us INTEGER NOT NULL, spans INTEGER NOT NULL,
      errors INTEGER NOT NULL, bytes INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX traces_by_start ON traces (start_us);
    CREATE TABLE resources (
      trace INTEGER NOT NULL, hash INTEGER NOT NULL, service TEXT NOT NULL, json TEXT NOT NULL, PRIMARY KEY (trace, hash)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE spans (
      trace INTEGER NOT NULL, span_id BLOB NOT NULL, start_us INTEGER NOT NULL, resource INTEGER NOT NULL,
      json TEXT NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX spans_of_trace ON spans (trace, span_id);
  `,
  check: "SELECT * FROM traces ORDER BY id DESC LIMIT 1",
};

/** How full it is kept after something had to go, so that not every batch has to look for what goes. */
const roomLeft = 0.95;
/** Traces that go together. */
const goTogether = 32;
/** A trace takes no more than this part of the room. */
const largestPart = 1 / 8;
/** Bytes of the log that stay on disk once they are in the file. */
const logBytes = 4 * 1024 * 1024;
/** A file that is so many times as large as it may be is written anew when it is opened. */
const tooLarge = 1.25;

type Row = Readonly<Record<string, SQLOutputValue>>;

const prepare = (database: DatabaseSync) => {
  database.exec(`PRAGMA journal_size_limit = ${logBytes};`);
  return {
    find: database.prepare("SELECT * FROM traces WHERE trace_id = ?"),
    create: database.prepare("INSERT INTO traces VALUES (NULL, ?, '', '', ?, ?, 0, 0, 0, 0)"),
    describe: database.prepare(
      "UPDATE traces SET name = ?, service = ?, named_at = ?, start_us = ?, end_us = ?, spans = ?, errors = ?, bytes = ? WHERE id = ?",
    ),
    discard: database.prepare("DELETE FROM traces WHERE id = ?"),
    addResource: database.prepare("INSERT OR IGNORE INTO resources VALUES (?, ?, ?, ?)"),
    addSpan: database.prepare("INSERT OR IGNORE INTO spans VALUES (?, ?, ?, ?, ?)"),
    pages: database.prepare(
      "SELECT page_count - freelist_count AS used, page_count AS total, page_size AS size FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
    ),
    oldest: database.prepare(`SELECT max(id) AS id FROM (SELECT id FROM traces ORDER BY id LIMIT ${goTogether})`),
    forget: ["spans WHERE trace", "resources WHERE trace", "traces WHERE id"].map((what) =>
      database.prepare(`DELETE FROM ${what} <= ?`),
    ),
    list: database.prepare(
      `SELECT * FROM traces WHERE start_us >= ? AND end_us - start_us >= ?
        AND (? IS NULL OR EXISTS (SELECT 1 FROM resources WHERE trace = id AND resources.service = ?))
        ORDER BY start_us DESC, id DESC LIMIT ?`,
    ),
    spansOf: database.prepare(
      `SELECT spans.json AS json, resources.json AS resource FROM traces JOIN spans ON spans.trace = traces.id
        JOIN resources ON resources.trace = traces.id AND resources.hash = spans.resource
        WHERE trace_id = ? ORDER BY spans.start_us, spans.span_id`,
    ),
    shrink: () => database.exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);"),
  };
};
type Statements = ReturnType<typeof prepare>;

/** Tells resources apart: 48 bits of a hash, which a number can hold. */
const hashOf = (text: string): number => createHash("sha256").update(text).digest().readUIntBE(0, 6);

const bytesOf = (hex: string): Buffer => Buffer.from(hex, "hex");

/** What is known of a trace, and changes with each of its spans. */
interface Tally {
  readonly id: number;
  name: string;
  service: string;
  namedAt: number;
  startUs: number;
  endUs: number;
  spans: number;
  errors: number;
  bytes: number;
}

const tallyOf = (row: Row): Tally => ({
  id: Number(row["id"]),
  name: String(row["name"]),
  service: String(row["service"]),
  namedAt: Number(row["named_at"]),
  startUs: Number(row["start_us"]),
  endUs: Number(row["end_us"]),
  spans: Number(row["spans"]),
  errors: Number(row["errors"]),
  bytes: Number(row["bytes"]),
});

const namedByRoot = -1;

function openTally({ find, create }: Statements, traceId: string, { startUs }: KeptSpan): Tally {
  const key = bytesOf(traceId);
  const row = find.get(key);
  if (row !== undefined) return tallyOf(row);
  const { lastInsertRowid } = create.run(key, Number.MAX_SAFE_INTEGER, startUs);
  const unnamed = { name: "", service: "", namedAt: Number.MAX_SAFE_INTEGER };
  return { id: Number(lastInsertRowid), ...unnamed, startUs, endUs: 0, spans: 0, errors: 0, bytes: 0 };
}

function count(tally: Tally, span: KeptSpan, service: string, bytes: number): void {
  tally.spans += 1;
  tally.bytes += bytes;
  if (span.isError) tally.errors += 1;
  tally.startUs = Math.min(tally.startUs, span.startUs);
  tally.endUs = Math.max(tally.endUs, span.endUs);
  const rank = span.isRoot ? namedByRoot : span.startUs;
  if (rank >= tally.namedAt) return;
  tally.namedAt = rank;
  tally.name = span.name;
  tally.service = service;
}

/** Puts spans into the tables. */
function insert(statements: Statements, groups: readonly SpanGroup[], traceBytes: number): Keeping {
  const tallies = new Map<string, Tally>();
  let rejected = 0;
  let kept = 0;
  for (const { service, resource, spans } of groups) {
    const hash = hashOf(resource);
    const described = new Set<Tally>();
    for (const span of spans) {
      const tally = tallies.get(span.traceId) ?? openTally(statements, span.traceId, span);
      tallies.set(span.traceId, tally);
      const bytes = span.json.length + (described.has(tally) ? 0 : resource.length);
      if (tally.spans >= maxTraceSpans || tally.bytes + bytes > traceBytes) {
        rejected += 1;
        continue;
      }
      kept += 1;
      const key = bytesOf(span.spanId);
      // An exporter that got no answer sends a span again.
      if (statements.addSpan.run(tally.id, key, span.startUs, hash, span.json).changes === 0) continue;
      if (!described.has(tally)) statements.addResource.run(tally.id, hash, service, resource);
      described.add(tally);
      count(tally, span, service, bytes);
    }
  }
  for (const { id, name, service, namedAt, startUs, endUs, spans, errors, bytes } of tallies.values()) {
    if (spans === 0) statements.discard.run(id);
    else statements.describe.run(name, service, namedAt, startUs, endUs, spans, errors, bytes, id);
  }
  return { kept, rejected };
}

function size({ pages }: Statements): { readonly used: number; readonly total: number } {
  const { used, total, size: pageBytes } = pages.get() ?? {};
  return { used: Number(used) * Number(pageBytes), total: Number(total) * Number(pageBytes) };
}

/** Lets the oldest traces go until there is room. */
function makeRoom(statements: Statements, keepBytes: number): void {
  if (size(statements).used <= keepBytes) return;
  do {
    const oldest = statements.oldest.get()?.["id"];
    if (typeof oldest !== "number") return;
    for (const forget of statements.forget) forget.run(oldest);
  } while (size(statements).used > keepBytes * roomLeft);
}

const summaryOf = (row: Row): TraceSummary => {
  const { name, service, startUs, endUs, spans, errors } = tallyOf(row);
  const { trace_id: id } = row;
  return {
    trace_id: id instanceof Uint8Array ? Buffer.from(id).toString("hex") : "",
    name,
    service,
    start: timestampOfUs(startUs),
    duration_ms: (endUs - startUs) / 1000,
    spans,
    errors,
  };
};

/** Traces on disk. It works synchronously, in a thread of its own. */
export interface SqliteTraces {
  readonly add: (groups: readonly SpanGroup[]) => Keeping;
  readonly list: (query: TraceQuery) => readonly TraceSummary[];
  readonly trace: (traceId: string) => Uint8Array<ArrayBuffer> | undefined;
  /** Bytes that are taken. */
  readonly usedBytes: () => number;
  readonly dispose: Dispose;
}

/**
 * Opens the traces in the state folder, making the file when it is missing. They are worth less than a running service: a damaged
 * file is set aside, and where none can be written they are kept in memory.
 * @param options.keepBytes the file grows no further, but for what one batch takes.
 */
export function openTraces(options: {
  readonly stateDir: string;
  readonly keepBytes: number;
  readonly onTrouble: (error: Error, aside?: string) => void;
}): SqliteTraces {
  const { stateDir, keepBytes, onTrouble } = options;
  const database = openExpendable({ path: join(stateDir, fileName), format, prepare, onTrouble });
  const traceBytes = Math.min(maxTraceBytes, keepBytes * largestPart);
  // It may have been allowed to be larger the last time.
  database.change((statements) => makeRoom(statements, keepBytes));
  database.use((statements) => {
    if (size(statements).total > keepBytes * tooLarge) statements.shrink();
  });
  return {
    add(groups) {
      let keeping: Keeping = { kept: 0, rejected: 0 };
      database.change((statements) => {
        keeping = insert(statements, groups, traceBytes);
        makeRoom(statements, keepBytes);
      });
      return keeping;
    },
    list: ({ service = null, minDurationUs, sinceUs, limit }) =>
      database.use(({ list }) => list.all(sinceUs, minDurationUs, service, service, limit).map(summaryOf)),
    trace: (traceId) =>
      database.use(({ spansOf }) => {
        const spans = spansOf
          .all(bytesOf(traceId))
          .map(({ json, resource }) => `${String(json).slice(0, -1)},"resource":${String(resource)}}`);
        if (spans.length === 0) return undefined;
        return new Uint8Array(Buffer.from(`{"trace_id":"${traceId}","spans":[${spans.join(",")}]}`));
      }),
    usedBytes: () => database.use((statements) => size(statements).used),
    dispose: database.dispose,
  };
}
