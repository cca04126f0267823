import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createEngine } from "#adapters/journald/engine.ts";
import { parseJournalctlLine } from "#adapters/journald/journalctl-entry.ts";
import { fileKinds } from "../journals/corpora.ts";
import { answerOf, everything } from "../journals/known.ts";
import { appendToJournal, canMakeJournals } from "../journals/programs.ts";
import { describeCases, uncovered } from "./cases.ts";

const byTheBus = "units, their states and properties are read from the bus";

describeCases("systemd", ({ text, files }) => {
  it("every file is read below, or no reader is for it", () => {
    const read = ["journal-coredump-null-field.json", "journal-two-boots.export"];
    const unread = Object.fromEntries(
      files()
        .filter((file) => !read.includes(file))
        .map((file) => [file, byTheBus]),
    );
    expect(uncovered(files(), { read, unread })).toEqual([]);
    expect(Object.keys(unread)).toHaveLength(9);
  });

  // A field that is null was too long for a journalctl that was not told to print all, as ours is.
  it("a core dump in journalctl's JSON has its message of many lines, its bytes, and who died when of what", () => {
    const record = parseJournalctlLine(Buffer.from(text("journal-coredump-null-field.json")));
    expect(record?.live.entry).toMatchObject({
      ...{ timestamp: "2024-07-01T11:44:06.841951Z", priority: 2, identifier: "systemd-coredump", pid: 3740 },
      message: expect.stringMatching(/^Process 3717 \(kdeconnectd\) of user 1000 dumped core\.\n\n.*\n.* abort /s),
    });
    expect(record?.raw()).toEqual(
      expect.arrayContaining([
        { name: "COREDUMP_SIGNAL_NAME", text: "SIGABRT" },
        { name: "COREDUMP_PROC_AUXV", base64: "IQAAAAAAAAAAUPWR/n8AADMAAAAAAAAAMA4AAAAAAAA=" },
      ]),
    );
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
