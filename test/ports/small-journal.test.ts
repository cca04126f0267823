import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { boots, everyday, messageEntries, start, timed } from "../journals/entries.ts";
import { dumpJournal } from "../journals/oracle.ts";
import { packedMessages } from "../journals/packed-messages.ts";
import { canMakeJournals, type FileKind, runJournalctl } from "../journals/programs.ts";
import { smallJournal, withHashes } from "../journals/small-journal.ts";
import { createRandom } from "../support/random.ts";

const [bootId = ""] = boots;
const clock = { bootId, realtime: start, monotonic: 1_000_000 };
const entries = [
  ...everyday(createRandom(1), clock, 40),
  ...timed(createRandom(2), { ...clock, realtime: start + 3_600_000_000, monotonic: 3_601_000_000 }, messageEntries),
];

describe.runIf(canMakeJournals())("small journals are journals for systemd's own reader", () => {
  const kinds: readonly FileKind[] = [true, false].flatMap((compact) =>
    [true, false].flatMap((keyedHash) => [true, false].map((compress) => ({ compact, keyedHash, compress }))),
  );

  it.each(kinds)("compact $compact, keyed hash $keyedHash, compressed $compress", (kind) => {
    const folder = mkdtempSync(join(tmpdir(), "steward-small-journal-"));
    try {
      const path = join(folder, "system.journal");
      const journal = smallJournal(entries, kind);
      writeFileSync(path, journal);
      expect(runJournalctl(["--verify", "--file", path])).toMatchObject({ status: 0 });
      expect(dumpJournal(["--file", path]).map(({ entry }) => entry.timestamp)).toHaveLength(entries.length);
      expect(withHashes(journal).equals(journal)).toBe(true);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it.each(["LZ4", "XZ"] as const)("packed with %s", (compression) => {
    const { messages, ...packing } = packedMessages(compression);
    const packed = timed(
      createRandom(3),
      clock,
      messages.map((message) => [["MESSAGE", message] as const]),
    );
    const folder = mkdtempSync(join(tmpdir(), "steward-small-journal-"));
    try {
      const path = join(folder, "system.journal");
      writeFileSync(path, smallJournal(packed, { compact: true, keyedHash: true, compress: true }, { packing }));
      expect(runJournalctl(["--verify", "--file", path])).toMatchObject({ status: 0 });
      expect(dumpJournal(["--file", path]).map(({ entry }) => entry.message)).toEqual(messages);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
