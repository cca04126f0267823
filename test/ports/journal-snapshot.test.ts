import { mkdtempDisposableSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createBudget } from "#adapters/journald/budget.ts";
import { createEngine, type Engine } from "#adapters/journald/engine.ts";
import { createFollower, type Follower } from "#adapters/journald/follower.ts";
import { createBlockPool } from "#adapters/journald/journal-file/blocks.ts";
import { countOf, toOffsets, within } from "#adapters/journald/postings.ts";
import { createRegistry } from "#adapters/journald/registry.ts";
import { openSource, type Source } from "#adapters/journald/source.ts";
import type { LogList } from "#contract/logs.ts";
import { fileKinds } from "../journals/corpora.ts";
import { boots, everyday, start } from "../journals/entries.ts";
import type { NewEntry } from "../journals/export-format.ts";
import { answerOf, everything } from "../journals/known.ts";
import { createLiveDirectory, entriesOfNow, type LiveDirectory } from "../journals/live-directory.ts";
import { anatomyOf } from "../journals/mutations.ts";
import { canMakeJournals } from "../journals/programs.ts";
import { smallJournal } from "../journals/small-journal.ts";
import { createRandom } from "../support/random.ts";

/** Called after the header of a file was read, with the name of the file. */
let onHeader: ((file: string) => void) | undefined;

vi.mock("node:fs", async (importActual) => {
  const actual = await importActual<typeof import("node:fs")>();
  const readSync = (fd: number, buffer: Buffer, offset: number, length: number, position: number): number => {
    const count = actual.readSync(fd, buffer, offset, length, position);
    if (position === 0 && length < 1024) onHeader?.(basename(actual.readlinkSync(`/proc/self/fd/${fd}`)));
    return count;
  };
  return { ...actual, readSync };
});

describe.skipIf(!canMakeJournals())("journal entries that are written between the reads of two files", () => {
  let directory: LiveDirectory;
  let engine: Engine;
  const files = ["system.journal", "user-1000.journal"];
  const append = (file: string, message: string): void =>
    directory.append(file, entriesOfNow([[["MESSAGE", message]]]));

  beforeEach(() => {
    directory = createLiveDirectory();
    for (const file of files) append(file, `before in ${file}`);
    engine = createEngine({ roots: [{ path: directory.path }] });
  });
  afterEach(() => {
    onHeader = undefined;
    engine.dispose();
    directory.remove();
  });

  /** Writes an entry to the file that was just inspected, and then one to the other. */
  const writeAtNextLook = (): void => {
    onHeader = (file) => {
      onHeader = undefined;
      append(file, "first");
      append(files.find((other) => other !== file) ?? "", "second");
    };
  };

  it("are not skipped by paging on by next_cursor", () => {
    const ask = (cursor: string | undefined): LogList => answerOf(engine, { ...everything, cursor });
    let { next_cursor: cursor } = ask(undefined);
    writeAtNextLook();
    const found: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const { logs, next_cursor: next } = ask(cursor ?? undefined);
      found.push(...logs.map(({ message }) => message));
      cursor = next;
    }
    expect(found).toEqual(["first", "second"]);
  });

  it("reach a follower in their order", () => {
    const registry = createRegistry([{ path: directory.path }], () => undefined);
    const [last] = entriesOfNow([[]]);
    if (last === undefined) throw new Error("no time");
    const follower = createFollower(registry, { timestamp: last });
    expect(follower.next()).toEqual([]);
    writeAtNextLook();
    const found: string[] = [];
    for (let round = 0; round < 3; round += 1) found.push(...follower.next().map(({ entry }) => entry.message));
    expect(found).toEqual(["first", "second"]);
    registry.dispose();
  });

  describe("and copied to a file on the disk before their own is deleted", () => {
    const inMemory = "in-memory.journal";
    const onDisk = "on-disk.journal";
    /** Follows until there is nothing new, and does something after the first time. */
    const follow = (meanwhile: () => void): readonly string[] => {
      const found: string[] = [];
      const registry = createRegistry([{ path: directory.path }], () => undefined, {
        keepMs: 0,
        onGoing: (sources) => follower.passCopies(sources),
      });
      const [first] = entriesOfNow([[]]);
      if (first === undefined) throw new Error("no time");
      const follower: Follower = createFollower(registry, {
        timestamp: { ...first, realtime: first.realtime - 1e9, monotonic: 0 },
      });
      // What was there before is not new.
      follower.next();
      write();
      const messages = () => follower.next().map(({ entry }) => entry.message);
      found.push(...messages());
      meanwhile();
      for (let more = messages(); more.length > 0; more = messages()) found.push(...more);
      registry.dispose();
      return found;
    };
    const texts = Array.from({ length: 600 }, (_, at) => `line ${at}`);
    let entries: readonly NewEntry[];
    let write: () => void;
    beforeEach(() => {
      entries = entriesOfNow(texts.map((text) => [["MESSAGE", text] as const]));
    });
    const remove = (): void => rmSync(join(directory.path, inMemory));

    it("reach a follower once that is in the middle of entries of one microsecond", () => {
      const [first] = entries;
      const atOnce = entries.map((entry) => ({
        ...entry,
        realtime: first?.realtime ?? 0,
        monotonic: first?.monotonic ?? 0,
      }));
      write = () => {
        directory.append(inMemory, atOnce);
        directory.append(onDisk, atOnce);
      };
      const found = follow(remove);
      expect(found.length).toBe(texts.length);
      expect(new Set(found)).toEqual(new Set(texts));
    });

    it("reach a follower once that did not read meanwhile", () => {
      write = () => {
        directory.append(inMemory, entries);
        directory.append(onDisk, entries.slice(0, 1));
      };
      const found = follow(() => {
        directory.append(onDisk, entries.slice(1));
        remove();
      });
      expect(found).toEqual(texts);
    });
  });
});

describe.skipIf(!canMakeJournals())("a journal file that is written while it is read", () => {
  let directory: LiveDirectory;
  beforeEach(() => {
    directory = createLiveDirectory();
  });
  const of = (unit: string, count: number): readonly NewEntry[] =>
    entriesOfNow(
      Array.from({ length: count }, (_, at) => [
        ["_SYSTEMD_UNIT", unit],
        ["MESSAGE", `${unit} ${at}`],
      ]),
    );
  const rare = "_SYSTEMD_UNIT=rare.service";
  let damages: string[];
  let source: Source;
  /** A file whose end has been read, and not yet its middle, which reports what is written to the end. */
  const openWithEndRead = (end: readonly NewEntry[]): void => {
    directory.append("system.journal", [...of("often", 750), ...of("rare.service", 1), ...of("usual", 250), ...end]);
    damages = [];
    const reported = (_: string, what: string): void => void damages.push(what);
    source = openSource(
      { path: join(directory.path, "system.journal"), namespace: "" },
      createBlockPool(1024),
      createBudget({ maxBytes: 2 ** 20, ownBytes: 0, sharedBytes: 0, usage: new Int32Array(1), place: 0 }),
      reported,
    );
    const list = source.all();
    expect(source.head(list.at(list.length - 1))).toBeDefined();
  };
  afterEach(() => {
    source.close();
    directory.remove();
  });

  it("takes no new object for damage", () => {
    openWithEndRead([]);
    directory.append("system.journal", of("rare.service", 3));
    expect(toOffsets(source.entriesWith(rare)).length).toBeGreaterThan(0);
    expect(damages).toEqual([]);
    source.refresh();
    expect(toOffsets(source.entriesWith(rare))).toHaveLength(4);
  });

  it("counts no entry that was written since the last refresh", () => {
    openWithEndRead(of("rare.service", 1));
    const list = source.all();
    const upToNow = list.at(list.length - 1) + 1;
    directory.append("system.journal", of("rare.service", 1));
    expect(countOf(within(source.entriesWith(rare), 0, upToNow))).toBe(2);
    source.refresh();
    expect(countOf(source.entriesWith(rare))).toBe(3);
    expect(damages).toEqual([]);
  });
});

const halfWrittenEntries = everyday(createRandom(1), { bootId: boots[0] ?? "", realtime: start, monotonic: 1 }, 40);

/** The journal as it is while journald writes its last entry: it is counted, and only the first of its fields know of it. */
function halfWritten(journal: Buffer, linked: number): Buffer {
  const { bytes, objects, isCompact } = anatomyOf(Buffer.from(journal));
  const last = objects.findLast(({ type }) => type === 3);
  if (last === undefined) throw new Error("no entry");
  const itemSize = isCompact ? 4 : 16;
  for (let at = last.offset + 64 + linked * itemSize; at < last.offset + last.size; at += itemSize) {
    const data = isCompact ? bytes.readUInt32LE(at) : Number(bytes.readBigUInt64LE(at));
    const count = bytes.readBigUInt64LE(data + 56) - 1n;
    bytes.writeBigUInt64LE(count, data + 56);
    if (count === 0n) bytes.writeBigUInt64LE(0n, data + 40);
  }
  return bytes;
}

it.each(fileKinds)("a journal entry that was read half written is found by all of its fields later: $name", (kind) => {
  using directory = mkdtempDisposableSync(join(tmpdir(), "steward-half-"));
  const path = join(directory.path, "system.journal");
  const journal = smallJournal(halfWrittenEntries, kind);
  const roots = [{ path: directory.path }];
  const totals = (engine: Engine): readonly number[] => {
    const { unit = "", identifier = "" } = answerOf(engine, everything).logs.at(-1) ?? {};
    const filters = [{ units: [unit] }, { identifier }, { priority: 6 }, { grep: "request|x" }];
    return filters.map((filter) => answerOf(engine, { ...everything, ...filter }).total);
  };
  for (const linked of [0, 3]) {
    const engine = createEngine({ roots });
    writeFileSync(path, halfWritten(journal, linked));
    const before = totals(engine);
    writeFileSync(path, journal);
    const fresh = createEngine({ roots });
    const expected = totals(fresh);
    expect(before).not.toEqual(expected);
    expect(totals(engine)).toEqual(expected);
    engine.dispose();
    fresh.dispose();
  }
});
