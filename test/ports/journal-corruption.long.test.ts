import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createEngine } from "#adapters/journald/engine.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import { fileKinds } from "../journals/corpora.ts";
import { boots, everyday, machines, messageEntries, specialEntries, start, timed } from "../journals/entries.ts";
import { encodeEntry } from "../journals/export-format.ts";
import { readFixture } from "../journals/fixture-files.ts";
import { answerOf, everything } from "../journals/known.ts";
import { anatomyOf, createMutator } from "../journals/mutations.ts";
import { appendToJournal, canMakeJournals, runJournalctl } from "../journals/programs.ts";
import { createRandom } from "../support/random.ts";
import { seed } from "../support/seed.ts";

const damagesEach = 500;
const comparedEach = 8;
/** Of this process, which has loaded the test runner too. */
const maxResidentBytes = 900 * 2 ** 20;
const [intactKind] = fileKinds;

function writeVictim(path: string, kind: (typeof fileKinds)[number]): void {
  const random = createRandom(fileKinds.indexOf(kind));
  const [firstBoot = "", secondBoot = ""] = boots;
  const clock = { bootId: firstBoot, realtime: start, monotonic: 1 };
  const later = { bootId: secondBoot, realtime: start + 86_400_000_000, monotonic: 1 };
  // The messages of a megabyte stay out: they would make every query slow.
  const odd = [...specialEntries, ...messageEntries].filter((fields) =>
    fields.every(([, value]) => value.length < 100_000),
  );
  appendToJournal(path, kind, [...everyday(random, clock, 300), ...timed(random, later, odd)].map(encodeEntry));
}

const victims: readonly (readonly [name: string, write: (path: string) => void])[] = [
  ...fileKinds.slice(0, 4).map((kind) => [kind.name, (path: string) => writeVictim(path, kind)] as const),
  ...["lz4", "xz-compact"].map(
    (name) => [`by systemd 257, ${name}`, (path: string) => writeFileSync(path, readFixture(name))] as const,
  ),
];

function queriesFor(cursors: readonly string[]): readonly LogQuery[] {
  const at = (part: number): string => cursors[Math.floor(cursors.length * part)] ?? "";
  const timestampAt = (part: number): number => Number.parseInt(/;t=([0-9a-f]+)/.exec(at(part))?.[1] ?? "0", 16);
  const [since, until, cursor] = [timestampAt(0.3), timestampAt(0.8), at(0.5)];
  return [
    { ...everything, order: "desc", limit: 20 },
    { ...everything, limit: 5, priority: 4 },
    { ...everything, limit: 100, units: ["a.service", "app-?.service"], since, until },
    { ...everything, limit: 10, cursor, order: "desc" },
    { ...everything, limit: 10, cursor, identifier: "nginx" },
    { ...everything, limit: 10, boot: "-1" },
    { ...everything, limit: 10, grep: "took [0-9]5", until },
  ];
}

const newestFirst: LogQuery = { ...everything, order: "desc" };

/** What journalctl is asked beside us, with the same meaning. */
const compared: readonly (readonly [query: LogQuery, options: readonly string[]])[] = [
  [newestFirst, []],
  [{ ...newestFirst, units: ["a.service"] }, ["--unit=a.service"]],
  [{ ...newestFirst, priority: 3 }, ["--priority=3"]],
];

function cursorsByJournalctl(path: string, options: readonly string[]): readonly string[] {
  const args = ["--file", path, "-o", "json", "--quiet", "--output-fields=__CURSOR", ...options];
  const { stdout } = runJournalctl(args, { timeoutMs: 10_000 });
  return [...stdout.toString("latin1").matchAll(/"__CURSOR":"([^"]*)"/g)].map(([, cursor = ""]) => cursor);
}

/** That a reader ends, after work that the size of the file bounds, the fuzzer shows (test/fuzz, journal-file). */
describe.skipIf(!canMakeJournals())("a damaged journal file", () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "steward-damage-"));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it.each(victims)("loses no entry that journalctl reads, and none of the file beside it: %s", (name, write) => {
    const nth = victims.findIndex(([each]) => each === name);
    const path = join(directory, String(nth));
    const [victim, beside] = [join(path, "victim.journal"), join(path, "intact.journal")];
    mkdirSync(path);
    write(victim);
    const clock = { bootId: machines[0] ?? "", realtime: start + 1, monotonic: 1 };
    appendToJournal(beside, intactKind, everyday(createRandom(nth), clock, 50).map(encodeEntry));
    const intact = readFileSync(victim);
    const mutate = createMutator(anatomyOf(intact));
    const ofBeside = cursorsByJournalctl(beside, []);
    let reported = 0;
    let readInPart = 0;
    const queries = queriesFor(cursorsByJournalctl(victim, []));
    const firstSeed = seed * 1_000_000 + nth * 100_000;
    for (let at = firstSeed; at < firstSeed + damagesEach; at += 1) {
      const { what, patches, truncateTo } = mutate(createRandom(at));
      const bytes = Buffer.from(intact);
      for (const patch of patches) if (patch.offset < bytes.length) patch.bytes.copy(bytes, patch.offset);
      writeFileSync(victim, bytes.subarray(0, truncateTo));
      const damage = `seed ${at}: ${what}`;
      // A reader of its own for each damage: what an earlier one has cached must not hide anything.
      const engine = createEngine({ roots: [{ path }], onDamage: () => (reported += 1) });
      const cursorsOf = (query: LogQuery): readonly string[] | undefined => {
        try {
          const cursors: string[] = [];
          // A damaged size makes a value of megabytes of what stands behind it, and a page ends where it would become too large:
          // the newest first, the pages after it have the rest.
          for (let cursor = query.cursor; ; ) {
            const { logs, total, next_cursor } = answerOf(engine, { ...query, cursor });
            expect([damage, total >= logs.length]).toEqual([damage, true]);
            for (const entry of logs) cursors.push(entry.cursor);
            if (next_cursor === null || logs.length === 0 || cursors.length >= query.limit) return cursors;
            cursor = next_cursor;
          }
        } catch (error) {
          if (error instanceof Error && error.name === "LogQueryRefused") return undefined;
          throw new Error(`${damage}: ${error instanceof Error ? error.stack : String(error)}`, { cause: error });
        }
      };
      try {
        const found = cursorsOf(newestFirst);
        const lost = found === undefined ? [] : ofBeside.filter((cursor) => !found.includes(cursor));
        expect([damage, lost]).toEqual([damage, []]);
        for (const query of queries) cursorsOf(query);
        const [query, options] = compared[at % compared.length] ?? [newestFirst, []];
        if (at % comparedEach !== 0) continue;
        const ours = cursorsOf(query);
        if (ours === undefined) continue;
        const theirs = cursorsByJournalctl(victim, options);
        if (theirs.length > 0) readInPart += 1;
        expect([damage, options, theirs.filter((cursor) => !ours.includes(cursor))]).toEqual([damage, options, []]);
      } finally {
        engine.dispose();
      }
    }
    expect(1024 * process.resourceUsage().maxRSS).toBeLessThan(maxResidentBytes);
    // Damage that nobody notices would prove nothing.
    expect(reported).toBeGreaterThan(damagesEach / 2);
    expect(readInPart).toBeGreaterThan(damagesEach / comparedEach / 4);
  });
});
