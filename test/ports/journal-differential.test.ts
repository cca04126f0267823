import { mkdtempDisposableSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createJournalFormat, fieldsOf, type JournalOutput, journalOutputs } from "#adapters/journal-format/output.ts";
import { valueBytes, wholeEntry } from "#adapters/journal-format/whole-entry.ts";
import { createEngine, type Engine } from "#adapters/journald/engine.ts";
import type { LogEntry, UnreadFiles } from "#contract/log-entry.ts";
import { compileExpression } from "#domain/logs/expression.ts";
import { ExpressionUnsupported } from "#domain/logs/expression-tree.ts";
import { type LogQuery, LogQueryRefused } from "#domain/ports/journal.ts";
import { collidingName } from "../journals/collisions.ts";
import { firstDifference, oddName } from "../journals/compare.ts";
import {
  type Corpus,
  copiesCorpora,
  corpora,
  createDirectory,
  fileKinds,
  type JournalDirectory,
  writeCorpus,
} from "../journals/corpora.ts";
import { expectCounts } from "../journals/counts.ts";
import { boots, machines, start } from "../journals/entries.ts";
import { canonicalLine, exported, exportOf, splitExport } from "../journals/exported.ts";
import { incompatible, readHeaderField, writeHeaderField } from "../journals/file-header.ts";
import { answerOf, cursorsOf, everything, identityOf, type Known, known, knownOfCopies } from "../journals/known.ts";
import {
  always,
  askForMatching,
  askForPage,
  canAskJournalctl,
  dumpJournal,
  isSameTime,
  type KnownEntry,
  matchingEntries,
  pageOf,
} from "../journals/oracle.ts";
import { appendToJournal, canMakeJournals, runJournalctl } from "../journals/programs.ts";
import { queriesOn } from "../journals/queries.ts";
import { asciiTexts, expressions } from "../journals/random-expressions.ts";
import { contextOf, never, openJournal, type Reader } from "../journals/reader.ts";
import { byBreadth } from "../support/breadth.ts";
import { seed } from "../support/seed.ts";

interface Case {
  readonly name: string;
  readonly corpus: Corpus;
  readonly kind: (typeof fileKinds)[number];
}

const corpusNamed = (name: string): Corpus => {
  const corpus = corpora.find((each) => each.name.startsWith(name));
  if (corpus === undefined) throw new Error(`no corpus is called ${name}`);
  return corpus;
};
const [usual, regular = usual] = fileKinds;
const caseOf = (corpus: Corpus, kind: Case["kind"]): Case => ({
  name: `${corpus.name} (${kind.name})`,
  corpus,
  kind,
});
const kindsFor = ({ isForUnkeyed }: Corpus): readonly Case["kind"][] =>
  fileKinds.filter(({ keyedHash }) => isForUnkeyed !== true || !keyedHash);
/** Two corpora in `npm test`; in the project `long` all, in two kinds of file or more. */
const cases = byBreadth(
  [caseOf(corpusNamed("every kind"), usual), caseOf(corpusNamed("system and user journals"), regular)],
  corpora.flatMap((corpus, at) => {
    const kinds = kindsFor(corpus);
    return (at === 0 ? kinds : kinds.slice(0, 2)).map((kind) => caseOf(corpus, kind));
  }),
);

/**
 * Whether an entry that journalctl gave for the query's cursor belongs to the page: it knows no window beside a cursor, and
 * of the entries of other files in the cursor's very microsecond it gives those that it had given before once more.
 */
function isWithin(all: readonly KnownEntry[], { since, until, cursor, order }: LogQuery, given: string): boolean {
  const at = all.findIndex(({ entry }) => entry.cursor === given);
  const realtime = all[at]?.realtime ?? -1;
  if (realtime < since || realtime > until) return false;
  if (cursor === undefined || !isSameTime(cursor, given)) return true;
  const from = all.findIndex(({ entry }) => entry.cursor === cursor);
  return from === -1 || (order === "asc" ? at > from : at < from);
}

/** Cursors of a journal that the directory under test never had. */
function otherCursors(corpus: Corpus): readonly string[] {
  if (!corpus.soundClocks) return [];
  const other = corpora[corpora.indexOf(corpus) === 1 ? 2 : 1];
  if (other === undefined) return [];
  const directory = writeCorpus(other, usual, 99);
  try {
    return cursorsOf(dumpJournal(["-D", directory.path])).filter((_, position) => position % 40 === 0);
  } finally {
    directory.remove();
  }
}

/** The cursors that paging gives, those of each page as long as it may be. */
async function paged(reader: Reader, query: LogQuery, from?: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (let cursor = from; ; ) {
    const { logs, next_cursor: next } = await reader.ask({ ...query, cursor });
    found.push(...logs.map((entry) => entry.cursor));
    if (logs.length === 0 || next === null) return found;
    cursor = next;
  }
}

const linesOf = (bytes: Buffer): readonly string[] => bytes.toString("latin1").split("\n").slice(0, -1);
const cursorOf = (entry: Buffer): string => /^__CURSOR=(.*)\n/.exec(entry.toString("latin1"))?.[1] ?? "";

/** The first two that differ: they may have megabytes. */
function difference(ours: readonly string[], theirs: readonly string[]): object | undefined {
  const at = Array.from({ length: Math.max(ours.length, theirs.length) }).findIndex((_, i) => ours[i] !== theirs[i]);
  return at < 0 ? undefined : { at, ours: ours[at]?.slice(0, 2_000), theirs: theirs[at]?.slice(0, 2_000) };
}

/** Of an empty journal journalctl says so. */
const withoutNote = (printed: Buffer): Buffer =>
  printed.toString("latin1") === "-- No entries --\n" ? Buffer.alloc(0) : printed;

/** journalctl has the members of JSON in no order: they are compared sorted. */
function canonical(output: JournalOutput, written: Buffer): readonly string[] {
  if (output === "json") {
    return linesOf(written).map((line) =>
      line
        .slice(1, -1)
        .split(/,(?="[A-Z_0-9]+":)/)
        .sort()
        .join("\n"),
    );
  }
  return linesOf(written);
}

/** The clock times of an entry are local. */
const zone = process.env["TZ"];
beforeAll(() => {
  process.env["TZ"] = "UTC";
});
afterAll(() => {
  if (zone === undefined) delete process.env["TZ"];
  else process.env["TZ"] = zone;
});

const canRun = canMakeJournals();

/** Their names come first: what a title takes out of an object is cut. */
const byName = <T extends { readonly name: string }>(all: readonly T[]) =>
  all.map((each) => [each.name, each] as const);

describe.skipIf(!canRun).each(byName(cases))("the journal against journalctl: %s", (_, { corpus, kind }) => {
  const queryCount = byBreadth(60, 100);
  let journal: Known;
  let reader: Reader;
  let queries: fc.Arbitrary<LogQuery>;
  /** Whether journalctl has the entries in our order: of one microsecond in several files it has them in no total one. */
  let isSameOrder: boolean;
  const journalctl = (...options: readonly string[]): Buffer =>
    withoutNote(runJournalctl(["-D", journal.directory.path, ...options]).stdout);

  beforeAll(() => {
    journal = known(writeCorpus(corpus, kind));
    reader = openJournal(journal.directory.path);
    queries = queriesOn(journal.all, otherCursors(corpus));
    const order = splitExport(journalctl("-o", "export")).map(cursorOf);
    isSameOrder = journal.all.every(({ entry }, at) => entry.cursor === order[at]);
  });

  afterAll(() => {
    reader?.dispose();
    journal?.directory.remove();
  });

  it("all entries are listed, each is found by its unit, and no intact file is reported", async () => {
    const answer = await reader.ask(everything);
    expect(firstDifference(answer, pageOf(journal.all, everything, undefined))).toBeUndefined();
    for (const [unit, entries] of Map.groupBy(answer.logs, (entry) => entry.unit)) {
      if (unit === "") continue;
      const { logs } = await reader.ask({ ...everything, units: [unit] });
      const found = new Set(logs.map(({ cursor }) => cursor));
      expect([unit, entries.filter(({ cursor }) => !found.has(cursor))]).toEqual([unit, []]);
    }
    const odd = readdirSync(journal.directory.path).filter((name) => oddName.test(name));
    expect(answer.unread?.map(({ file }) => basename(file)).sort() ?? []).toEqual(odd.toSorted());
    expect(new Set(reader.unreadable.map((path) => basename(path)))).toEqual(new Set(odd));
  });

  it("random queries answer what the entries say", async () => {
    const property = fc.asyncProperty(queries, async (query) => {
      const expected = pageOf(journal.all, query, journal.positionOf(query.cursor));
      const different = firstDifference(await reader.ask(query), expected);
      if (different !== undefined) throw new Error(different);
    });
    await fc.assert(property, { numRuns: queryCount });
  });

  it("histograms, facets and templates of random queries count what they find", async () => {
    const most = fc.constantFrom(1, 2, 7, 60, 1000);
    const property = fc.asyncProperty(queries, most, (query, buckets) =>
      expectCounts(reader.journal, journal.all, query, buckets),
    );
    await fc.assert(property, { numRuns: Math.ceil(queryCount / 2) });
  });

  it("random queries answer what journalctl's own filters give", async () => {
    const asked = fc
      .sample(queries, { numRuns: 8, seed: seed + 1 })
      .map((query) => (corpus.soundClocks ? query : { ...query, ...always }))
      .filter(canAskJournalctl);
    for (const query of asked) {
      const matching = matchingEntries(journal.all, query);
      expect([query, askForMatching(journal.source, query)]).toEqual([query, cursorsOf(matching)]);
      const within = (cursor: string): boolean => isWithin(journal.all, query, cursor);
      const { logs, total } = await reader.ask(query);
      const expected = askForPage(journal.source, query, within);
      expect([query, logs.map(({ cursor }) => cursor), total]).toEqual([query, expected, matching.length]);
    }
  });

  it("paging by next_cursor gives every entry once, in both directions", async () => {
    const all = cursorsOf(journal.all);
    const query = { ...everything, limit: 97 };
    expect(await paged(reader, { ...query, order: "desc" })).toEqual(all.toReversed());
    const [first] = all;
    if (first !== undefined) expect([first, ...(await paged(reader, query, first))]).toEqual(all);
  });

  it("the context of an entry is the entries around it", async () => {
    for (const at of [0, 1, Math.floor(journal.all.length / 2), journal.all.length - 1]) {
      const cursor = journal.all[at]?.entry.cursor;
      if (cursor === undefined) continue;
      const found = await reader.journal.context({ cursor, units: undefined, before: 3, after: 2 }, never);
      const { entries, index } = contextOf(found);
      const expected = cursorsOf(journal.all.slice(Math.max(0, at - 3), at + 3));
      expect([entries.map((entry) => entry.cursor), index]).toEqual([expected, Math.min(at, 3)]);
    }
    const gone = (journal.all[0]?.entry.cursor ?? `s=${"0".repeat(32)};i=1;b=${boots[0]};m=1;t=1;x=1`).replace(
      /x=.*/,
      "x=1",
    );
    const none = { cursor: gone, units: undefined, before: 3, after: 2 };
    expect(await reader.journal.context(none, never)).toEqual({ unread: expect.any(Array) as UnreadFiles });
  });

  it("exports have each entry as journalctl writes it", async () => {
    const { logs } = await reader.ask({ ...everything, isFromOldest: true });
    const inOurOrder = (entries: readonly string[], cursors: readonly string[]): readonly string[] => {
      const byCursor = new Map(cursors.map((cursor, at) => [cursor, entries[at] ?? ""]));
      return logs.map(({ cursor }) => byCursor.get(cursor) ?? "");
    };
    const ofExport = (entries: readonly Buffer[]): readonly string[] => entries.map((each) => each.toString("latin1"));
    const theirs = splitExport(journalctl("-o", "export"));
    const cursors = theirs.map(cursorOf);
    expect(cursors.toSorted()).toEqual(logs.map(({ cursor }) => cursor).sort());
    const ours = splitExport(await exported(reader, exportOf("journal")));
    expect(difference(ofExport(ours), inOurOrder(ofExport(theirs), cursors))).toBeUndefined();
    for (const all of [false, true]) {
      const option = all ? ["-a"] : [];
      const json = linesOf(journalctl("-o", "json", ...option)).map(canonicalLine);
      const ourJson = linesOf(await exported(reader, exportOf("json", { all }))).map(canonicalLine);
      expect([all, difference(ourJson, inOurOrder(json, cursors))]).toEqual([all, undefined]);
      // Another order has other boots next to each other.
      const comparable = (lines: readonly string[]): readonly string[] =>
        isSameOrder ? lines : lines.filter((line) => !line.startsWith("-- Boot ")).toSorted();
      const text = comparable(linesOf(journalctl("-o", "short-iso", ...option)));
      const ourText = comparable(linesOf(await exported(reader, exportOf("text", { all }))));
      expect([all, difference(ourText, text)]).toEqual([all, undefined]);
    }
  });

  it("exports resume after any entry, and have what a query finds", async () => {
    const cursors = async (given: Parameters<typeof exportOf>[1]): Promise<readonly string[]> =>
      splitExport(await exported(reader, exportOf("journal", given))).map(cursorOf);
    const all = cursorsOf(journal.all);
    for (const at of [0, Math.floor(all.length / 2), all.length - 1]) {
      const cursor = all[at];
      if (cursor !== undefined) expect([at, await cursors({ cursor })]).toEqual([at, all.slice(at + 1)]);
    }
    const filters = [{ grep: "e" }, { grep: "FAILED|timed" }, { units: ["*.service"] }, { priority: 4 }, { boot: "0" }];
    for (const given of [...filters, { boot: "-1", grep: "[a-f]" }]) {
      const { logs } = await reader.ask({ ...everything, ...given, isFromOldest: true });
      expect([given, await cursors(given)]).toEqual([given, logs.map(({ cursor }) => cursor)]);
    }
  });

  it("boots, names of fields and their values are listed", async () => {
    const ids = [...new Set(journal.all.map(({ entry }) => entry.boot_id))];
    const { boots: found } = await reader.journal.boots({ units: undefined }, never);
    expect(found.map(({ id }) => id).sort()).toEqual(ids.toSorted());
    expect(found.map(({ index }) => index)).toEqual(ids.map((_, at) => at - ids.length + 1));
    expect(found.map(({ id }) => id)).toEqual(ids);
    const { names: all } = await reader.journal.fieldNames({ units: undefined }, never);
    expect(all).toEqual(linesOf(journalctl("-N")).toSorted());
    for (const name of ["PRIORITY", "_SYSTEMD_UNIT", "SYSLOG_IDENTIFIER", collidingName]) {
      const { values } = await reader.journal.fieldValues(name, { units: undefined }, never);
      // journalctl prints a value up to its first NUL.
      const printed = values.map((value) => valueBytes(value).toString("latin1").split("\0", 1)[0] ?? "");
      const lines = printed.flatMap((text) => text.split("\n"));
      expect([name, lines.sort()]).toEqual([name, linesOf(journalctl("-F", name)).toSorted()]);
    }
    const units = ["a.service"];
    const { logs } = await reader.ask({ ...everything, units, fields: "all" });
    const names = new Set(logs.flatMap(({ fields = [] }) => fields.map((field) => field.name)));
    expect((await reader.journal.fieldNames({ units }, never)).names).toEqual([...names].sort());
    const { boots: listed } = await reader.journal.boots({ units }, never);
    expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(logs.map((entry) => entry.boot_id)));
  });

  it("every output format writes what journalctl writes", async () => {
    const answers = new Map<string, readonly LogEntry[]>();
    const compare = async (output: JournalOutput, all: boolean, fields?: readonly string[]): Promise<void> => {
      const options = { all, fields };
      const wanted = fieldsOf(output, options);
      const query: LogQuery = { ...everything, isFromOldest: true, fields: wanted === "*" ? "all" : wanted.split(",") };
      const logs = answers.get(wanted) ?? (await reader.ask(query)).logs;
      answers.set(wanted, logs);
      const format = createJournalFormat(output, options);
      const parts: Buffer[] = [];
      for (const entry of logs)
        parts.push(format(await wholeEntry(entry, () => Promise.reject(new Error("an entry was cut")))));
      const shown = fields === undefined ? [] : [`--output-fields=${fields.join(",")}`];
      const theirs = canonical(output, journalctl("-o", output, ...shown, ...(all ? ["-a"] : [])));
      const ours = canonical(output, Buffer.concat(parts));
      const comparable = (lines: readonly string[]): readonly string[] =>
        isSameOrder ? lines : lines.filter((line) => !line.startsWith("-- Boot ")).toSorted();
      expect([output, all, fields, difference(comparable(ours), comparable(theirs))]).toEqual([
        output,
        all,
        fields,
        undefined,
      ]);
    };
    for (const output of journalOutputs) for (const all of [false, true]) await compare(output, all);
    for (const output of ["export", "json"] as const) await compare(output, false, ["PRIORITY", "MESSAGE", "OTHER"]);
    // Of several fields cat has no order.
    await compare("cat", false, ["OTHER"]);
  });

  it("an export that systemd-journal-remote has taken has the same entries", async () => {
    const entries = splitExport(await exported(reader, exportOf("journal")));
    if (entries.length === 0) return;
    using target = mkdtempDisposableSync(join(tmpdir(), "steward-imported-"));
    const written = entries.map((entry) => Buffer.concat([entry, Buffer.from("\n")]));
    appendToJournal(join(target.path, "imported.journal"), kind, written);
    const read = splitExport(runJournalctl(["-D", target.path, "-q", "-o", "export"]).stdout);
    const fieldsOfAll = (all: readonly Buffer[]): readonly string[] =>
      all
        .map((entry) =>
          entry
            .toString("latin1")
            .replace(/^__CURSOR=.*\n/, "")
            .split("\n")
            .sort()
            .join("\n"),
        )
        .sort();
    expect(difference(fieldsOfAll(read), fieldsOfAll(entries))).toBeUndefined();
  });
});

describe.skipIf(!canRun).each(byName(byBreadth([], copiesCorpora)))("the journal with copies: %s", (_, corpus) => {
  it("every entry is listed, counted and paged once", async () => {
    const directory = writeCorpus(corpus, regular, seed);
    const reader = openJournal(directory.path);
    try {
      const all = knownOfCopies(directory.path);
      const questions = fc.tuple(queriesOn(all, []), fc.integer({ min: 1, max: 60 }));
      const property = fc.asyncProperty(questions, async ([asked, limit]) => {
        const query: LogQuery = { ...asked, cursor: undefined, order: "desc", limit: everything.limit };
        const expected = cursorsOf(matchingEntries(all, query)).map(identityOf);
        const { logs, total } = await reader.ask(query);
        expect(logs.map(({ cursor }) => identityOf(cursor)).sort()).toEqual(expected.toSorted());
        expect(total).toBe(expected.length);
        await expectCounts(reader.journal, all, query, limit, { hasCopies: true });
        const listed = logs.map(({ cursor }) => cursor);
        expect(await paged(reader, { ...query, limit })).toEqual(listed);
        const oldest = listed.at(-1);
        if (oldest === undefined) return;
        const after = await paged(reader, { ...query, order: "asc", limit }, oldest);
        expect([oldest, ...after]).toEqual(listed.toReversed());
      });
      await fc.assert(property, { numRuns: 40 });
      expect(reader.unreadable).toEqual([]);
    } finally {
      reader.dispose();
      directory.remove();
    }
  });
});

describe.skipIf(!canRun)("the journal's cursors, directories and file formats", () => {
  const open: { readonly directory: JournalDirectory; readonly engine: Engine }[] = [];
  const write = (name: string): JournalDirectory => writeCorpus(corpusNamed(name), usual);
  const use = (directory: JournalDirectory, machineId?: string): Engine => {
    const engine = createEngine({
      roots: [{ path: directory.path, ...(machineId === undefined ? {} : { machineId }) }],
    });
    open.push({ directory, engine });
    return engine;
  };
  const setFlag = (path: string, flag: number): void =>
    writeHeaderField(path, "incompatibleFlags", readHeaderField(path, "incompatibleFlags") | BigInt(flag));

  afterAll(() => {
    for (const { directory, engine } of open) {
      engine.dispose();
      directory.remove();
    }
  });

  it("a cursor whose archived file was vacuumed continues where its entry was", () => {
    for (const position of byBreadth([1], [0, 1, 2])) {
      const directory = write("one boot in files that were rotated");
      const before = cursorsOf(dumpJournal(["-D", directory.path]));
      const archived = readdirSync(directory.path).filter((name) => name.includes("@"));
      rmSync(join(directory.path, archived.sort()[position] ?? ""));
      const journal = known(directory);
      const present = new Set(cursorsOf(journal.all));
      const gone = before.filter((cursor) => !present.has(cursor));
      expect(gone.length).toBeGreaterThan(0);
      const engine = use(directory);
      // For each journalctl says where it was, a process each time.
      for (const cursor of gone.filter((_, at) => at % byBreadth(8, 1) === 0)) {
        for (const order of ["asc", "desc"] as const) {
          const query = { ...everything, cursor, order, limit: 7, priority: 5 };
          const expected = pageOf(journal.all, query, journal.positionOf(cursor));
          expect([query, firstDifference(answerOf(engine, query), expected)]).toEqual([query, undefined]);
        }
      }
    }
  });

  it("the journal believes only systemd and root about the unit of another's entry", () => {
    const engine = use(write("every kind of entry in one file"));
    const messagesOf = (unit: string): readonly string[] => {
      const { logs } = answerOf(engine, { ...everything, units: [unit] });
      return logs.filter((entry) => entry.unit === unit && entry.message.length < 100).map(({ message }) => message);
    };
    const claims = ["forged", "forged as ten", "not dumped", "no id", "claims b", "forged by c", "claimed by c"];
    const believed = ["Started a.", "dumped core", "about b", "of a and about b"];
    const ofBoth = [...messagesOf("a.service"), ...messagesOf("b.service")];
    expect(ofBoth.filter((message) => claims.includes(message))).toEqual([]);
    expect(ofBoth).toEqual(expect.arrayContaining(believed));
    expect(messagesOf("c.service")).toEqual(expect.arrayContaining(["forged by c", "claimed by c"]));
    expect(messagesOf("init.scope")).toContain("Failed.");
  });

  it("a malformed cursor is refused, naming the field", () => {
    const engine = use(write("a directory without journals"));
    for (const cursor of ["", "x", "s=1", "i=5", `b=${"1".repeat(32)}`, "s=\u0000;i=;b=;m=;t=;x="]) {
      const refused = (): unknown => engine.query({ ...everything, cursor });
      expect(refused).toThrow(LogQueryRefused);
      expect(refused).toThrow(expect.objectContaining({ field: "cursor" }));
    }
  });

  it("directories of other machines are left out on request", () => {
    const [machine = "", other = ""] = machines;
    const directory = write("two machines below one directory");
    const [moved, back] = [join(directory.path, other), join(directory.path, "set-aside")];
    renameSync(moved, back);
    const all = dumpJournal(["-D", directory.path]);
    renameSync(back, moved);
    const answer = answerOf(use(directory, machine), everything);
    expect(firstDifference(answer, pageOf(all, everything, undefined))).toBeUndefined();
  });

  it("a file is read that names another compression than its payloads have", () => {
    for (const flag of [incompatible.xz, incompatible.lz4]) {
      const directory = write("every kind of entry in one file");
      const expected = pageOf(dumpJournal(["-D", directory.path]), everything, undefined);
      setFlag(join(directory.path, "system.journal"), flag);
      expect([flag, firstDifference(answerOf(use(directory), everything), expected)]).toEqual([flag, undefined]);
    }
  });
});

describe.skipIf(!canRun)("searches of messages against journalctl -g", () => {
  const messages = [
    ...fc.sample(asciiTexts, { numRuns: 400, seed: 1 }),
    ..."abc ABC digit [:d] a.b axb Q.E ab ab\n ab\n\n xab ahb RN pL Lu Serror terror ERROR 5 d a-b a5b tERROR foobar".split(
      " ",
    ),
    ..."fooKbar bar e[31m \u001b[31m AB o{101} eRROR abC aBC ABC Z\nZ x-y.z@ +@ x{,y{ aRb a\r\n\nb \r\n".split(" "),
    ...["a b", "a\tb", "a\nb", "ab\nx", "a\r\nb", "\n\n", "\r", "\n", " ", "an ERROR", " error", "x2", "11", "A"],
  ];
  let directory: ReturnType<typeof createDirectory>;

  beforeAll(() => {
    directory = createDirectory(usual);
    const entries = messages.map((message, at) => ({
      bootId: boots[0] ?? "",
      realtime: start + at,
      monotonic: 1 + at,
      fields: [["MESSAGE", message] as const],
    }));
    directory.writer.append("system.journal", entries);
  });
  afterAll(() => directory?.remove());

  /** Messages that the expression finds, by position; undefined where it is refused. */
  function found(expression: string): readonly number[] | undefined {
    try {
      const { test } = compileExpression(expression);
      return messages.flatMap((message, at) => (test(message) ? [at] : []));
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof ExpressionUnsupported) return undefined;
      throw error;
    }
  }

  /** The same of `journalctl -g`; undefined where it refuses the expression. */
  function foundByJournalctl(expression: string): readonly number[] | undefined {
    const args = ["-D", directory.path, "-q", "-o", "json", "--output-fields=__CURSOR", `--grep=${expression}`];
    const { status, stdout, stderr } = runJournalctl(args);
    if (status !== 0 && stderr !== "") return undefined;
    return linesOf(stdout).map(
      (line) => Number((JSON.parse(line) as Record<string, string>)["__REALTIME_TIMESTAMP"]) - start,
    );
  }

  it("random expressions find the same messages, or are refused", () => {
    const numRuns = byBreadth(20, 150);
    let compared = 0;
    fc.assert(
      fc.property(expressions, (expression) => {
        const own = found(expression);
        if (own === undefined || expression === "") return;
        const theirs = foundByJournalctl(expression);
        if (theirs === undefined) return;
        expect([expression, own]).toEqual([expression, theirs]);
        compared += 1;
      }),
      { numRuns },
    );
    expect(compared).toBeGreaterThan(numRuns / 10);
  });

  it("expressions of each construct of PCRE2 find the same messages", () => {
    const constructs = [
      ..."[[:digit:]] \\Qa.b\\E \\Aab \\ab\\z a\\hb ab$ ab\\Z \\H \\R \\N a\\Kb \\Gab \\e \\o{101} \\pL \\p{Lu}".split(
        " ",
      ),
      ..."\\Serror \\Bb \\Qab ^ab$ (?i)ERROR (?s)a.b [^[:alpha:]] a{2} x{ {a} [\\w.-]+ \\cJ \\x0a \\012 \\D{3}".split(
        " ",
      ),
      ..."(a|B)+$ \\s\\S \\v\\V a[[:^digit:]]b ab$\\n ^\\H$ ^a\\Rb$ \\R\\n ^\\N$ foo\\Kbar \\e\\[31m \\o{101}\\x{42}".split(
        " ",
      ),
      ..."\\pL\\pN \\serror error (?i)Error a(?i:b)C (?s)Z.Z [\\w.-]+@ x{,y{".split(" "),
    ];
    for (const expression of constructs)
      expect([expression, found(expression)]).toEqual([expression, foundByJournalctl(expression)]);
  });
});
