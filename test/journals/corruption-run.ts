import { mkdirSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createEngine, type Engine } from "#adapters/journald/engine.ts";
import type { LogList } from "#contract/logs.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import { createRandom } from "../support/random.ts";
import { createDamagedFile } from "./damaged-file.ts";
import { everything } from "./known.ts";
import { anatomyOf, createMutator } from "./mutations.ts";
import { always } from "./oracle.ts";
import { runJournalctl } from "./programs.ts";

/*
 * Damages a journal again and again and queries it. A process of its own: a reader that loops or eats memory takes only this
 * process along, and whoever started it sees at the last line which damage it was.
 */

/** What to do, as JSON in the first argument. */
export interface CorruptionRun {
  /** A sound journal that is damaged, and one that stays sound beside it. */
  readonly victim: string;
  readonly bystander: string;
  /** Folder to work in. */
  readonly folder: string;
  readonly firstSeed: number;
  readonly count: number;
  /** Every so many damages journalctl reads the file too. */
  readonly compareEvery: number;
}

/** One line of output. */
export type CorruptionEvent =
  | { readonly kind: "begin"; readonly seed: number; readonly what: string }
  | { readonly kind: "fault"; readonly seed: number; readonly what: string; readonly fault: string }
  | { readonly kind: "end"; readonly compared: number; readonly readInPart: number; readonly damagesTold: number };

const maxResidentBytes = 700 * 2 ** 20;
const documentedErrors = new Set(["LogQueryRefused"]);

/** What journalctl is asked beside us, with the same meaning. */
const compared: readonly { readonly query: LogQuery; readonly options: readonly string[] }[] = [
  { query: everything, options: [] },
  { query: everything, options: [] },
  { query: { ...everything, units: ["a.service"] }, options: ["--unit=a.service"] },
  { query: { ...everything, priority: 3 }, options: ["--priority=3"] },
];

const tell = (event: CorruptionEvent): void => {
  writeSync(1, `${JSON.stringify(event)}\n`);
};

function queriesFor(cursors: readonly string[], moments: readonly number[]): readonly LogQuery[] {
  const middle = cursors[Math.floor(cursors.length / 2)];
  const [since = always.since, until = always.until] = moments;
  return [
    { ...everything, order: "desc", limit: 20 },
    { ...everything, limit: 5, priority: 4 },
    { ...everything, limit: 100, units: ["a.service", "app-?.service"], since, until },
    { ...everything, limit: 10, cursor: middle, order: "desc" },
    { ...everything, limit: 10, cursor: middle, identifier: "nginx" },
    { ...everything, limit: 10, boot: "-1" },
    { ...everything, limit: 10, grep: "took [0-9]5", until },
  ];
}

function cursorsByJournalctl(path: string, options: readonly string[]): readonly string[] {
  const args = ["--file", path, "-o", "json", "--quiet", "--output-fields=__CURSOR", ...options];
  const { stdout } = runJournalctl(args, { timeoutMs: 10_000 });
  return [...stdout.toString("latin1").matchAll(/"__CURSOR":"([^"]*)"/g)].map(([, cursor = ""]) => cursor);
}

function run({ victim, bystander, folder, firstSeed, count, compareEvery }: CorruptionRun): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "sound.journal"), readFileSync(bystander));
  const sound = readFileSync(victim);
  const anatomy = anatomyOf(sound);
  const mutate = createMutator(anatomy);
  const file = createDamagedFile(join(folder, "victim.journal"), sound);
  const counts = { compared: 0, readInPart: 0, damagesTold: 0 };

  // A reader of its own for each damage: what an earlier one has kept must not hide anything.
  type Ask = (query: LogQuery) => LogList | string;
  const withEngine = (use: (ask: Ask, engine: Engine) => void): void => {
    const engine = createEngine({
      roots: [{ path: folder }],
      onDamage: () => {
        counts.damagesTold += 1;
      },
    });
    try {
      use((query) => {
        try {
          return JSON.parse(Buffer.from(engine.query(query)).toString("utf8")) as LogList;
        } catch (error) {
          if (error instanceof Error && documentedErrors.has(error.name)) return error.name;
          throw error;
        }
      }, engine);
    } finally {
      engine.dispose();
    }
  };
  const cursorsOf = (answer: LogList | string): readonly string[] =>
    typeof answer === "string" ? [] : answer.logs.map(({ cursor }) => cursor);

  let before: readonly string[] = [];
  withEngine((ask) => {
    before = cursorsOf(ask(everything));
  });
  const ofBystander = cursorsByJournalctl(join(folder, "sound.journal"), []);
  const moments = [0.3, 0.8].map((part) => {
    const cursor = before[Math.floor(before.length * part)] ?? "";
    return Number.parseInt(/;t=([0-9a-f]+)/.exec(cursor)?.[1] ?? "0", 16);
  });
  const queries = queriesFor(before, moments);

  /** Asks journalctl what we ask, and tells what only it could read. */
  const compare = (seed: number, ask: Ask, engine: Engine): string | undefined => {
    const nth = Math.floor(seed / compareEvery) % compared.length;
    const { query, options } = compared[nth] ?? { query: everything, options: [] };
    const ours = ask(query);
    if (typeof ours === "string" || engine.foreign().length > 0) return undefined;
    const theirs = new Set(cursorsByJournalctl(file.path, options));
    const has = new Set(cursorsOf(ours));
    const lost = [...theirs].filter((cursor) => !has.has(cursor));
    counts.compared += 1;
    if (theirs.size > 0) counts.readInPart += 1;
    if (lost.length === 0) return undefined;
    return `journalctl ${options.join(" ")} reads ${theirs.size} entries, of which we lack ${lost.length}, as ${lost[0]}`;
  };

  for (let seed = firstSeed; seed < firstSeed + count; seed++) {
    const mutation = mutate(createRandom(seed));
    const { what } = mutation;
    tell({ kind: "begin", seed, what });
    file.damage(mutation);
    const blame = (fault: string): void => tell({ kind: "fault", seed, what, fault });
    try {
      withEngine((ask, engine) => {
        const answer = ask(everything);
        const given = new Set(cursorsOf(answer));
        if (typeof answer !== "string") {
          const lost = ofBystander.filter((cursor) => !given.has(cursor));
          if (lost.length > 0) blame(`${lost.length} entries of the sound file beside it are missing, as ${lost[0]}`);
          if (answer.total < answer.logs.length) blame(`total ${answer.total} for ${answer.logs.length} entries`);
        }
        for (const query of queries) ask(query);
        const less = seed % compareEvery === 0 ? compare(seed, ask, engine) : undefined;
        if (less !== undefined) blame(less);
      });
      const resident = process.memoryUsage.rss();
      if (resident > maxResidentBytes) blame(`${resident} bytes resident`);
    } catch (error) {
      blame(error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
    file.repair();
  }
  file.close();
  tell({ kind: "end", ...counts });
}

// Started as a program; the types are imported from here too.
if (process.argv[1] === import.meta.filename) run(JSON.parse(process.argv[2] ?? "") as CorruptionRun);
