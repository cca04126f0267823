import type { LogFacet } from "#contract/log-exploration.ts";
import type { FieldCountAnswer, FieldCountQuestion } from "./exploration.ts";
import { createFacet, maxFacetBytes } from "./facets.ts";
import { divide, emptyRow, toCounts } from "./histogram.ts";
import type { JournalRecord } from "./journalctl-entry.ts";

/** Values of a field, each once. */
function rawValues({ raw }: JournalRecord, name: string): readonly string[] {
  const values = raw().flatMap((field) => {
    if (field.name !== name) return [];
    const { text, base64 = "" } = field;
    return [text ?? Buffer.from(base64, "base64").toString("utf8")];
  });
  return [...new Set(values)];
}

/** The most severe one that the entry has. */
function levelOf(record: JournalRecord): number | undefined {
  const levels = rawValues(record, "PRIORITY").filter((text) => /^[0-7]$/.test(text));
  return levels.length === 0 ? undefined : Math.min(...levels.map(Number));
}

function valuesOf(record: JournalRecord, facet: LogFacet): readonly string[] {
  switch (facet) {
    case "unit":
      return [...new Set(record.namedUnits)];
    case "priority": {
      const level = levelOf(record);
      return level === undefined ? [] : [String(level)];
    }
    case "identifier":
      return rawValues(record, "SYSLOG_IDENTIFIER");
    case "hostname":
      return rawValues(record, "_HOSTNAME");
    case "boot":
      return [record.location.bootId];
    case "transport":
      return rawValues(record, "_TRANSPORT");
  }
}

/** Counts the entries that journalctl prints. */
export function createCounter(question: FieldCountQuestion): {
  readonly add: (record: JournalRecord) => void;
  readonly answer: () => FieldCountAnswer;
} {
  if (question.what === "histogram") {
    const { query } = question;
    const by = divide(query.since, query.until, query.buckets);
    const tally = new Map<number, number[]>();
    return {
      add(record) {
        const bucket = Math.floor(record.location.realtime / (by.seconds * 1_000_000));
        const row = tally.get(bucket) ?? emptyRow();
        tally.set(bucket, row);
        const level = levelOf(record);
        for (const index of level === undefined ? [0] : [0, level + 1]) row[index] = (row[index] ?? 0) + 1;
      },
      answer: () => ({ what: "histogram", counts: toCounts(query, by, tally) }),
    };
  }
  const { fields, limit } = question.query;
  const facets = fields.map((field) => ({ field, facet: createFacet(field) }));
  let total = 0;
  return {
    add(record) {
      total += 1;
      for (const { field, facet } of facets) {
        for (const value of valuesOf(record, field)) if (Buffer.byteLength(value) <= maxFacetBytes) facet.add(value, 1);
      }
    },
    answer: () => ({ what: "facets", counts: { total, facets: facets.map(({ facet }) => facet.answer(limit)) } }),
  };
}
