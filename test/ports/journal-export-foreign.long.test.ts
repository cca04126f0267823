import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createEngine, type Engine } from "#adapters/journald/engine.ts";
import { createHostJournal, type HostJournal } from "#adapters/journald/index.ts";
import { readableFlags } from "#adapters/journald/journal-file/layout.ts";
import { type ExportQuery, JournalUnavailable } from "#domain/ports/journal.ts";
import { createFolder } from "../journals/corpora.ts";
import { boots, everyday, messageEntries, start, timed } from "../journals/entries.ts";
import { canonicalLine, exported, exportOf, splitExport } from "../journals/exported.ts";
import { incompatible } from "../journals/file-header.ts";
import { canMakeJournals } from "../journals/programs.ts";
import { createRandom } from "../support/random.ts";

const never = new AbortController().signal;

describe.skipIf(!canMakeJournals())("an export of files that only journalctl reads", () => {
  let folder: ReturnType<typeof createFolder>;
  let engine: Engine;
  let host: HostJournal;
  beforeAll(() => {
    folder = createFolder({ compact: true, keyedHash: true, compress: true });
    const random = createRandom(1);
    const clock = { bootId: boots[0] ?? "", realtime: start, monotonic: 1 };
    folder.writer.append("system.journal", everyday(random, clock, 700));
    const later = { bootId: boots[1] ?? "", realtime: start + 9e9, monotonic: 1 };
    folder.writer.rotate("system.journal", timed(random, later, messageEntries));
    engine = createEngine({ roots: [{ path: folder.path }] });
    const readable = readableFlags & ~incompatible.compact;
    host = createHostJournal({ dir: folder.path, onUnreadable: () => undefined, readable });
  });
  afterAll(() => {
    host?.dispose();
    engine?.dispose();
    folder?.remove();
  });

  async function whole(query: ExportQuery): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for (let position = query.position; ; ) {
      const part = await host.journal.export({ ...query, position }, never);
      parts.push(part.bytes);
      if (part.next === undefined) return Buffer.concat(parts);
      position = part.next;
    }
  }

  it.each(["journal", "json", "text"] as const)("is the same as where they are read here: %s", async (format) => {
    for (const given of [{}, { grep: "request" }, { boot: "-1" }, { units: ["*.service"] }]) {
      const [ours, theirs] = [exported(engine, exportOf(format, given)), await whole(exportOf(format, given))];
      // What is read from the JSON of journalctl has its fields in another order: they have none.
      const of = (bytes: Buffer): readonly string[] => {
        if (format === "journal")
          return splitExport(bytes).map((entry) => entry.toString("latin1").split("\n").sort().join("\n"));
        const lines = bytes.toString("utf8").split("\n");
        return format === "json" ? lines.map((line) => (line === "" ? "" : canonicalLine(line))) : lines;
      };
      expect([given, ours.length > 0, of(theirs).length]).toEqual([given, true, of(ours).length]);
      const at = of(ours).findIndex((line, position) => line !== of(theirs)[position]);
      expect([given, at, of(theirs)[at]]).toEqual([given, -1, undefined]);
    }
  });

  it("is refused once one of them is gone that had more", async () => {
    const { next } = await host.journal.export(exportOf("journal"), never);
    if (next === undefined) throw new Error("it has one part only");
    rmSync(join(folder.path, "system.journal"));
    await expect(host.journal.export(exportOf("journal", { position: next }), never)).rejects.toThrow(
      JournalUnavailable,
    );
  });
});
