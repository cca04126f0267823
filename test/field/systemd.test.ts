import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createEngine } from "#adapters/journald/engine.ts";
import { fileKinds } from "../journals/corpora.ts";
import { answerOf, everything } from "../journals/known.ts";
import { appendToJournal, canMakeJournals } from "../journals/programs.ts";
import { describeCases, uncovered } from "./cases.ts";

const byTheBus = "units, their states and properties are read from the bus";

describeCases("systemd", ({ text, files }) => {
  it("every file is read below, or no reader is for it", () => {
    const read = ["journal-two-boots.export"];
    const json = "journal-coredump-null-field.json";
    const unread = Object.fromEntries(
      files()
        .filter((file) => !read.includes(file))
        .map((file) => [file, file === json ? "journal entries are read from the files of the journal" : byTheBus]),
    );
    expect(uncovered(files(), { read, unread })).toEqual([]);
    expect(Object.keys(unread)).toHaveLength(10);
  });

  it.skipIf(!canMakeJournals())("the export of two boots has both, each with its kernel's first line", () => {
    const folder = mkdtempSync(join(tmpdir(), "steward-field-"));
    const [kind] = fileKinds;
    try {
      const entries = text("journal-two-boots.export").trim().split("\n\n");
      const bytes = entries.map((entry) => Buffer.from(`${entry}\n\n`));
      appendToJournal(join(folder, "system.journal"), kind, bytes);
      const engine = createEngine({ roots: [{ path: folder }], onDamage: () => undefined });
      const { logs } = answerOf(engine, everything);
      engine.dispose();
      expect(logs.map(({ boot_id: boot, timestamp }) => [boot, timestamp])).toEqual([
        ["0ffe5f74a4bd49ca8597eb05fe1a512a", "2024-09-17T15:09:15.776730Z"],
        ["457105b2d84547a4b4549f0eaa700b61", "2024-09-19T20:31:30.550047Z"],
      ]);
      expect(logs.every(({ message }) => message.startsWith("Linux version 6.1.0-25-amd64 "))).toBe(true);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
