import { execFile } from "node:child_process";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { createEngine, type Engine } from "#adapters/journald/engine.ts";
import { type CountedTemplate, JournalUnavailable } from "#domain/ports/journal.ts";
import type { BoundedAnswer, BoundedRun } from "../journals/bounded-run.ts";
import { boots, start } from "../journals/entries.ts";
import { encodeEntry, type Field } from "../journals/export-format.ts";
import { everything } from "../journals/known.ts";
import { appendToJournal, canMakeJournals } from "../journals/programs.ts";

const kind = { compact: true, keyedHash: true, compress: false };
const entryAt = (at: number, fields: readonly Field[]): Buffer =>
  encodeEntry({ realtime: start + at, monotonic: at + 1, bootId: boots[0] ?? "", fields });

const letter = (at: number, place: number): string =>
  String.fromCodePoint(97 + ((Math.imul(at + 1, Math.imul(place + 7, 0x9e37_79b1)) >>> 27) % 26));

describe.skipIf(!canMakeJournals())("templates of messages that a program makes up", () => {
  it("fit into memory where they have very many words", { timeout: 120_000 }, async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "steward-templates-"));
    const entries = Array.from({ length: 2_000 }, (_, at) =>
      entryAt(at, [["MESSAGE", `${Array.from({ length: 250 }, (__, place) => letter(at, place)).join(" ")}`]]),
    );
    appendToJournal(join(folder.path, "system.journal"), kind, entries);
    const run: BoundedRun = { folder: folder.path, queries: [{}] };
    const program = join(import.meta.dirname, "../journals/bounded-run.ts");
    const argv = ["--max-old-space-size=96", program, JSON.stringify(run)];
    const { stdout } = await promisify(execFile)(process.execPath, argv);
    const answer = JSON.parse(stdout) as BoundedAnswer;
    expect(answer.ofTemplates).toBe(entries.length);
  });

  const templatesOf = (engine: Engine, units?: readonly string[]): readonly CountedTemplate[] => {
    const query = { ...everything, units, splitAt: undefined, status: undefined };
    const answer = engine.count({ what: "templates", query });
    if (answer.what !== "templates") throw new Error(`answered ${answer.what}`);
    return answer.counts.templates;
  };
  const messageId = "0123456789abcdef0123456789abcdef";
  const said = (user: string, message: string): readonly Field[] => [
    ["_SYSTEMD_UNIT", `app@${user}.service`],
    ["MESSAGE_ID", messageId],
    ["MESSAGE", message],
  ];

  it("have only words that all of them have, also of those that come later", () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "steward-templates-"));
    const path = join(folder.path, "system.journal");
    const engine = createEngine({ roots: [{ path: folder.path }] });
    try {
      appendToJournal(path, kind, [entryAt(0, said("bob", "secret plan begins"))]);
      expect(templatesOf(engine).map(({ text }) => text)).toEqual(["secret plan begins"]);
      appendToJournal(path, kind, [entryAt(1, said("alice", "nothing new"))]);
      expect(templatesOf(engine, ["app@alice.service"])).toMatchObject([{ text: "<*>", count: 1 }]);
    } finally {
      engine.dispose();
    }
  });

  it("have only such words however many there were before", () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "steward-templates-"));
    const words = "abcdefghijklmnopqrstuvwxyz".split("").map((letter) => letter.repeat(3));
    const entries = [
      ...words.map((word) => said("bob", `secret plan has ${word} parts`)),
      said("alice", "nothing new"),
    ];
    appendToJournal(
      join(folder.path, "system.journal"),
      kind,
      entries.map((fields, at) => entryAt(at, fields)),
    );
    const engine = createEngine({ roots: [{ path: folder.path }] });
    try {
      expect(templatesOf(engine, ["app@alice.service"])).toMatchObject([{ text: "<*>", count: 1 }]);
    } finally {
      engine.dispose();
    }
  });

  it.each([
    [
      "of files",
      (at: number): readonly Field[] => [
        ["CODE_FILE", `${"x".repeat(500_000)}/${at}.c`],
        ["CODE_LINE", "3"],
      ],
    ],
    [
      "of programs",
      (at: number): readonly Field[] => [
        ["SYSLOG_IDENTIFIER", `${letter(at, 1)}${letter(at, 2)}${letter(at, 3)}${"x".repeat(500_000)}`],
      ],
    ],
  ])("keep nothing of long names %s but a part", { timeout: 120_000 }, async (_, fieldsOf) => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "steward-templates-"));
    const entries = Array.from({ length: 250 }, (_, at) => entryAt(at, [["MESSAGE", "said"], ...fieldsOf(at)]));
    appendToJournal(join(folder.path, "system.journal"), { ...kind, compress: true }, entries);
    const run: BoundedRun = { folder: folder.path, queries: [{}] };
    const program = join(import.meta.dirname, "../journals/bounded-run.ts");
    const argv = ["--max-old-space-size=96", program, JSON.stringify(run)];
    const { stdout } = await promisify(execFile)(process.execPath, argv);
    expect((JSON.parse(stdout) as BoundedAnswer).ofTemplates).toBe(entries.length);
  });

  it("are counted once where a question was given up while a file was read for the first time", {
    timeout: 120_000,
  }, () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "steward-templates-"));
    const kinds = ["opened", "closed", "refused"];
    const entries = Array.from({ length: 9_000 }, (_, at) =>
      entryAt(at, [["MESSAGE", `connection ${kinds[at % kinds.length] ?? ""} after ${at} ms ${"x".repeat(300)}`]]),
    );
    appendToJournal(join(folder.path, "system.journal"), kind, entries);
    let left = 1;
    const giveUp = (): void => {
      left -= 1;
      if (left < 0) throw new JournalUnavailable("nobody waits");
    };
    const engine = createEngine({ roots: [{ path: folder.path }], beforeRead: giveUp });
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
