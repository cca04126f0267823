import { writeSync } from "node:fs";
import { createEngine } from "#adapters/journald/engine.ts";
import { logFacets } from "#contract/log-exploration.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import { answerOf, everything } from "./known.ts";

/* Queries a journal. A process of its own, whose heap is bounded: a reader that keeps too much takes only this process along. */

/** What to do, as JSON in the first argument. */
export interface BoundedRun {
  readonly directory: string;
  readonly queries: readonly Partial<LogQuery>[];
}

/** A line of output for each query. */
export interface BoundedAnswer {
  readonly total: number;
  readonly listed: number;
  /** How many entries the facets count, and how many identifiers they have. */
  readonly counted: number;
  readonly identifiers: number | null | undefined;
  /** How many entries the templates count, and the others together. */
  readonly ofTemplates: number;
  /** What all files together keep, as they count it. */
  readonly keptBytes: number;
  /** What buffers take, which are outside of the heap. */
  readonly bufferBytes: number;
}

function run({ directory, queries }: BoundedRun): void {
  const usage = new Int32Array(1);
  const engine = createEngine({ roots: [{ path: directory }], usage: { usage, place: 0 } });
  for (const query of queries) {
    const { total, logs } = answerOf(engine, { ...everything, limit: 1000, ...query });
    const filters = { ...everything, ...query };
    const { total: counted, facets } = engine.ask({
      what: "facets",
      query: { ...filters, fields: logFacets, limit: 10 },
    });
    const identifiers = facets.find(({ field }) => field === "identifier")?.distinct;
    const asked = { ...filters, limit: 1000, before: undefined, status: undefined };
    const ofTemplates = engine.ask({ what: "templates", query: asked }).total;
    const { arrayBuffers: bufferBytes } = process.memoryUsage();
    const kept = { counted, identifiers, ofTemplates };
    const answer: BoundedAnswer = { total, listed: logs.length, ...kept, keptBytes: usage[0] ?? 0, bufferBytes };
    writeSync(1, `${JSON.stringify(answer)}\n`);
  }
  engine.dispose();
}

run(JSON.parse(process.argv[2] ?? "") as BoundedRun);
