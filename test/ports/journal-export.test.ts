import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { JournalUnavailable } from "#domain/ports/journal.ts";
import { createDirectory, fileKinds } from "../journals/corpora.ts";
import { boots, everyday, start } from "../journals/entries.ts";
import { canonicalLine, exported, exportOf, partsOf, splitExport } from "../journals/exported.ts";
import { everything } from "../journals/known.ts";
import { canMakeJournals, runJournalctl } from "../journals/programs.ts";
import { never, openJournal, type Reader } from "../journals/reader.ts";
import { createRandom } from "../support/random.ts";

const lines = (bytes: Buffer): readonly string[] => bytes.toString("latin1").split("\n").slice(0, -1);
const collect = async <T>(all: AsyncIterable<T>): Promise<readonly T[]> => {
  const found: T[] = [];
  for await (const each of all) found.push(each);
  return found;
};
const cursorOf = (entry: Buffer): string => /^__CURSOR=(.*)\n/.exec(entry.toString("latin1"))?.[1] ?? "";

describe.skipIf(!canMakeJournals())("an export of the journal in parts", () => {
  const count = 8_000;
  let directory: ReturnType<typeof createDirectory>;
  let reader: Reader;
  const [bootId = "", laterBoot = ""] = boots;
  beforeAll(() => {
    const [kind] = fileKinds;
    directory = createDirectory(kind);
    const entries = everyday(createRandom(1), { bootId, realtime: start, monotonic: 1 }, count);
    directory.writer.append("system.journal", entries.slice(0, 2_500));
    directory.writer.rotate("system.journal", entries.slice(2_500, 5_000));
    directory.writer.rotate("system.journal", entries.slice(5_000));
    reader = openJournal(directory.path);
  });
  afterAll(() => {
    reader?.dispose();
    directory?.remove();
  });

  it.each([
    ["journal", "export"],
    ["json", "json"],
    ["text", "short-iso"],
  ] as const)("has bounded parts in the format %s, together what journalctl prints", async (format, output) => {
    const parts = await collect(partsOf(reader, exportOf(format)));
    for (const { bytes } of parts) expect(bytes.length).toBeLessThan(1024 * 1024 + 64 * 1024);
    if (format !== "text") expect(parts.length).toBeGreaterThan(2);
    const theirs = runJournalctl(["-D", directory.path, "-o", output]).stdout;
    const ours = Buffer.concat(parts.map(({ bytes }) => bytes));
    if (format === "json") expect(lines(ours).map(canonicalLine)).toEqual(lines(theirs).map(canonicalLine));
    else expect(ours.equals(theirs)).toBe(true);
    const { logs } = await reader.ask({ ...everything, order: "desc", limit: 1 });
    expect(parts.at(-1)?.written).toBe(logs[0]?.cursor);
  });

  it("has all that a search finds", async () => {
    const { logs } = await reader.ask({ ...everything, grep: "e", isFromOldest: true });
    const found = splitExport(await exported(reader, exportOf("journal", { grep: "e" }))).map(cursorOf);
    expect(found).toEqual(logs.map(({ cursor }) => cursor));
  });

  it("stays with the boot that an offset meant at its start", async () => {
    const query = exportOf("journal", { boot: "0" });
    const first = await reader.journal.export(query, never);
    const later = everyday(createRandom(2), { bootId: laterBoot, realtime: start + 9e12, monotonic: 1 }, 5);
    directory.writer.append("later.journal", later);
    const rest = await collect(partsOf(reader, { ...query, position: first.next }));
    rmSync(join(directory.path, "later.journal"));
    expect(splitExport(Buffer.concat([first, ...rest].map(({ bytes }) => bytes)))).toHaveLength(count);
  });

  it("is refused once a file is gone that had more, and not for one that had been read", async () => {
    const archived = readdirSync(directory.path).filter((name) => name.includes("@"));
    const { next } = await reader.journal.export(exportOf("journal"), never);
    if (next === undefined) throw new Error("it has one part only");
    const later = (await collect(partsOf(reader, exportOf("journal")))).at(-2)?.next;
    for (const name of archived) rmSync(join(directory.path, name));
    const from = (position: typeof next | undefined) => reader.journal.export(exportOf("journal", { position }), never);
    await expect(from(next)).rejects.toThrow(JournalUnavailable);
    expect((await from(later)).bytes.length).toBeGreaterThan(0);
  });
});
