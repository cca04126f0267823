import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { createJournalStorage } from "#adapters/journald/storage.ts";
import type { JournalStorage } from "#domain/ports/journal.ts";
import { createFakeJournalStorage, fakeJournalSize } from "../fakes/journal.ts";

const own = "0123456789abcdef0123456789abcdef";
const other = "fedcba9876543210fedcba9876543210";
const archived = `system@${own}-0000000000000001-000660d14909de87.journal`;
let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "steward-journal-size-"));
  for (const [name, bytes] of [
    [`disk/${own}/system.journal`, 40_960],
    [`disk/${own}/${archived}`, 12_288],
    [`disk/${own}/user-1000@000660d14909de87-0123456789abcdef.journal~`, 8_192],
    [`disk/${own}/user-1000@5.journal~`, 8_192],
    [`disk/${own}/notes.txt`, 81_920],
    [`disk/${other}/${archived}`, 16_384],
    ["disk/b/remote.journal", 4_096],
    ["memory/a/system.journal", 16_384],
    ["machine-id", 0],
  ] as const) {
    mkdirSync(join(root, name, ".."), { recursive: true });
    writeFileSync(join(root, name), "x".repeat(bytes));
  }
  writeFileSync(join(root, "machine-id"), `${own}\n`);
});
afterAll(() => rmSync(root, { recursive: true }));

const signal = new AbortController().signal;
/** journalctl that does nothing, or refuses; what the real one does is seen in test/host. */
const asked: (readonly string[])[] = [];
const journalctl =
  (stderr = ""): Exec =>
  (argv) => {
    asked.push(argv);
    // As the real one: it ends well whatever it could not do.
    return Promise.resolve({ exitCode: 0, stdout: "", stderr, truncated: false });
  };
const expected = { diskBytes: 90_112, memoryBytes: 16_384, files: 7, archivedBytes: 20_480, activeBytes: 40_960 };
const at = (disk: string, memory: string, exec = journalctl()): JournalStorage =>
  createJournalStorage({
    exec,
    directories: { disk: join(root, disk), memory: join(root, memory), machineId: join(root, "machine-id") },
  });
const refusing = (): JournalStorage => {
  const fake = createFakeJournalStorage(fakeJournalSize());
  fake.refusal = "journalctl says: Failed to rotate";
  return fake;
};

describe.each([
  [
    "its fake",
    () => createFakeJournalStorage(fakeJournalSize(expected)),
    () => createFakeJournalStorage(undefined),
    refusing,
  ],
  [
    "journald's directories",
    () => at("disk", "memory"),
    () => at("none", "none"),
    () => at("disk", "memory", journalctl("x\nFailed to rotate\n")),
  ],
])("the journal's storage on %s", (_, make, makeAbsent, makeRefusing) => {
  it("counts the journal files of all machines, and what can be vacuumed of this one's", async () => {
    expect(await make().size(signal)).toMatchObject(expected);
  });

  it("has no size where there is no journal", async () => {
    expect(await makeAbsent().size(signal)).toBeUndefined();
  });

  it("is rotated and vacuumed, or the reason is given", async () => {
    const storage = make();
    expect(storage.canRotate).toBe(true);
    await storage.rotate(signal);
    await storage.vacuum(1000, signal);
    await expect(makeRefusing().rotate(signal)).rejects.toThrow("journalctl says: Failed to rotate");
    await expect(makeRefusing().vacuum(1000, signal)).rejects.toThrow("journalctl says: Failed to rotate");
  });
});

describe("the journal's directory that settings name", () => {
  it("has a size of its own, of whatever machine its files are", async () => {
    const storage = createJournalStorage({ exec: journalctl(), dir: `${root}/disk/` });
    expect(storage.canRotate).toBe(false);
    expect(await storage.size(signal)).toEqual({
      ...expected,
      memoryBytes: 0,
      files: 6,
      archivedBytes: 36_864,
      activeBytes: 0,
      directory: join(root, "disk"),
    });
    // Zero would stand for no limit.
    await storage.vacuum(0.4, signal);
    expect(asked.at(-1)).toContain("--vacuum-size=1");
  });
});

describe("a vacuum of the journal by journalctl", () => {
  it.each([
    [1, "No journal files were found.\n", "journalctl says: No journal files were found."],
    [1, "", "journalctl says: exit code 1"],
  ])("fails with exit code %i and %j", async (exitCode, stderr, message) => {
    const exec: Exec = () => Promise.resolve({ exitCode, stdout: "", stderr, truncated: false });
    await expect(createJournalStorage({ exec }).vacuum(1, signal)).rejects.toThrow(message);
  });

  it("does not fail for files that journalctl cannot read", async () => {
    await at("disk", "memory", journalctl("Journal file x is truncated, ignoring file.\n")).vacuum(1, signal);
  });
});
