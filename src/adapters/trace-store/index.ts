import { createHash } from "node:crypto";
import type { SQLOutputValue } from "node:sqlite";
import type { SpanOrigin, TraceSummary } from "#contract/traces.ts";
import {
  type Keeping,
  type KeptSpan,
  maxTraceBytes,
  maxTraceSpans,
  ownSource,
  type SpanGroup,
  type SpanSource,
  type TraceQuery,
} from "#domain/ports/traces.ts";
import { timestampOfUs } from "#domain/traces/span.ts";
import type { Dispose } from "#kernel/clock.ts";
import {
  type Format,
  openExpendable,
  type Row,
  type Statements as StatementsOf,
  type StoreOptions,
} from "../sqlite/index.ts";

/** `bucket`: a service with its own share. `named_at`: -1 once named by its root. Large rows need row ids. */
const roomLeft = 0.95;
const goTogether = 32;
const mostBuckets = 16;
/** A trace takes no more than this part of the room. */
const largestPart = 1 / 8;
const logBytes = 4 * 1024 * 1024;
const tooLarge = 1.25;

const format = {
  file: "traces.db",
  version: 2,
  givesUpTo: 1,
  schema: `
    CREATE TABLE traces (
      id INTEGER PRIMARY KEY, trace_id BLOB NOT NULL, source INTEGER NOT NULL, bucket TEXT NOT NULL, name TEXT NOT NULL, service TEXT NOT NULL,
      named_at INTEGER NOT NULL, start_us INTEGER NOT NULL, end_us INTEGER NOT NULL, spans INTEGER NOT NULL,
      errors INTEGER NOT NULL, bytes INTEGER NOT NULL, UNIQUE (trace_id, source)
    ) STRICT;
    CREATE INDEX traces_by_start ON traces (start_us);
    CREATE INDEX traces_by_share ON traces (source, bucket, id, bytes);
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
  statements: {
    limitLog: `PRAGMA journal_size_limit = ${logBytes}`,
    find: "SELECT * FROM traces WHERE trace_id = ? AND source = ?",
    partsOf: "SELECT * FROM traces WHERE trace_id = ? ORDER BY id",
    create: "INSERT INTO traces VALUES (NULL, ?, ?, ?, '', '', ?, ?, 0, 0, 0, 0)",
    describe: `UPDATE traces SET name = ?, service = ?, named_at = ?, start_us = ?, end_us = ?, spans = ?, errors = ?, bytes = ?
      WHERE id = ?`,
    addResource: "INSERT OR IGNORE INTO resources VALUES (?, ?, ?, ?)",
    addSpan: "INSERT OR IGNORE INTO spans VALUES (?, ?, ?, ?, ?)",
    pages: `SELECT page_count - freelist_count AS used, page_count AS total, page_size AS size
      FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
    shares: "SELECT source, bucket, sum(bytes) AS bytes FROM traces GROUP BY source, bucket",
    bucketsOf: "SELECT DISTINCT bucket FROM traces WHERE source = ?",
    oldestOf: `SELECT id, bytes FROM traces WHERE source = ? AND bucket = ? ORDER BY id LIMIT ${goTogether}`,
    forgetSpans: "DELETE FROM spans WHERE trace = ?",
    forgetResources: "DELETE FROM resources WHERE trace = ?",
    forgetTrace: "DELETE FROM traces WHERE id = ?",
    // Each trace by the part that began first.
    list: `SELECT trace_id FROM traces AS first WHERE start_us >= ? AND start_us <= ?
      AND (start_us < ? OR trace_id < ?)
      AND (SELECT max(end_us) FROM traces WHERE trace_id = first.trace_id) - start_us >= ?
      AND (? IS NULL OR EXISTS (SELECT 1 FROM traces JOIN resources ON resources.trace = traces.id
        WHERE trace_id = first.trace_id AND resources.service = ?))
      AND (? IS NULL OR EXISTS (SELECT 1 FROM traces WHERE trace_id = first.trace_id AND (source = ${ownSource}) = ?))
      AND NOT EXISTS (SELECT 1 FROM traces AS other WHERE other.trace_id = first.trace_id
        AND (other.start_us < first.start_us OR (other.start_us = first.start_us AND other.id < first.id)))
      ORDER BY start_us DESC, trace_id DESC LIMIT ?`,
    spansOf: `SELECT spans.json AS json, resources.json AS resource, source FROM traces JOIN spans ON spans.trace = traces.id
      JOIN resources ON resources.trace = traces.id AND resources.hash = spans.resource
      WHERE trace_id = ? ORDER BY spans.start_us, spans.span_id, traces.id`,
    vacuum: "VACUUM",
    checkpoint: "PRAGMA wal_checkpoint(TRUNCATE)",
  },
} satisfies Format;
type Statements = StatementsOf<keyof (typeof format)["statements"]>;

const hashOf = (text: string): number => createHash("sha256").update(text).digest().readUIntBE(0, 6);

const fromHex = (hex: string): Buffer => Buffer.from(hex, "hex");

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

function bucketsFor({ bucketsOf }: Statements, source: SpanSource): (service: string) => string {
  let known: Set<string> | undefined;
  return (service) => {
    known ??= new Set(bucketsOf.all(source).map(({ bucket }) => String(bucket)));
    const bucket = known.has(service) || known.size < mostBuckets ? service : "";
    known.add(bucket);
    return bucket;
  };
}

interface Origin {
  readonly source: SpanSource;
  readonly service: string;
  readonly bucketOf: (service: string) => string;
}

function openTally({ find, create }: Statements, { traceId, startUs }: KeptSpan, origin: Origin): Tally {
  const { source, service, bucketOf } = origin;
  const key = fromHex(traceId);
  const row = find.get(key, source);
  if (row !== undefined) return tallyOf(row);
  const { lastInsertRowid } = create.run(key, source, bucketOf(service), Number.MAX_SAFE_INTEGER, startUs);
  const unnamed = { name: "", service: "", namedAt: Number.MAX_SAFE_INTEGER };
  return { id: Number(lastInsertRowid), ...unnamed, startUs, endUs: 0, spans: 0, errors: 0, bytes: 0 };
}

function tallySpan(tally: Tally, span: KeptSpan, service: string, bytes: number): void {
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

function insert(
  statements: Statements,
  groups: readonly SpanGroup[],
  { source, traceBytes }: { readonly source: SpanSource; readonly traceBytes: number },
): Keeping {
  const tallies = new Map<string, Tally>();
  const bucketOf = bucketsFor(statements, source);
  let rejected = 0;
  let kept = 0;
  for (const { service, resource, spans } of groups) {
    const hash = hashOf(resource);
    const described = new Set<Tally>();
    for (const span of spans) {
      const tally = tallies.get(span.traceId) ?? openTally(statements, span, { source, service, bucketOf });
      tallies.set(span.traceId, tally);
      const bytes = span.json.length + (described.has(tally) ? 0 : resource.length);
      if (tally.spans >= maxTraceSpans || tally.bytes + bytes > traceBytes) {
        rejected += 1;
        continue;
      }
      kept += 1;
      const key = fromHex(span.spanId);
      // An exporter that got no answer sends a span again.
      if (statements.addSpan.run(tally.id, key, span.startUs, hash, span.json).changes === 0) continue;
      if (!described.has(tally)) statements.addResource.run(tally.id, hash, service, resource);
      described.add(tally);
      tallySpan(tally, span, service, bytes);
    }
  }
  for (const { id, name, service, namedAt, startUs, endUs, spans, errors, bytes } of tallies.values()) {
    if (spans === 0) forgetPart(statements, id);
    else statements.describe.run(name, service, namedAt, startUs, endUs, spans, errors, bytes, id);
  }
  return { kept, rejected };
}

function size({ pages }: Statements): { readonly used: number; readonly total: number } {
  const { used, total, size: pageBytes } = pages.get() ?? {};
  return { used: Number(used) * Number(pageBytes), total: Number(total) * Number(pageBytes) };
}

function forgetPart({ forgetSpans, forgetResources, forgetTrace }: Statements, id: number): void {
  for (const statement of [forgetSpans, forgetResources, forgetTrace]) statement.run(id);
}

function sharesOf({ shares }: Statements): Map<SpanSource, Map<string, number>> {
  const found = new Map<SpanSource, Map<string, number>>();
  for (const { source, bucket, bytes } of shares.all()) {
    const buckets = found.get(Number(source)) ?? new Map<string, number>();
    found.set(Number(source), buckets.set(String(bucket), Number(bytes)));
  }
  return found;
}

const totalOf = (buckets: ReadonlyMap<string, number>): number =>
  [...buckets.values()].reduce((sum, one) => sum + one, 0);

function largest<K, V>(entries: Iterable<readonly [K, V]>, size: (value: V) => number): readonly [K, V] | undefined {
  let found: readonly [K, V] | undefined;
  for (const entry of entries) if (found === undefined || size(entry[1]) > size(found[1])) found = entry;
  return found;
}

/** Lets traces go until there is room: always the oldest of the largest share of the source that has the most. */
function makeSpace(statements: Statements, keepBytes: number): void {
  if (size(statements).used <= keepBytes) return;
  const shares = sharesOf(statements);
  do {
    const [source, buckets] = largest(shares, totalOf) ?? [];
    const [bucket, bytes] = largest(buckets ?? [], (each) => each) ?? [];
    if (source === undefined || buckets === undefined || bucket === undefined || bytes === undefined) return;
    const oldest = statements.oldestOf.all(source, bucket);
    for (const { id } of oldest) forgetPart(statements, Number(id));
    const left = bytes - oldest.reduce((sum, row) => sum + Number(row["bytes"]), 0);
    if (oldest.length < goTogether) buckets.delete(bucket);
    else buckets.set(bucket, left);
    if (buckets.size === 0) shares.delete(source);
  } while (size(statements).used > keepBytes * roomLeft);
}

const originOf = (source: SQLOutputValue | undefined): SpanOrigin =>
  Number(source) === ownSource ? "own" : "received";

function summaryOf(id: SQLOutputValue | undefined, parts: readonly Row[]): TraceSummary {
  const tallies = parts.map((row) => ({ ...tallyOf(row), origin: originOf(row["source"]) }));
  const [named] = tallies.toSorted((one, other) => one.namedAt - other.namedAt);
  const startUs = Math.min(...tallies.map((part) => part.startUs));
  const endUs = Math.max(...tallies.map((part) => part.endUs));
  return {
    trace_id: id instanceof Uint8Array ? Buffer.from(id).toString("hex") : "",
    name: named?.name ?? "",
    service: named?.service ?? "",
    origin: named?.origin ?? "received",
    start: timestampOfUs(startUs),
    duration_ms: (endUs - startUs) / 1000,
    spans: tallies.reduce((sum, { spans }) => sum + spans, 0),
    errors: tallies.reduce((sum, { errors }) => sum + errors, 0),
  };
}

export interface SqliteTraces {
  readonly add: (groups: readonly SpanGroup[], source: SpanSource) => Keeping;
  readonly list: (query: TraceQuery) => readonly TraceSummary[];
  readonly trace: (traceId: string) => Uint8Array<ArrayBuffer> | undefined;
  readonly usedBytes: () => number;
  readonly dispose: Dispose;
}

/** @param options.keepBytes exceeded by one batch at most. */
export function openTraces(options: StoreOptions & { readonly keepBytes: number }): SqliteTraces {
  const { keepBytes } = options;
  const database = openExpendable(format, options);
  const traceBytes = Math.min(maxTraceBytes, keepBytes * largestPart);
  // It may have been allowed to be larger the last time.
  database.change((statements) => makeSpace(statements, keepBytes));
  database.use((statements) => {
    if (size(statements).total <= keepBytes * tooLarge) return;
    statements.vacuum.run();
    statements.checkpoint.all();
  });
  return {
    add(groups, source) {
      let keeping: Keeping = { kept: 0, rejected: 0 };
      database.change((statements) => {
        keeping = insert(statements, groups, { source, traceBytes });
        makeSpace(statements, keepBytes);
      });
      return keeping;
    },
    list: ({ service = null, origin, minDurationUs, sinceUs, after, limit }) => {
      const { startUs, traceId } = after ?? { startUs: Number.MAX_VALUE, traceId: "" };
      const isOwn = origin === undefined ? null : Number(origin === "own");
      return database.use(({ list, partsOf }) =>
        list
          .all(sinceUs, startUs, startUs, fromHex(traceId), minDurationUs, service, service, isOwn, isOwn, limit)
          .map(({ trace_id: id = null }) => summaryOf(id, partsOf.all(id))),
      );
    },
    trace: (traceId) =>
      database.use(({ spansOf }) => {
        const spans = spansOf
          .all(fromHex(traceId))
          .map(
            ({ json, resource, source }) =>
              `${String(json).slice(0, -1)},"origin":"${originOf(source)}","resource":${String(resource)}}`,
          );
        if (spans.length === 0) return undefined;
        return new Uint8Array(Buffer.from(`{"trace_id":"${traceId}","spans":[${spans.join(",")}]}`));
      }),
    usedBytes: () => database.use((statements) => size(statements).used),
    dispose: database.dispose,
  };
}
