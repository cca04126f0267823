import { constants, zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { unpackTogether } from "./data.ts";

const texts = [1, 40, 255, 256, 700, 5_000, 32_768].map((size) =>
  Buffer.from("MESSAGE=a text".repeat(size)).subarray(0, size),
);

describe("payloads that are unpacked together", () => {
  it("are the same as unpacked one by one", () => {
    expect(unpackTogether(texts.map((text) => zstdCompressSync(text)))).toEqual(texts);
  });

  it("are left to be unpacked one by one where one is damaged or not as journald writes it", () => {
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
