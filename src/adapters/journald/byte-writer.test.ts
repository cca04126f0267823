import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createByteWriter } from "./byte-writer.ts";

const written = (write: (page: ReturnType<typeof createByteWriter>) => void): string => {
  const page = createByteWriter();
  write(page);
  return page.bytes().toString("utf8");
};

describe("a page of bytes", () => {
  it("writes any bytes as a JSON string, as if they were decoded first", () => {
    const text = fc
      .oneof(fc.string({ unit: "binary" }), fc.stringMatching(/^[ -~]*$/))
      .map((each) => Buffer.from(each));
    const bytes = fc.oneof(
      text,
      fc.uint8Array().map((each) => Buffer.from(each)),
    );
    fc.assert(
      fc.property(bytes, fc.nat({ max: 7 }), fc.constantFrom(1, 200), (each, start, times) => {
        const content = Buffer.concat(Array.from({ length: times }, () => each));
        const end = start + content.length;
        const memory = new ArrayBuffer(Math.ceil((end + 8) / 4) * 4);
        const view = { bytes: Buffer.from(memory), words: new Uint32Array(memory) };
        // What is around it must not count.
        view.bytes.fill(0x22);
        content.copy(view.bytes, start);
        expect(written((page) => page.jsonString(view, start, end))).toBe(JSON.stringify(content.toString("utf8")));
      }),
    );
  });

  it("writes strings, numbers and encoded bytes of any length", () => {
    const word = fc.integer({ min: 0, max: 2 ** 32 - 1 });
    const texts = fc.array(fc.string({ unit: "grapheme", maxLength: 600 }));
    fc.assert(
      fc.property(texts, word, word, fc.nat({ max: 999_999 }), (some, high, low, number) => {
        const found = written((page) => {
          for (const text of some) page.text(text);
          page.hex(high, low);
          page.digits(number, 6);
          page.encoded(Buffer.from("end"));
        });
        const hex = ((BigInt(high) << 32n) | BigInt(low)).toString(16);
        expect(found).toBe(`${some.join("")}${hex}${String(number).padStart(6, "0")}end`);
      }),
    );
  });

  it("can be cut and read in parts where it spans many buffers", () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 700_000 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(lengths, fc.nat(), (all, some) => {
        const page = createByteWriter();
        const texts = all.map((length, at) => String.fromCharCode(97 + at).repeat(length));
        const parts = texts.map((text) => {
          const start = page.size();
          page.text(text);
          return [start, page.size()] as const;
        });
        const whole = texts.join("");
        expect(page.bytes().toString() === whole).toBe(true);
        expect(page.bytes(parts.toReversed()).toString() === texts.toReversed().join("")).toBe(true);
        const size = some % (whole.length + 1);
        page.cut(size);
        page.text("rest");
        expect(page.bytes().toString() === `${whole.slice(0, size)}rest`).toBe(true);
      }),
      { numRuns: 30 },
    );
  });
});
