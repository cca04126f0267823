import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createEngine, type Engine } from "#adapters/journald/engine.ts";
import { createHostJournal } from "#adapters/journald/index.ts";
import type { LogList } from "#contract/logs.ts";
import { createTemplateSearch } from "#domain/logs/live-search.ts";
import { type CountedTemplate, JournalUnavailable, type TemplateQuery } from "#domain/ports/journal.ts";
import type { BoundedAnswer, BoundedRun } from "../journals/bounded-run.ts";
import { boots, start } from "../journals/entries.ts";
import { encodeEntry, type Field } from "../journals/export-format.ts";
import { everything } from "../journals/known.ts";
import { appendToJournal, canMakeJournals } from "../journals/programs.ts";
import { decoded, never, openJournal } from "../journals/reader.ts";

const kind = { compact: true, keyedHash: true, compress: false };
const entryAt = (at: number, fields: readonly Field[], boot = 0): Buffer =>
  encodeEntry({ realtime: start + at, monotonic: at + 1, bootId: boots[boot] ?? "", fields });

const letter = (at: number, place: number): string =>
  String.fromCodePoint(97 + ((Math.imul(at + 1, Math.imul(place + 7, 0x9e37_79b1)) >>> 27) % 26));

/** Entries that would fill the memory of anyone who keeps all of what they say. */
const floods: readonly (readonly [name: string, count: number, fieldsOf: (at: number) => readonly Field[]])[] = [
  [
    "very many words",
    2_000,
    (at) => [["MESSAGE", Array.from({ length: 250 }, (_, place) => letter(at, place)).join(" ")]],
  ],
  [
    "long names of source files",
    250,
    (at) => [
      ["MESSAGE", "said"],
      ["CODE_FILE", `${"x".repeat(500_000)}/${at}.c`],
      ["CODE_LINE", "3"],
    ],
  ],
  [
    "long names of programs",
    250,
    (at) => [
      ["MESSAGE", "said"],
      ["SYSLOG_IDENTIFIER", `${letter(at, 1)}${letter(at, 2)}${letter(at, 3)}${"x".repeat(500_000)}`],
    ],
  ],
];

describe.skipIf(!canMakeJournals())("templates of messages that a program makes up", () => {
  const messageId = "0123456789abcdef0123456789abcdef";
  const said = (user: string, message: string): readonly Field[] => [
    ["_SYSTEMD_UNIT", `app@${user}.service`],
    ["MESSAGE_ID", messageId],
    ["MESSAGE", message],
  ];
  let directory: string;
  let journal: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "steward-templates-"));
    journal = join(directory, "system.journal");
  });
  afterEach(() => rmSync(directory, { recursive: true }));
  const write = (all: readonly (readonly Field[])[], first = 0, compress = false): void =>
    appendToJournal(
      journal,
      { ...kind, compress },
      all.map((fields, at) => entryAt(first + at, fields)),
    );
  const templatesOf = (engine: Engine, units?: readonly string[]): readonly CountedTemplate[] => {
    const query = { ...everything, units, before: undefined, status: undefined };
    return engine.ask({ what: "templates", query }).templates;
  };

  it.each(floods)("are counted within 96 MiB of heap: %s", async (_, count, fieldsOf) => {
    const entries = Array.from({ length: count }, (__, at) => fieldsOf(at));
    write(entries, 0, true);
    const run: BoundedRun = { directory, queries: [{}] };
    const program = join(import.meta.dirname, "../journals/bounded-run.ts");
    const argv = ["--max-old-space-size=96", program, JSON.stringify(run)];
    const { stdout } = await promisify(execFile)(process.execPath, argv);
    expect((JSON.parse(stdout) as BoundedAnswer).ofTemplates).toBe(count);
  });

  it("show only words that all of their messages have, later and earlier ones too", () => {
    const engine = createEngine({ roots: [{ path: directory }] });
    try {
      write([said("bob", "secret plan begins")]);
      expect(templatesOf(engine).map(({ text }) => text)).toEqual(["secret plan begins"]);
      write([said("alice", "nothing new")], 1);
      expect(templatesOf(engine, ["app@alice.service"])).toMatchObject([{ text: "<*>", count: 1 }]);
      const words = "abcdefghijklmnopqrstuvwxyz".split("").map((each) => each.repeat(3));
      const other = createEngine({ roots: [{ path: directory }] });
      write(
        words.map((word) => said("bob", `secret plan has ${word} parts`)),
        2,
      );
      for (const each of [engine, other])
        expect(templatesOf(each, ["app@alice.service"])).toMatchObject([{ text: "<*>", count: 1 }]);
      other.dispose();
    } finally {
      engine.dispose();
    }
  });

  const askFor = (engine: Engine, template: string, units?: readonly string[]): LogList =>
    decoded<LogList>(engine.query({ ...everything, template, units }));

  it("find their entries as more are written, and are not shown to callers who see other units only", () => {
    const engine = createEngine({ roots: [{ path: directory }] });
    try {
      write([said("bob", "plan 1"), [["MESSAGE", "port 22 is open"]], [["MESSAGE", "port 23 is open"]]]);
      const [open, plan] = templatesOf(engine).map(({ id }) => id) as [string, string];
      expect(askFor(engine, open)).toMatchObject({ total: 2 });
      write([[["MESSAGE", "port 24 is open"]], said("alice", "plan 2"), said("bob", "plan 3")], 3);
      expect(askFor(engine, open)).toMatchObject({ total: 3 });
      expect(askFor(engine, plan, ["app@bob.service"]).logs.map(({ message }) => message)).toEqual([
        "plan 1",
        "plan 3",
      ]);
      const refused = expect.objectContaining({ name: "LogQueryRefused", field: "template" });
      expect(() => askFor(engine, open, ["app@bob.service"])).toThrow(refused);
      expect(() => askFor(engine, plan, ["app@carol.service"])).toThrow(refused);
      expect(() => askFor(engine, "0".repeat(16))).toThrow(refused);
    } finally {
      engine.dispose();
    }
  });

  it("are compared between two boots and two windows", () => {
    const texts = ["up", "shut", "up", "lost", "up"];
    appendToJournal(
      journal,
      { ...kind, compress: false },
      texts.map((text, at) => entryAt(at, [["MESSAGE", `port is ${text}`]], at < 2 ? 0 : 1)),
    );
    const engine = createEngine({ roots: [{ path: directory }] });
    const compared = (query: Pick<TemplateQuery, "before"> & Partial<TemplateQuery>) => {
      const { total, templates } = engine.ask({
        what: "templates",
        query: { ...everything, status: undefined, ...query },
      });
      return [total, templates.map(({ text, before, count, status }) => [text, before, count, status])];
    };
    try {
      const before = { since: 0, until: Infinity, boot: boots[0] };
      expect(compared({ boot: "0", before })).toEqual([
        5,
        [
          ["port is lost", 0, 1, "new"],
          ["port is shut", 1, 0, "gone"],
          ["port is up", 1, 2, "same"],
        ],
      ]);
      const early = { since: start + 1, until: start + 2, boot: undefined };
      expect(compared({ since: start + 2, until: start + 3, before: early })).toEqual([
        4,
        [
          ["port is lost", 0, 1, "new"],
          ["port is shut", 1, 0, "gone"],
          ["port is up", 1, 1, "same"],
        ],
      ]);
    } finally {
      engine.dispose();
    }
  });

  it("are those of entries that are followed as they are written", async () => {
    write([[["MESSAGE", "port 22 is open"]], [["MESSAGE", "port 22 is shut"]]]);
    const reader = openJournal(directory);
    const ended = new AbortController();
    try {
      const query = { ...everything, before: undefined, status: undefined };
      const { templates } = await reader.journal.templates(query, never);
      const { id = "" } = templates.find(({ text }) => text.endsWith("open")) ?? {};
      const { logs } = await reader.ask(everything);
      const ofTemplate = createTemplateSearch(reader.journal);
      const everywhere = { units: undefined, namespace: "*" };
      const more = ["port 23 is open", "port 24 is shut", "port 25 is open", "end"];
      write(
        more.map((message) => [["MESSAGE", message]]),
        2,
      );
      const found: string[] = [];
      for await (const batch of reader.journal.follow({ cursor: logs.at(-1)?.cursor }, ended.signal)) {
        for (const { entry } of await ofTemplate(id, everywhere, batch, never)) found.push(entry.message);
        if (batch.at(-1)?.entry.message === "end") break;
      }
      expect(found).toEqual(["port 23 is open", "port 25 is open"]);
      await expect(ofTemplate(id, { ...everywhere, units: ["other.service"] }, [], never)).rejects.toThrow(
        /id of a template/,
      );
    } finally {
      ended.abort();
      reader.dispose();
    }
  });

  it("are counted once after a question was given up in the middle of a file", () => {
    const kinds = ["opened", "closed", "refused"];
    write(
      Array.from({ length: 9_000 }, (_, at) => [
        ["MESSAGE", `connection ${kinds[at % kinds.length] ?? ""} after ${at} ms ${"x".repeat(300)}`],
      ]),
    );
    let left = 1;
    const giveUp = (): void => {
      left -= 1;
      if (left < 0) throw new JournalUnavailable("nobody waits");
    };
    const engine = createEngine({ roots: [{ path: directory }], beforeRead: giveUp });
    try {
      let given = 0;
      let found: readonly CountedTemplate[] | undefined;
      for (let reads = 1; found === undefined; reads += 1) {
        left = reads;
        try {
          found = templatesOf(engine);
        } catch (error) {
          expect(error).toBeInstanceOf(JournalUnavailable);
          given += 1;
        }
      }
      expect(given).toBeGreaterThan(3);
      expect(found.map(({ count }) => count)).toEqual([3_000, 3_000, 3_000]);
    } finally {
      engine.dispose();
    }
  });
});

describe.skipIf(!canMakeJournals())("templates that the host remembers", () => {
  const usual = ["alice", "bob", "carol", "dave", "erin"];
  const refused = (user: string): readonly Field[] => [
    ["_SYSTEMD_UNIT", "gate.service"],
    ["SYSLOG_IDENTIFIER", "gate"],
    ["PRIORITY", "3"],
    ["MESSAGE", `login of ${user} was refused`],
  ];
  let directory: string;
  let journal: string;
  let templatesFile: string;
  let faults: string[];
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "steward-remembered-"));
    journal = join(directory, "journal/system.journal");
    mkdirSync(join(directory, "journal"));
    templatesFile = join(directory, "log-templates.json");
    faults = [];
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const write = (all: readonly (readonly Field[])[], first = 0): void =>
    appendToJournal(
      journal,
      { ...kind, compress: true },
      all.map((fields, at) => entryAt(first + at, fields)),
    );
  const opened = () => {
    const engine = createEngine({
      roots: [{ path: join(directory, "journal") }],
      templatesFile,
      onDamage: ({ path }) => void faults.push(path),
    });
    const count = () =>
      engine.ask({ what: "templates", query: { ...everything, before: undefined, status: undefined } });
    const errorsSince = (since: number) => engine.ask({ what: "errors", query: { since } });
    const learn = (): void => {
      while (!engine.learn(0));
    };
    const totalOf = (template: string): number => decoded<LogList>(engine.query({ ...everything, template })).total;
    return { [Symbol.dispose]: engine.dispose, errorsSince, count, learn, totalOf };
  };

  it("keep their ids as they become more general, over a restart, and after their entries are gone", () => {
    write(usual.map(refused));
    let former: readonly string[];
    {
      using before = opened();
      before.learn();
      former = before.count().templates.map(({ id }) => id);
      expect(former).toHaveLength(usual.length);
      write([refused("frank")], usual.length);
      before.learn();
    }
    using after = opened();
    const [general, ...others] = after.count().templates;
    expect([general?.text, general?.count, others]).toEqual(["login of <*> was refused", 6, []]);
    const { id = "" } = general ?? {};
    expect([id, ...former].map(after.totalOf)).toEqual(Array(6).fill(6));
    expect(general?.firstError).toBe(start);
    const error = { id, unit: "gate.service", text: "login of <*> was refused", firstError: start };
    expect(after.errorsSince(start)).toMatchObject({ knownSince: start, errors: [error] });
    // The sixth made no new error of them.
    expect(after.errorsSince(start + 1).errors).toEqual([]);

    rmSync(journal);
    write([refused("grace"), refused("alice")], 60);
    expect(after.count().templates).toMatchObject([
      { id, text: "login of <*> was refused", count: 2, firstError: start },
    ]);
    rmSync(templatesFile);
    expect(after.count().templates.map(({ text }) => text)).toEqual([
      "login of grace was refused",
      "login of alice was refused",
    ]);
  });

  it("are learned by a thread in turns, and are not known before its end", async () => {
    const { journal: read, dispose } = createHostJournal({
      dir: join(directory, "journal"),
      templatesFile,
      onUnreadable: ({ path }) => void faults.push(path),
    });
    try {
      write([...usual, "frank"].map(refused));
      expect(await read.rememberedErrors(0, never)).toEqual({ knownSince: null, errors: [], unread: [] });
      while (!(await read.learnTemplates(never)));
      expect(await read.rememberedErrors(0, never)).toMatchObject({
        knownSince: start,
        errors: [{ firstError: start }],
      });
      write([refused("grace")], 60);
      expect([await read.learnTemplates(never), faults]).toEqual([true, []]);
    } finally {
      dispose();
    }
  });

  it("are rebuilt with the same ids where the table is lost or damaged", () => {
    write([...usual, "frank"].map(refused));
    using host = opened();
    host.learn();
    const table = readFileSync(templatesFile, "utf8");
    for (const damaged of ["", table.slice(0, 99), "[]", '{"version":0}']) {
      writeFileSync(templatesFile, damaged);
      expect(host.count().templates).toMatchObject([{ text: "login of <*> was refused", firstError: undefined }]);
      host.learn();
      expect([damaged, readFileSync(templatesFile, "utf8")]).toEqual([damaged, table]);
    }
    expect(new Set(faults)).toEqual(new Set([templatesFile]));
  });

  it("stay bounded whatever a program makes up: 100 000 units, long messages, control characters", () => {
    const flood = Array.from({ length: 100_000 }, (_, at): readonly Field[] => [
      ["_SYSTEMD_UNIT", `u${letter(at, 1)}${letter(at, 2)}${letter(at, 3)}${letter(at, 4)}${at}.service`],
      ["PRIORITY", "3"],
      ["MESSAGE", `\u001b[31m${letter(at, 5)} said\u0000`],
    ]);
    write([
      ...flood,
      [
        ["PRIORITY", "3"],
        ["MESSAGE", "x".repeat(1024 * 1024)],
      ],
      refused("alice"),
    ]);
    using host = opened();
    host.learn();
    const { total, other, templates } = host.count();
    expect(total).toBe(100_002);
    expect(other).toBeGreaterThan(90_000);
    expect(templates.every(({ text }) => !/\p{Cc}/u.test(text))).toBe(true);
    const { templates: rows } = JSON.parse(readFileSync(templatesFile, "utf8")) as { templates: readonly unknown[] };
    expect(rows.length).toBeLessThanOrEqual(8192);
    expect(readFileSync(templatesFile).length).toBeLessThan(8 * 1024 * 1024);
    expect(faults).toEqual([]);
  });
});
