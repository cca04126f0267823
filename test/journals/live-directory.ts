import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type AnyEntry, encodeEntry, type Field, type NewEntry } from "./export-format.ts";
import { appendToJournal } from "./programs.ts";

const kind = { compact: true, keyedHash: true, compress: true };
const thisBoot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim().replaceAll("-", "");

/** A directory of journals that are written to while somebody reads them. */
export interface LiveDirectory {
  readonly path: string;
  /** Appends to a file of the directory, which is made where needed. */
  readonly append: (file: string, entries: readonly AnyEntry[]) => void;
  readonly remove: () => void;
}

export function createLiveDirectory(): LiveDirectory {
  const path = mkdtempSync(join(tmpdir(), "steward-journal-"));
  return {
    path,
    append(file, entries) {
      const full = join(path, file);
      mkdirSync(dirname(full), { recursive: true });
      appendToJournal(full, kind, entries.map(encodeEntry));
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** Entries as if journald of this boot had received them now, one a microsecond. */
export function entriesOfNow(all: readonly (readonly Field[])[]): readonly NewEntry[] {
  const [realtime, monotonic] = [Date.now() * 1000, Number(process.hrtime.bigint() / 1000n)];
  return all.map((fields, index) => ({
    realtime: realtime + index,
    monotonic: monotonic + index,
    bootId: thisBoot,
    fields,
  }));
}
