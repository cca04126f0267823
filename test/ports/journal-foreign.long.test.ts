import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readableFlags } from "#adapters/journald/journal-file/layout.ts";
import { JournalUnavailable } from "#domain/ports/journal.ts";
import { firstDifference } from "../journals/compare.ts";
import { corpora, createFolder, fileKinds, writeCorpus } from "../journals/corpora.ts";
import { boots, everyday, start } from "../journals/entries.ts";
import { exportOf } from "../journals/exported.ts";
import { incompatible, readHeaderField, stateArchived, writeHeaderField } from "../journals/file-header.ts";
import { cursorsOf, everything, type Known, known } from "../journals/known.ts";
import { pageOf } from "../journals/oracle.ts";
import { canMakeJournals } from "../journals/programs.ts";
import { never, openJournal, type Reader } from "../journals/reader.ts";

const [bootId = ""] = boots;

/** Processes of journalctl that read a file of the directory. */
function readersOf(directory: string): readonly number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const [program = "", ...args] = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      return program.endsWith("journalctl") && args.some((each) => each.includes(directory)) ? [Number(name)] : [];
    } catch {
      // It has ended since it was listed.
      return [];
    }
  });
}

/**
 * The files with LZ4 and XZ are left to journalctl here, as if they were of an unknown kind. What they answer beside the others,
 * journal-differential compares.
 */
describe.skipIf(!canMakeJournals())("journal files that only journalctl reads, beside others", () => {
  let journal: Known;
  let reader: Reader;
  beforeEach(() => {
    const corpus = corpora.find(({ name }) => name.startsWith("payloads packed"));
    if (corpus === undefined) throw new Error("the corpus is not there");
    const [kind] = fileKinds;
    journal = known(writeCorpus(corpus, kind));
    reader = openJournal(journal.folder.path, readableFlags & ~(incompatible.lz4 | incompatible.xz));
  });
  afterEach(() => {
    reader.dispose();
    journal.folder.remove();
  });

  it("leave no journalctl behind when the caller has gone, and answer the next one", async () => {
    const gone = new AbortController();
    const first = reader.ask(everything, gone.signal).catch((error: unknown) => error);
    let [program] = readersOf(journal.folder.path);
    for (; program === undefined; [program] = readersOf(journal.folder.path)) await new Promise(setImmediate);
    // Stopped, it does not end by itself.
    process.kill(program, "SIGSTOP");
    gone.abort();
    expect(await first).toMatchObject({ name: "JournalUnavailable" });
    expect((await reader.ask({ ...everything, limit: 5 })).total).toBe(journal.all.length);
    await expect.poll(() => readersOf(journal.folder.path)).not.toContain(program);
  });

  it("leave no journalctl behind when the thread that started it ends", async () => {
    const [first = "", ...others] = cursorsOf(journal.all);
    const stream = reader.journal.follow({ cursor: first }, never)[Symbol.asyncIterator]();
    // What it has printed has been read, so the thread knows of it.
    for (let count = 0; count < others.length; ) count += (await stream.next()).value?.length ?? 0;
    const [program] = readersOf(journal.folder.path);
    if (program === undefined) throw new Error("journalctl does not follow");
    // Stopped, it does not end by itself.
    process.kill(program, "SIGSTOP");
    reader.dispose();
    try {
      await expect.poll(() => readersOf(journal.folder.path)).not.toContain(program);
    } finally {
      if (readersOf(journal.folder.path).includes(program)) process.kill(program, "SIGKILL");
    }
  });

  it("are reported where journalctl cannot read them either, and the others are answered", async () => {
    const path = join(journal.folder.path, "system@xz.journal");
    writeHeaderField(path, "incompatibleFlags", readHeaderField(path, "incompatibleFlags") | (1n << 30n));
    const others = known({ path: journal.folder.path, remove: () => undefined });
    expect(others.all.length).toBeLessThan(journal.all.length);
    expect(firstDifference(await reader.ask(everything), pageOf(others.all, everything, undefined))).toBeUndefined();
    expect(reader.unreadable).toEqual([path]);
  });

  it("are followed, also once they are archived", async () => {
    const [first = "", ...others] = cursorsOf(journal.all);
    const follow = async (): Promise<readonly string[]> => {
      const ended = new AbortController();
      const found: string[] = [];
      for await (const batch of reader.journal.follow({ cursor: first }, ended.signal)) {
        found.push(...batch.map(({ entry }) => entry.cursor));
        if (found.length >= others.length) ended.abort();
      }
      return found.toSorted();
    };
    expect(await follow()).toEqual(others.toSorted());
    for (const name of readdirSync(journal.folder.path)) {
      if (name.includes("@")) writeHeaderField(join(journal.folder.path, name), "state", BigInt(stateArchived));
    }
    expect(await follow()).toEqual(others.toSorted());
  });

  it("refuse the rest of an export once one of them is gone that had more", async () => {
    const [kind] = fileKinds;
    const folder = createFolder(kind);
    folder.writer.append(
      "system.journal",
      everyday(folder.writer.random, { bootId, realtime: start, monotonic: 1 }, 700),
    );
    const own = openJournal(folder.path, 0);
    try {
      const { next } = await own.journal.export(exportOf("journal"), never);
      if (next === undefined) throw new Error("it has one part only");
      rmSync(join(folder.path, "system.journal"));
      const rest = own.journal.export(exportOf("journal", { position: next }), never);
      await expect(rest).rejects.toThrow(JournalUnavailable);
    } finally {
      own.dispose();
      folder.remove();
    }
  });
});
