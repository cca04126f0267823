import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createEngine, type Engine } from "#adapters/journald/engine.ts";
import { JournalUnavailable } from "#domain/ports/journal.ts";
import { corpora, createFolder, fileKinds, type JournalFolder, writeCorpus } from "../journals/corpora.ts";
import { boots, everyday, start } from "../journals/entries.ts";
import { canonicalLine, exported, exportOf, partOf, partsOf, splitExport } from "../journals/exported.ts";
import { answerOf, bySize, everything } from "../journals/known.ts";
import { appendToJournal, canMakeJournals, runJournalctl } from "../journals/programs.ts";
import { createRandom } from "../support/random.ts";

const [kind] = fileKinds;
const all = corpora.map((corpus, position) => {
  const fitting = fileKinds.filter(({ keyedHash }) => corpus.isForUnkeyed !== true || !keyedHash);
  return { name: corpus.name, corpus, kind: fitting[position % fitting.length] ?? kind };
});
/** Each takes many runs of journalctl. */
const cases = all.filter((_, position) => position % bySize(5, 1, 1) === 0);

const lines = (bytes: Buffer): readonly string[] => bytes.toString("latin1").split("\n").slice(0, -1);
const cursorOf = (entry: Buffer): string => /^__CURSOR=(.*)\n/.exec(entry.toString("latin1"))?.[1] ?? "";

/** The first two that differ: they may have megabytes. */
function difference(ours: readonly string[], theirs: readonly string[]): object | undefined {
  const at = Array.from({ length: Math.max(ours.length, theirs.length) }).findIndex((_, i) => ours[i] !== theirs[i]);
  return at < 0 ? undefined : { at, ours: ours[at]?.slice(0, 2_000), theirs: theirs[at]?.slice(0, 2_000) };
}

/** The clock times of entries are local. */
const zone = process.env["TZ"];
beforeAll(() => {
  process.env["TZ"] = "UTC";
});
afterAll(() => {
  if (zone === undefined) delete process.env["TZ"];
  else process.env["TZ"] = zone;
});

describe.skipIf(!canMakeJournals())("exports against journalctl", () => {
  describe.each(cases)("$name", ({ corpus, kind }) => {
    let folder: JournalFolder;
    let engine: Engine;
    beforeAll(() => {
      folder = writeCorpus(corpus, kind);
      engine = createEngine({ roots: [{ path: folder.path }] });
    });
    afterAll(() => {
      engine?.dispose();
      folder?.remove();
    });
    const journalctl = (...options: readonly string[]): Buffer => runJournalctl(["-D", folder.path, ...options]).stdout;
    /** The order in which journalctl gives what several files have of one microsecond is not a total one. */
    const inOrder = (entries: readonly string[], cursors: readonly string[]): readonly string[] => {
      const wanted = answerOf(engine, { ...everything, isFromOldest: true }).logs.map(({ cursor }) => cursor);
      const byCursor = new Map(cursors.map((cursor, at) => [cursor, entries[at] ?? ""]));
      expect([...byCursor.keys()].sort()).toEqual([...wanted].sort());
      return wanted.map((cursor) => byCursor.get(cursor) ?? "");
    };

    it("has each entry as -o export", () => {
      const theirs = splitExport(journalctl("-o", "export"));
      const ours = splitExport(exported(engine, exportOf("journal")));
      const expected = inOrder(
        theirs.map((each) => each.toString("latin1")),
        theirs.map(cursorOf),
      );
      expect(
        difference(
          ours.map((each) => each.toString("latin1")),
          expected,
        ),
      ).toBeUndefined();
    });

    it.each([false, true])("has each entry as -o json, all %s", (all) => {
      const of = (bytes: Buffer): readonly string[] =>
        bytes
          .toString("utf8")
          .split("\n")
          .filter((line) => line !== "");
      const theirs = of(journalctl("-o", "json", ...(all ? ["-a"] : [])));
      const cursors = theirs.map((line) => (JSON.parse(line) as Record<string, string>)["__CURSOR"] ?? "");
      const ours = of(exported(engine, exportOf("json", { all })));
      expect(difference(ours.map(canonicalLine), inOrder(theirs.map(canonicalLine), cursors))).toBeUndefined();
    });

    it.each([false, true])("has each line as -o short-iso, all %s", (all) => {
      const theirs = lines(journalctl("-o", "short-iso", ...(all ? ["-a"] : [])));
      const ours = lines(exported(engine, exportOf("text", { all })));
      const cursors = splitExport(journalctl("-o", "export")).map(cursorOf);
      const order = answerOf(engine, { ...everything, isFromOldest: true }).logs.map(({ cursor }) => cursor);
      const isSameOrder = order.every((cursor, at) => cursor === cursors[at]);
      // Another order has other boots next to each other.
      const of = (all: readonly string[]) =>
        isSameOrder ? all : all.filter((line) => !line.startsWith("-- Boot ")).toSorted();
      expect(difference(of(ours), of(theirs))).toBeUndefined();
    });

    it("goes on after any entry with exactly the rest", () => {
      const whole = splitExport(exported(engine, exportOf("journal"))).map((each) => each.toString("latin1"));
      for (const at of [0, Math.floor(whole.length / 2), whole.length - 1]) {
        const entry = whole[at];
        if (entry === undefined) continue;
        const cursor = cursorOf(Buffer.from(entry, "latin1"));
        const rest = splitExport(exported(engine, exportOf("journal", { cursor }))).map((each) =>
          each.toString("latin1"),
        );
        expect(difference(rest, whole.slice(at + 1))).toBeUndefined();
      }
    });

    it("gives the same entries once systemd-journal-remote has taken it", () => {
      const whole = exported(engine, exportOf("journal"));
      if (whole.length === 0) return;
      const target = mkdtempSync(join(tmpdir(), "steward-imported-"));
      try {
        const file = join(target, "imported.journal");
        appendToJournal(
          file,
          kind,
          splitExport(whole).map((entry) => Buffer.concat([entry, Buffer.from("\n")])),
        );
        const again = createEngine({ roots: [{ path: target }] });
        const withoutCursor = (entry: Buffer): string => entry.toString("latin1").replace(/^__CURSOR=.*\n/, "");
        const read = splitExport(runJournalctl(["-D", target, "-q", "-o", "export"]).stdout);
        again.dispose();
        const fieldsOf = (entry: Buffer): string => withoutCursor(entry).split("\n").sort().join("\n");
        const ours = splitExport(whole).map(fieldsOf).sort();
        expect(difference(read.map(fieldsOf).sort(), ours)).toBeUndefined();
      } finally {
        rmSync(target, { recursive: true });
      }
    });

    it("finds what a query finds", () => {
      for (const given of [
        { grep: "e" },
        { grep: "FAILED|timed" },
        { units: ["*.service"] },
        { priority: 4 },
        { boot: "0" },
        { boot: "-1", grep: "[a-f]" },
      ]) {
        const wanted = answerOf(engine, { ...everything, ...given, isFromOldest: true }).logs.map(
          ({ cursor }) => cursor,
        );
        const found = splitExport(exported(engine, exportOf("journal", given))).map(cursorOf);
        expect([given, difference(found, wanted)]).toEqual([given, undefined]);
      }
    });
  });
});

describe.skipIf(!canMakeJournals())("an export in parts", () => {
  const count = 8_000;
  let folder: ReturnType<typeof createFolder>;
  let engine: Engine;
  beforeAll(() => {
    folder = createFolder(kind);
    const entries = everyday(createRandom(1), { bootId: boots[0] ?? "", realtime: start, monotonic: 1 }, count);
    folder.writer.append("system.journal", entries.slice(0, 2_500));
    folder.writer.rotate("system.journal", entries.slice(2_500, 5_000));
    folder.writer.rotate("system.journal", entries.slice(5_000));
    engine = createEngine({ roots: [{ path: folder.path }] });
  });
  afterAll(() => {
    engine?.dispose();
    folder?.remove();
  });

  it.each(["journal", "json", "text"] as const)(
    "of %s are bounded, and together the same as journalctl has",
    (format) => {
      const parts = [...partsOf(engine, exportOf(format))];
      for (const { bytes } of parts) expect(bytes.length).toBeLessThan(1024 * 1024 + 64 * 1024);
      if (format !== "text") expect(parts.length).toBeGreaterThan(2);
      const outputs = { journal: "export", json: "json", text: "short-iso" };
      const theirs = runJournalctl(["-D", folder.path, "-o", outputs[format]]).stdout;
      const whole = Buffer.concat(parts.map(({ bytes }) => bytes));
      if (format === "json")
        expect(difference(lines(whole).map(canonicalLine), lines(theirs).map(canonicalLine))).toBeUndefined();
      else expect(whole.equals(theirs)).toBe(true);
      expect(parts.at(-1)?.written).toBe(answerOf(engine, { ...everything, order: "desc", limit: 1 }).logs[0]?.cursor);
    },
  );

  it("of a search end with the window", () => {
    const query = exportOf("journal", { grep: "e" });
    const wanted = answerOf(engine, { ...everything, grep: "e", isFromOldest: true }).logs.map(({ cursor }) => cursor);
    expect(splitExport(exported(engine, query)).map(cursorOf)).toEqual(wanted);
  });

  it("of a boot by its offset stay with that boot", () => {
    const query = exportOf("journal", { boot: "0" });
    const first = partOf(engine, query);
    folder.writer.append(
      "later.journal",
      everyday(createRandom(2), { bootId: boots[1] ?? "", realtime: start + 9e12, monotonic: 1 }, 5),
    );
    const rest = Buffer.concat([...partsOf(engine, { ...query, position: first.next })].map(({ bytes }) => bytes));
    rmSync(join(folder.path, "later.journal"));
    expect(splitExport(Buffer.concat([first.bytes, rest]))).toHaveLength(count);
  });

  it("are refused once a file is gone that had more, and not for one that had been read", () => {
    const read = (): readonly string[] => readdirSync(folder.path).sort();
    const before = read();
    const [archived = "", other = ""] = before.filter((name) => name.includes("@"));
    const first = partOf(engine, exportOf("journal"));
    if (first.next === undefined) throw new Error("it has one part only");
    const { next } = first;
    const later = [...partsOf(engine, exportOf("journal"))].at(-2)?.next;
    for (const name of [archived, other]) rmSync(join(folder.path, name));
    expect(() => engine.export(exportOf("journal", { position: next }))).toThrow(JournalUnavailable);
    expect(partOf(engine, exportOf("journal", { position: later })).bytes.length).toBeGreaterThan(0);
  });
});
