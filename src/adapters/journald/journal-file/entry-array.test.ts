import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createBlockPool } from "./blocks.ts";
import type { DamagedJournal } from "./damage.ts";
import { createEntryList } from "./entry-array.ts";
import { type JournalFile, openJournalFile } from "./file.ts";
import * as layout from "./layout.ts";

const first = 32_768;
const second = 65_536;

/** An entry array with room for two entries. */
function arrayOf(items: readonly number[], next: number): Buffer {
  const bytes = Buffer.alloc(layout.entryArrayObject.items + 16);
  bytes.writeUInt8(layout.objectType.entryArray, 0);
  bytes.writeBigUInt64LE(BigInt(bytes.length), 8);
  bytes.writeBigUInt64LE(BigInt(next), layout.entryArrayObject.next);
  for (const [at, item] of items.entries()) {
    bytes.writeBigUInt64LE(BigInt(item), layout.entryArrayObject.items + 8 * at);
  }
  return bytes;
}

let folder = "";
let path = "";
let fd = -1;
let file: JournalFile;
const damages: string[] = [];

const put = (bytes: Buffer, at: number): void => void writeSync(fd, bytes, 0, bytes.length, at);
const writeCount = (entries: number): void => {
  const count = Buffer.alloc(8);
  count.writeBigUInt64LE(BigInt(entries));
  put(count, layout.header.entries);
};
const listOf = (length: number) =>
  createEntryList(file, {
    leading: undefined,
    arrayOffset: first,
    length,
    onDamage: ({ message }: DamagedJournal) => void damages.push(message),
  });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "entry-array-"));
  path = join(folder, "system.journal");
  const bytes = Buffer.alloc(131_072);
  bytes.write(layout.signature, 0, "latin1");
  bytes.writeUInt8(layout.fileState.online, layout.header.state);
  bytes.writeBigUInt64LE(256n, layout.header.headerSize);
  writeFileSync(path, bytes);
  fd = openSync(path, "r+");
  put(arrayOf([1000, 0], 0), first);
  writeCount(1);
  file = openJournalFile(path, createBlockPool(8));
  damages.length = 0;
});
afterEach(() => {
  file.close();
  closeSync(fd);
  rmSync(folder, { recursive: true });
});

describe("a list of entries in a file that is being written", () => {
  it("has the items of arrays that were added to its chain", () => {
    expect(listOf(1).at(0)).toBe(1000);
    put(arrayOf([3000, 0], 0), second);
    put(arrayOf([1000, 2000], second), first);
    writeCount(3);
    const list = listOf(3);
    expect([list.length, list.at(0), list.at(1), list.at(2)]).toEqual([3, 1000, 2000, 3000]);
    expect(damages).toEqual([]);
  });

  it("has an item that was written after its block was read", () => {
    expect(listOf(1).at(0)).toBe(1000);
    put(arrayOf([1000, 2000], 0), first);
    writeCount(2);
    expect(listOf(2).at(1)).toBe(2000);
    expect(damages).toEqual([]);
  });

  it("ends where its chain ends too soon, and is reported as damaged", () => {
    expect(listOf(5).length).toBe(2);
    expect(damages).toHaveLength(1);
    expect(damages[0]).toContain("entry array that ends too soon");
  });
});
