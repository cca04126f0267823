import { rmSync } from "node:fs";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createEngine, type Engine } from "#adapters/journald/engine.ts";
import { createFollower, type Follower } from "#adapters/journald/follower.ts";
import { createRegistry } from "#adapters/journald/registry.ts";
import type { LogList } from "#contract/logs.ts";
import type { NewEntry } from "../journals/export-format.ts";
import { createLiveFolder, entriesOfNow, type LiveFolder } from "../journals/live-folder.ts";
import { canMakeJournals } from "../journals/programs.ts";

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

describe.skipIf(!canMakeJournals())("journal: entries written between reads of two files", () => {
  let folder: LiveFolder;
  let engine: Engine;
  const files = ["system.journal", "user-1000.journal"];
  const append = (file: string, message: string): void => folder.append(file, entriesOfNow([[["MESSAGE", message]]]));

  beforeEach(() => {
    folder = createLiveFolder();
    for (const file of files) append(file, `before in ${file}`);
    engine = createEngine({ roots: [{ path: folder.path }] });
  });
  afterEach(() => {
    onHeader = undefined;
    engine.dispose();
    folder.remove();
  });

  /** Writes an entry to the file that was just looked at, and then one to the other. */
  const writeAtNextLook = (): void => {
    onHeader = (file) => {
      onHeader = undefined;
      append(file, "first");
      append(files.find((other) => other !== file) ?? "", "second");
    };
  };

  const everything = {
    units: undefined,
    since: 0,
    until: 4e15,
    priority: undefined,
    identifier: undefined,
    boot: undefined,
    grep: undefined,
    order: "asc",
    limit: 100,
  } as const;

  it("is not skipped by one who goes on by next_cursor", () => {
    const ask = (cursor: string | undefined): LogList =>
      JSON.parse(Buffer.from(engine.query({ ...everything, cursor })).toString()) as LogList;
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

  it("comes in its order to a follower", () => {
    const registry = createRegistry([{ path: folder.path }], () => undefined);
    const [last] = entriesOfNow([[]]);
    if (last === undefined) throw new Error("no moment");
    const follower = createFollower(registry, { moment: last });
    expect(follower.next()).toEqual([]);
    writeAtNextLook();
    const found: string[] = [];
    for (let round = 0; round < 3; round += 1) found.push(...follower.next().map(({ entry }) => entry.message));
    expect(found).toEqual(["first", "second"]);
    registry.dispose();
  });

  describe("and is copied to a file on the disk, whose original is then deleted", () => {
    const inMemory = "in-memory.journal";
    const onDisk = "on-disk.journal";
    /** Follows until there is nothing new, and does something after the first time. */
    const follow = (meanwhile: () => void): readonly string[] => {
      const found: string[] = [];
      const registry = createRegistry([{ path: folder.path }], () => undefined, {
        keepMs: 0,
        onGoing: (sources) => follower.passCopies(sources),
      });
      const [first] = entriesOfNow([[]]);
      if (first === undefined) throw new Error("no moment");
      const follower: Follower = createFollower(registry, {
        moment: { ...first, realtime: first.realtime - 1e9, monotonic: 0 },
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
    const remove = (): void => rmSync(join(folder.path, inMemory));

    it("comes once to a follower who is in the middle of entries of one microsecond", () => {
      const [first] = entries;
      const atOnce = entries.map((entry) => ({
        ...entry,
        realtime: first?.realtime ?? 0,
        monotonic: first?.monotonic ?? 0,
      }));
      write = () => {
        folder.append(inMemory, atOnce);
        folder.append(onDisk, atOnce);
      };
      const found = follow(remove);
      expect(found.length).toBe(texts.length);
      expect(new Set(found)).toEqual(new Set(texts));
    });

    it("comes once to a follower who did not look meanwhile", () => {
      write = () => {
        folder.append(inMemory, entries);
        folder.append(onDisk, entries.slice(0, 1));
      };
      const found = follow(() => {
        folder.append(onDisk, entries.slice(1));
        remove();
      });
      expect(found).toEqual(texts);
    });
  });
});
