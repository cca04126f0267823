import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { readInput } from "./person.ts";

const stream = (...chunks: readonly (string | Buffer)[]) => Readable.from(chunks, { objectMode: false });

describe("standard input", () => {
  it("is all text on it, with characters that come in pieces", async () => {
    const bytes = Buffer.from("\ufeffüber ☂\0\n");
    expect(await readInput(stream(bytes.subarray(0, 4), bytes.subarray(4, 10), bytes.subarray(10)))).toBe(
      "\ufeffüber ☂\0\n",
    );
    expect(await readInput(stream())).toBe("");
  });

  it("is not waited for at a terminal", async () => {
    expect(await readInput(Object.assign(stream("typed"), { isTTY: true }))).toBeUndefined();
  });

  it("is refused when it is more than the service takes, without waiting for its end", async () => {
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
  });

  it("is refused when it is not text", async () => {
    await expect(readInput(stream(Buffer.from([0x66, 0xff])))).rejects.toThrow(/not UTF-8/);
  });
});
