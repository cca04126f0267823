import { expect } from "vitest";
import { type LogFacet, logFacets } from "#contract/log-exploration.ts";
import type { LogCounts, LogFacetCounts, LogQuery } from "#domain/ports/journal.ts";
import { always, type KnownEntry, matchingEntries, namedUnits } from "./oracle.ts";
import { never, type Reader } from "./reader.ts";
import { expectTemplates } from "./template-counts.ts";

/** The most severe one that an entry has. */
function levelOf({ fields }: KnownEntry): number | undefined {
  const levels = (fields.get("PRIORITY") ?? []).filter((text) => /^[0-7]$/.test(text)).map(Number);
  return levels.length === 0 ? undefined : Math.min(...levels);
}

const fieldOf = { identifier: "SYSLOG_IDENTIFIER", hostname: "_HOSTNAME", boot: "_BOOT_ID", transport: "_TRANSPORT" };

function valuesOf(known: KnownEntry, facet: LogFacet): ReadonlySet<string> {
  if (facet === "unit") return new Set(namedUnits(known.fields));
  if (facet === "priority") return new Set([levelOf(known)].filter((level) => level !== undefined).map(String));
  return new Set(known.fields.get(fieldOf[facet]));
}

/** Counts of entries in the buckets of an answer. */
function bucketsOf(found: readonly KnownEntry[], { bucketSeconds, buckets }: LogCounts): LogCounts["buckets"] {
  const length = bucketSeconds * 1_000_000;
  return buckets.map(({ at }) => {
    const inside = found.filter(({ realtime }) => realtime >= at && realtime < at + length);
    const priorities = Array.from({ length: 8 }, (_, level) => inside.filter((each) => levelOf(each) === level).length);
    return { at, total: inside.length, priorities };
  });
}

function facetOf(found: readonly KnownEntry[], field: LogFacet): LogFacetCounts["facets"][number] {
  const counts = new Map<string, number>();
  for (const value of found.flatMap((each) => [...valuesOf(each, field)]))
    if (Buffer.byteLength(value) <= 1024) counts.set(value, (counts.get(value) ?? 0) + 1);
  const values = [...counts]
    .sort(([a, left], [b, right]) => right - left || (a < b ? -1 : 1))
    .map(([value, count]) => ({ value, count }));
  return { field, values, distinct: counts.size };
}

/** A histogram holds what is found of its window; without one, of all of its boot. */
async function expectHistogram(
  journal: Reader["journal"],
  all: readonly KnownEntry[],
  asked: { readonly query: LogQuery; readonly buckets: number; readonly isFitted: boolean },
): Promise<void> {
  const { query, buckets, isFitted } = asked;
  const found = matchingEntries(all, query);
  const counted = await journal.histogram({ ...query, buckets, isFitted: { since: isFitted, until: isFitted } }, never);
  expect([asked, counted.buckets]).toEqual([asked, bucketsOf(found, counted)]);
  expect([asked, counted.buckets.reduce((sum, { total }) => sum + total, 0)]).toEqual([asked, found.length]);
  expect(counted.buckets.length).toBeLessThanOrEqual(buckets);
}

/** Compares what is counted for the filters of a query with what journalctl's entries say. */
export async function expectCounts(
  journal: Reader["journal"],
  all: readonly KnownEntry[],
  asked: LogQuery,
  buckets: number,
  { hasCopies = false } = {},
): Promise<void> {
  // Nothing is counted of a user alone.
  const query = { ...asked, uid: undefined };
  await expectHistogram(journal, all, { query, buckets, isFitted: false });
  if (query.boot !== undefined)
    await expectHistogram(journal, all, { query: { ...query, ...always }, buckets, isFitted: true });
  const found = matchingEntries(all, query);
  const { total, facets } = await journal.facets({ ...query, fields: logFacets, limit: 100_000 }, never);
  expect([query, total]).toEqual([query, found.length]);
  for (const facet of facets) expect([query, facet]).toEqual([query, facetOf(found, facet.field)]);
  await expectTemplates(journal, all, query, hasCopies);
}
