import { readdirSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LogQuery } from "#domain/ports/journal.ts";
import { corpora, writeCorpus } from "../journals/corpora.ts";
import { boots, start } from "../journals/entries.ts";
import { incompatible, readHeaderField, writeHeaderField } from "../journals/file-header.ts";
import { all, ask, kind, readerOf } from "../journals/journalctl-reader.ts";
import { dumpJournal, type KnownEntry, matchingEntries, pageOf, positionOf } from "../journals/oracle.ts";
import { canMakeJournals } from "../journals/programs.ts";

/**
 * systemd writes LZ4 no more, so the files say in their headers that they hold what the native reader does not read;
 * journalctl, which knows LZ4, reads them.
 */
function claimLz4(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!/(^|\/)(system|user|loose)[^/]*\.journal~?$/.test(name)) continue;
    const path = join(folder, name);
    const flags = readHeaderField(path, "incompatibleFlags");
    writeHeaderField(path, "incompatibleFlags", flags | BigInt(incompatible.lz4));
  }
}

/**
 * Cursors of entries that were deleted together with their file, each from just before one that is there: their place is
 * known by boot and time alone, so not where time jumps.
 */
function goneCursors(entries: readonly KnownEntry[]): readonly string[] {
  const moments = new Set(entries.map(({ realtime }) => realtime));
  const earlier = (hex: string): string => (Number.parseInt(hex, 16) - 1).toString(16);
  return entries
    .filter(({ realtime }) => !moments.has(realtime - 1))
    .map(({ entry }) =>
      entry.cursor
        .replace(/^s=[0-9a-f]+/, `s=${"e".repeat(32)}`)
        .replaceAll(/(?<=;[mt]=)[0-9a-f]+/g, (hex) => earlier(hex)),
    );
}

/** Queries of all sorts, with moments and cursors that lie among the entries. */
function queriesOver(entries: readonly KnownEntry[], soundClocks: boolean): fc.Arbitrary<LogQuery> {
  const times = entries.length === 0 ? [start] : entries.map(({ realtime }) => realtime);
  const moment = fc
    .tuple(fc.constantFrom(...times), fc.constantFrom(-1, 0, 1))
    .map(([time, step]) => Math.max(0, time + step));
  const unit = fc.constantFrom(
    ...[
      "a.service",
      "b.service",
      "nginx.service",
      "system.slice",
      "user@1000.service",
      "dev-disk-by\\x2dlabel-a.mount",
    ],
    ...["absent.service", "app-*", "*.service", "web[.@]*", "k*", "z*", "kernel", "not a name", "getty@tty?.service"],
  );
  // Filters are rare: all of them at once would leave nothing to compare.
  const option = <T>(arbitrary: fc.Arbitrary<T>) =>
    fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
  const cursors = entries.map(({ entry }) => entry.cursor);
  const gone = soundClocks ? goneCursors(entries) : [];
  return fc.record({
    units: option(fc.array(unit, { maxLength: 3 })),
    since: fc.oneof(fc.constant(0), moment),
    until: fc.oneof(fc.constant(9e15), moment),
    priority: option(fc.integer({ min: 0, max: 7 })),
    identifier: option(fc.constantFrom("a", "nginx", "kernel", "", "app-1", "--help", "x\0y")),
    boot: option(fc.constantFrom(...boots, "0", "-1", "1", "2", "-9", "f".repeat(32), "nonsense")),
    grep: option(fc.constantFrom("request", "REQUEST", "^$", "1\\d ms", "\\Sx", "é", "a-\\-?")),
    cursor: fc.oneof(
      { weight: 1, arbitrary: fc.constant(undefined) },
      ...(cursors.length === 0 ? [] : [{ weight: 3, arbitrary: fc.constantFrom(...cursors) }]),
      ...(gone.length === 0 ? [] : [{ weight: 1, arbitrary: fc.constantFrom(...gone) }]),
    ),
    order: fc.constantFrom("asc" as const, "desc" as const),
    limit: fc.constantFrom(1, 2, 7, 50, 10_000),
  });
}

describe.runIf(canMakeJournals())("journalctl", () => {
  // Moments in a file that steps back by hours are beyond what journalctl finds; the queries there have no window.
  it.each(corpora.filter(({ name }) => !name.startsWith("many")))(
    "answers all queries over $name",
    async (corpus) => {
      const journals = writeCorpus(corpus, kind);
      try {
        claimLz4(journals.path);
        const known = dumpJournal(["-D", journals.path]);
        const reader = readerOf(journals.path);
        const queries = queriesOver(known, corpus.soundClocks).map((query) =>
          corpus.soundClocks ? query : { ...query, since: 0 },
        );
        const property = fc.asyncProperty(queries, async (query) => {
          const position =
            query.cursor === undefined ? undefined : positionOf(["-D", journals.path], known, query.cursor);
          // The expectation counts boots by their first entries, which a clock that jumps back turns round.
          fc.pre(corpus.soundClocks || query.boot === undefined || query.boot.length === 32);
          expect(await ask(reader, query)).toEqual(pageOf(known, query, position, expectedOf(known, query)));
        });
        await fc.assert(property, { numRuns: 40 });
      } finally {
        journals.remove();
      }
    },
    120_000,
  );

  it("finds units and the kernel together; the kernel by its name only", async () => {
    const [corpus] = corpora;
    if (corpus === undefined) throw new Error("there is no corpus");
    const journals = writeCorpus(corpus, kind);
    try {
      claimLz4(journals.path);
      const known = dumpJournal(["-D", journals.path]);
      const reader = readerOf(journals.path);
      for (const units of [["kernel"], ["kernel", "a.service"], ["*"], ["a.service", "[!a]*"]]) {
        const query = { ...all, units };
        const { total, ...page } = pageOf(known, query, undefined);
        expect(total).toBeGreaterThan(0);
        expect([units, await ask(reader, query)]).toEqual([units, { total, ...page }]);
      }
      expect(await ask(reader, { ...all, units: ["ker*"] })).toMatchObject({ logs: [], total: 0 });
    } finally {
      journals.remove();
    }
  });
});

/** What matches; no entry is of no unit, or of a boot that cannot be. */
function expectedOf(known: readonly KnownEntry[], query: LogQuery): readonly KnownEntry[] {
  if (query.boot === "nonsense") return [];
  return matchingEntries(known, query);
}
