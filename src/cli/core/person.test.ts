import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { readInput } from "./person.ts";

const stream = (...chunks: readonly (string | Buffer)[]) => Readable.from(chunks, { objectMode: false });

describe("standard input", () => {
  it("is read to its end, with characters split over chunks", async () => {
    const bytes = Buffer.from("\ufeffüber ☂\0\n");
    expect(await readInput(stream(bytes.subarray(0, 4), bytes.subarray(4, 10), bytes.subarray(10)))).toBe(
      "\ufeffüber ☂\0\n",
    );
    expect(await readInput(stream())).toBe("");
  });

  it("is not read from a terminal", async () => {
    expect(await readInput(Object.assign(stream("typed"), { isTTY: true }))).toBeUndefined();
  });

  it("is refused when it is too long, without waiting for its end, and when it is not UTF-8", async () => {
    const most = 256 * 1024;
    expect(await readInput(stream("x".repeat(most)))).toHaveLength(most);
    const endless = Readable.from(
      (function* () {
        for (;;) yield Buffer.alloc(1024);
      })(),
      { objectMode: false },
    );
    await expect(readInput(endless)).rejects.toThrow(/longer than 262144 bytes/);
    expect(endless.destroyed).toBe(true);
    await expect(readInput(stream(Buffer.from([0x66, 0xff])))).rejects.toThrow(/not UTF-8/);
  });
});
