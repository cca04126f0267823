import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createJournalFormat, fieldsOf, type JournalOutput, journalOutputs } from "#adapters/journal-format/output.ts";
import { wholeEntry } from "#adapters/journal-format/whole-entry.ts";
import { createEngine, type Engine } from "#adapters/journald/engine.ts";
import type { LogEntry } from "#contract/log-entry.ts";
import type { JournalBoot, LogQuery } from "#domain/ports/journal.ts";
import { corpora, createFolder, fileKinds, type JournalFolder, writeCorpus } from "../journals/corpora.ts";
import { boots, start } from "../journals/entries.ts";
import type { Field } from "../journals/export-format.ts";
import { answerOf, byLength, everything } from "../journals/known.ts";
import { canMakeJournals, runJournalctl } from "../journals/programs.ts";
import { createRandom } from "../support/random.ts";
import { seed } from "../support/seed.ts";

/** Pieces of messages that a terminal, a line or JSON takes for something else. */
const pieces = [
  "plain",
  "\t",
  "\n",
  "\r",
  "\r\n",
  "\0",
  "\u001b",
  "\u001b[",
  "\u001b[31m",
  "\u001b[1;2m",
  "\u001b[2J",
  "\u001b]0;t",
  "\u0007",
  "\u001b\\",
  "\u007f",
  "\u0085",
  "\u2028",
  "\u202e",
  "\ufdd0",
  "\ufffe",
  "\u{1f600}",
  "\u{10ffff}",
  '"\\',
  " ",
  "=",
];
const bytes = [
  Buffer.from([0xff]),
  Buffer.from([0xe2, 0x82]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from([0xc0, 0xaf]),
];

/** Values about the lengths at which journalctl shows something else. */
const lengths = [299, 300, 301, 4087, 4088, 4089, 4096, 5000];

function hostileEntries(): readonly (readonly Field[])[] {
  const random = createRandom(seed);
  const value = (): string | Buffer => {
    if (random.chance(0.1)) return "x".repeat(random.pick(lengths));
    const parts = Array.from({ length: random.integer(6) }, () =>
      random.chance(0.1) ? random.pick(bytes) : Buffer.from(random.pick(pieces)),
    );
    return Buffer.concat(parts);
  };
  const names = ["_HOSTNAME", "SYSLOG_IDENTIFIER", "_COMM", "_PID", "SYSLOG_PID", "OTHER", "MESSAGE"];
  return Array.from({ length: byLength(1_000, 5_000) }, (_, position) => [
    ["POSITION", String(position)],
    ...(random.chance(0.9) ? [["MESSAGE", value()] as const] : []),
    ...names.flatMap((name): readonly Field[] => (random.chance(0.3) ? [[name, value()]] : [])),
    ...(random.chance(0.2)
      ? [["_SOURCE_REALTIME_TIMESTAMP", random.pick(["0", "x", "1600000000000000", "-1", ""])] as const]
      : []),
  ]);
}

function writeHostile(): JournalFolder {
  const [kind] = fileKinds;
  if (kind === undefined) throw new Error("there is no kind of file");
  const { writer, ...folder } = createFolder(kind);
  const entries = hostileEntries().map((fields, at) => {
    const bootId = boots[at % 100 < 50 ? 0 : 1] ?? "";
    return { bootId, realtime: start + at * 1_000_003, monotonic: 1_000 + at, fields };
  });
  writer.append("system.journal", entries);
  return folder;
}

/** journalctl has the members of JSON in no order: each line is compared with its members sorted. */
function canonical(output: JournalOutput, written: Buffer): string {
  const text = written.toString("latin1");
  if (output === "json") {
    const lines = text.split("\n").filter((line) => line !== "");
    return lines
      .map((line) =>
        line
          .slice(1, -1)
          .split(/,(?="[A-Z_0-9]+":)/)
          .sort()
          .join("\n"),
      )
      .join("\n\n");
  }
  if (output !== "json-pretty") return text;
  return text
    .split("\n}\n")
    .map((each) =>
      each
        .split(/,?\n(?=\t"|\{)/)
        .sort()
        .join("\n"),
    )
    .join("\n\n");
}

async function written(
  { engine, answers }: { readonly engine: Engine; readonly answers: Map<string, readonly LogEntry[]> },
  output: JournalOutput,
  all: boolean,
  fields?: readonly string[],
): Promise<Buffer> {
  const options = { all, fields };
  const wanted = fieldsOf(output, options);
  const format = createJournalFormat(output, options);
  const parts: Buffer[] = [];
  const query: LogQuery = { ...everything, isFromOldest: true, fields: wanted === "*" ? "all" : wanted.split(",") };
  // Most ways to write an entry need all of its fields.
  const logs = answers.get(wanted) ?? answerOf(engine, query).logs;
  answers.set(wanted, logs);
  for (const entry of logs) {
    parts.push(format(await wholeEntry(entry, () => Promise.reject(new Error("an entry was cut")))));
  }
  return Buffer.concat(parts);
}

/** Where two texts differ, with what stands around it: they may have megabytes. */
function difference(ours: string, theirs: string): readonly string[] | undefined {
  if (ours === theirs) return undefined;
  let at = 0;
  while (ours[at] === theirs[at]) at += 1;
  return [ours, theirs].map((text) => JSON.stringify(text.slice(Math.max(0, at - 100), at + 60)));
}

const canRun = canMakeJournals();
/** The clock times of an entry are local. */
const zone = process.env["TZ"];

describe.skipIf(!canRun)("what is written of entries, against journalctl", () => {
  const chosen = ["every kind of entry in one file", "one boot in files that were rotated"];
  const cases = ["hostile values in every field", ...chosen];
  beforeAll(() => {
    process.env["TZ"] = "UTC";
  });
  afterAll(() => {
    if (zone === undefined) delete process.env["TZ"];
    else process.env["TZ"] = zone;
  });

  describe.each(cases)("%s", (name) => {
    let folder: JournalFolder;
    let engine: Engine;
    const answers = new Map<string, readonly LogEntry[]>();
    beforeAll(() => {
      const corpus = corpora.find((each) => each.name === name);
      const [kind] = fileKinds;
      folder = corpus === undefined || kind === undefined ? writeHostile() : writeCorpus(corpus, kind);
      engine = createEngine({ roots: [{ path: folder.path }] });
    });
    afterAll(() => {
      engine?.dispose();
      folder?.remove();
    });
    const journalctl = (...options: readonly string[]): Buffer => runJournalctl(["-D", folder.path, ...options]).stdout;

    it.each(journalOutputs.flatMap((output) => [false, true].map((all) => [output, all] as const)))(
      "-o %s, all %s",
      async (output, all) => {
        const theirs = canonical(output, journalctl("-o", output, ...(all ? ["-a"] : [])));
        const ours = canonical(output, await written({ engine, answers }, output, all));
        expect(difference(ours, theirs)).toBeUndefined();
      },
    );

    it.each(["export", "json", "verbose", "cat"] as const)("-o %s with some fields", async (output) => {
      // Of several fields cat has no order.
      const fields = output === "cat" ? ["OTHER"] : ["PRIORITY", "MESSAGE", "OTHER"];
      const theirs = canonical(output, journalctl("-o", output, `--output-fields=${fields.join(",")}`));
      expect(
        difference(canonical(output, await written({ engine, answers }, output, false, fields)), theirs),
      ).toBeUndefined();
    });

    it("lists boots, names of fields and their values", () => {
      const lines = journalctl("--list-boots", "--quiet").toString().trim().split("\n");
      const boots = engine.list({ what: "boots", units: undefined });
      const shown = (boots.what === "boots" ? boots.boots : []).map(({ index, id }: JournalBoot) => `${index} ${id}`);
      const theirs = lines
        .filter((line) => !line.startsWith("IDX"))
        .map((line) => line.trim().split(/\s+/, 2).join(" "));
      expect(shown).toEqual(theirs);
      const names = engine.list({ what: "names", units: undefined });
      expect(names).toEqual({ what: "names", names: journalctl("-N").toString().trim().split("\n").sort() });
      const values = engine.list({ what: "values", units: undefined, name: "PRIORITY" });
      const texts = values.what === "values" ? values.values.values.map(({ text }) => text ?? "") : [];
      expect(texts.sort()).toEqual(journalctl("-F", "PRIORITY").toString().split("\n").slice(0, -1).sort());
    });

    it("lists of some units what their entries have", () => {
      const units = ["a.service"];
      const { logs } = answerOf(engine, { ...everything, units, fields: "all" });
      const found = new Set(logs.flatMap(({ fields = [] }) => fields.map((field) => field.name)));
      expect(engine.list({ what: "names", units })).toEqual({ what: "names", names: [...found].sort() });
      const listed = engine.list({ what: "boots", units });
      const ids = listed.what === "boots" ? listed.boots.map(({ id }) => id) : [];
      expect(new Set(ids)).toEqual(new Set(logs.map((entry) => entry.boot_id)));
    });
  });
});

describe.skipIf(!canRun)("values that are too long for one answer", () => {
  it("come in parts, of several in one entry too", async () => {
    const [kind] = fileKinds;
    if (kind === undefined) throw new Error("there is no kind of file");
    const { writer, path, remove } = createFolder(kind);
    const long = [7, 13, 1].map((size, at) => Buffer.alloc(size * 1024 * 1024, `é${at}\n`));
    const fields = long.map((value): Field => ["OTHER", value]);
    // In JSON six times as long.
    const control = "\u0001";
    const message: Field = ["MESSAGE", Buffer.alloc(9 * 1024 * 1024, control)];
    writer.append("system.journal", [
      { bootId: boots[0] ?? "", realtime: start, monotonic: 1, fields: [message, ...fields] },
    ]);
    const engine = createEngine({ roots: [{ path }] });
    try {
      const [entry] = answerOf(engine, { ...everything, fields: "all" }).logs;
      if (entry === undefined) throw new Error("the entry is not there");
      let asked = 0;
      const raw = await wholeEntry(entry, ({ entry: cursor, fields: name, offset }) => {
        asked += 1;
        return Promise.resolve(answerOf(engine, { ...everything, entry: { cursor, offset }, fields: [name] }));
      });
      const values = raw.fields.filter(({ name }) => name === "OTHER").map((field) => field.bytes);
      expect(values.map((value, at) => value.equals(long[at] ?? Buffer.alloc(0)))).toEqual([true, true, true]);
      expect(asked).toBeLessThan(20);
    } finally {
      engine.dispose();
      remove();
    }
  });
});
