import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createBlockPool, DamagedJournal } from "./blocks.ts";
import { NotAJournal, openJournalFile, parseHeader } from "./file.ts";
import * as layout from "./layout.ts";

let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "journal-file-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

/** A file with a header and, after it, the bytes 0, 1, 2, … of which every multiple of 4096 begins a data object. */
function writeFile(length: number): string {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at += 1) bytes[at] = at & 0xff;
  bytes.fill(0, 0, 256);
  bytes.write(layout.signature, 0, "latin1");
  bytes.writeBigUInt64LE(256n, layout.header.headerSize);
  for (let at = 4096; at + 64 <= length; at += 4096) {
    bytes.fill(0, at, at + 16);
    bytes.writeUInt8(layout.objectType.data, at);
    bytes.writeBigUInt64LE(64n, at + 8);
  }
  const path = join(directory, "some.journal");
  writeFileSync(path, bytes);
  return path;
}

it("any bytes are a journal header or are refused as none", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.boolean(), (bytes, isSigned) => {
      const buffer = Buffer.from(bytes);
      if (isSigned) buffer.write(layout.signature, 0, "latin1");
      try {
        expect(parseHeader(buffer).headerSize).toBeGreaterThanOrEqual(layout.minHeaderSize);
      } catch (error) {
        expect(error).toBeInstanceOf(NotAJournal);
      }
    }),
  );
});

describe("an open journal file", () => {
  it("gives any of its bytes, through blocks or around them", () => {
    const length = 300_000;
    // Space for two blocks only, so that they take each other's place.
    const file = openJournalFile(writeFile(length), createBlockPool(2));
    const expected = (at: number): number => at & 0xff;
    fc.assert(
      fc.property(fc.integer({ min: 300, max: length - 1 }), fc.integer({ min: 1, max: 70_000 }), (start, wanted) => {
        fc.pre(start % 4096 > 16 && start + 1 <= length);
        const count = Math.min(wanted, length - start);
        const at = file.blocks.seek(start, count);
        expect(file.blocks.view.bytes[at]).toBe(expected(start));
        const last = start + count - 1;
        if (last % 4096 > 16) expect(file.blocks.view.bytes[at + count - 1]).toBe(expected(last));
      }),
    );
    file.close();
  });

  it.each([
    ["no limit", Number.POSITIVE_INFINITY],
    ["no space", -1],
  ])("gives the same bytes after reading ahead with %s", (_, space) => {
    const length = 300_000;
    const path = writeFile(length);
    const file = openJournalFile(
      path,
      createBlockPool(24, () => {}, { space: () => space, count: () => {} }),
    );
    const bytes = readFileSync(path);
    const place = fc.tuple(fc.boolean(), fc.nat({ max: length - 1 }), fc.integer({ min: 1, max: 150_000 }));
    fc.assert(
      fc.property(fc.array(place), (places) => {
        for (const [isAhead, start, wanted] of places) {
          const count = Math.min(wanted, length - start);
          // Beyond its end there is nothing to read ahead.
          if (isAhead) file.blocks.readAhead(start - 1_000, start + wanted);
          const at = file.blocks.seek(start, Math.min(count, 5_000));
          const found = file.blocks.view.bytes.subarray(at, at + Math.min(count, 5_000));
          expect(found.equals(bytes.subarray(start, start + Math.min(count, 5_000)))).toBe(true);
        }
      }),
    );
    file.close();
  });

  it("gives an object only where a complete one is", () => {
    const file = openJournalFile(writeFile(20_000), createBlockPool(4));
    expect(file.object(4096, layout.objectType.data, 64)).toBe(64);
    for (const [offset, type] of [
      [4100, layout.objectType.data],
      [4096, layout.objectType.entry],
      [0, layout.objectType.data],
      [19_992, layout.objectType.data],
      [2 ** 40, layout.objectType.data],
      [Number.MAX_SAFE_INTEGER, layout.objectType.data],
    ] as const) {
      expect(() => file.object(offset, type, 64)).toThrow(DamagedJournal);
    }
    file.close();
  });

  it("is damaged where it has become shorter than it was", () => {
    const path = writeFile(200_000);
    const file = openJournalFile(path, createBlockPool(4));
    truncateSync(path, 10_000);
    expect(() => file.blocks.seek(150_000, 64)).toThrow(DamagedJournal);
    file.close();
  });
});

it("a pipe with the name of a journal blocks no reader", () => {
  const path = join(directory, "pipe.journal");
  execFileSync("mkfifo", [path]);
  expect(() => openJournalFile(path, createBlockPool(1))).toThrow();
});
