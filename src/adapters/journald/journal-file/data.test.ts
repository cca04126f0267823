import { constants, zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { unpackTogether } from "./data.ts";

const texts = [1, 40, 255, 256, 700, 5_000, 32_768].map((size) =>
  Buffer.from("MESSAGE=a text".repeat(size)).subarray(0, size),
);

describe("unpackTogether", () => {
  it("gives the same as each for itself", () => {
    expect(unpackTogether(texts.map((text) => zstdCompressSync(text)))).toEqual(texts);
  });

  it("leaves alone what does not look as journald writes it, and what is damaged", () => {
    const [frame, other] = [zstdCompressSync(texts[4] ?? ""), zstdCompressSync(texts[5] ?? "")];
    const summed = zstdCompressSync(texts[5] ?? "", { params: { [constants.ZSTD_c_checksumFlag]: 1 } });
    const cut = other.subarray(0, -1);
    const bent = Buffer.from(other);
    bent.writeUInt8(255, 8);
    for (const odd of [summed, cut, bent, Buffer.alloc(64), zstdCompressSync(Buffer.alloc(40_000))]) {
      expect(unpackTogether([frame, odd, frame])).toBeUndefined();
    }
    expect(unpackTogether([frame])).toBeUndefined();
  });
});
