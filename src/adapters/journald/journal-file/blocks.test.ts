import { randomBytes } from "node:crypto";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { createBlockPool, createBlocks } from "./blocks.ts";

const blockSize = 16_384;
const content = randomBytes(40 * blockSize);
const folder = mkdtempSync(join(tmpdir(), "steward-blocks-"));
const path = join(folder, "file");
writeFileSync(path, content);
const fd = openSync(path, "r");
afterAll(() => {
  closeSync(fd);
  rmSync(folder, { recursive: true, force: true });
});

it.each([
  ["no limit", Number.POSITIVE_INFINITY],
  ["no room", -1],
])("gives the bytes of the file after reading ahead with %s", (_, room) => {
  const pool = createBlockPool(64, () => {}, { room: () => room, count: () => {} });
  const blocks = createBlocks(fd, pool, pool.nextFileKey());
  for (const from of [0, 5, 11, 3]) {
    blocks.readAhead(from * blockSize, (from + 12) * blockSize);
    for (let number = from + 12; number >= from; number -= 1)
      for (const at of [blockSize - 16, 100, 5000]) {
        const offset = number * blockSize + at;
        const start = blocks.seek(offset, 64);
        expect(blocks.view.bytes.subarray(start, start + 64)).toEqual(content.subarray(offset, offset + 64));
      }
  }
});
