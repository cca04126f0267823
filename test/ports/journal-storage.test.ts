import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createJournalStorage } from "#adapters/journald/storage.ts";
import type { JournalStorage } from "#domain/health/ports.ts";
import { createFakeJournalStorage } from "../fakes/journal-storage.ts";

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "steward-journal-size-"));
  for (const [name, bytes] of [
    ["disk/a/system.journal", 40_960],
    ["disk/a/user-1000@5.journal~", 8_192],
    ["disk/a/notes.txt", 81_920],
    ["disk/b/remote.journal", 4_096],
    ["memory/a/system.journal", 16_384],
  ] as const) {
    mkdirSync(join(root, name, ".."), { recursive: true });
    writeFileSync(join(root, name), "x".repeat(bytes));
  }
});
afterAll(() => rmSync(root, { recursive: true }));

const signal = new AbortController().signal;
const expected = { diskBytes: 53_248, memoryBytes: 16_384, files: 4 };
const at = (disk: string, memory: string): JournalStorage =>
  createJournalStorage({ disk: join(root, disk), memory: join(root, memory) });

describe.each([
  ["fake", () => createFakeJournalStorage(expected), () => createFakeJournalStorage(undefined)],
  ["journald's folders", () => at("disk", "memory"), () => at("none", "none")],
])("journal storage: %s", (_, make, makeAbsent) => {
  it("counts the journal files of all machines and nothing else", async () => {
    expect(await make().size(signal)).toEqual(expected);
  });

  it("knows when there is no journal", async () => {
    expect(await makeAbsent().size(signal)).toBeUndefined();
  });
});
