import fc from "fast-check";
import { expect, it } from "vitest";
import { createStanzaReader, fieldOf, linesOf, parseStanzas } from "./deb822.ts";

const word = fc.stringMatching(/^[a-zäöü0-9.()+-]{1,12}$/);
const value = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join(" "));
const field = fc.record({
  name: fc.stringMatching(/^[A-Z][a-z]{1,8}(-[A-Z][a-z]{1,5})?$/),
  lines: fc.array(value, { minLength: 1, maxLength: 4 }),
});
const stanza = fc.uniqueArray(field, { minLength: 1, maxLength: 6, selector: ({ name }) => name });
type Stanza = readonly { readonly name: string; readonly lines: readonly string[] }[];

const write = (fields: Stanza): string =>
  fields
    .map(({ name, lines: [first, ...others] }) => [`${name}: ${first}`, ...others.map((each) => ` ${each}`)].join("\n"))
    .join("\n");

it("a stanza reader reads what was written, wherever it is cut", () => {
  fc.assert(
    fc.property(fc.array(stanza, { maxLength: 8 }), fc.integer({ min: 1, max: 40 }), (stanzas, size) => {
      const bytes = Buffer.from(stanzas.map(write).join("\n\n"));
      const read: string[] = [];
      const reader = createStanzaReader((each) => read.push(each));
      for (let at = 0; at < bytes.length; at += size) reader.take(bytes.subarray(at, at + size));
      reader.end();
      expect(read).toEqual(stanzas.map(write));
      for (const [at, fields] of stanzas.entries())
        for (const { name, lines } of fields) {
          expect(fieldOf(read[at] ?? "", name)).toBe(lines[0]);
          expect(linesOf(read[at] ?? "", name)).toEqual([lines[0], ...lines.slice(1).map((line) => ` ${line}`)]);
        }
    }),
  );
});

it("a stanza reader reads any bytes the same as in one piece", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), fc.integer({ min: 1, max: 50 }), (given, size) => {
      const bytes = Buffer.from(given);
      const read: string[] = [];
      const reader = createStanzaReader((each) => read.push(each));
      for (let at = 0; at < bytes.length; at += size) reader.take(bytes.subarray(at, at + size));
      reader.end();
      expect(read.join("")).toBe(parseStanzas(bytes.toString("utf8")).join(""));
      for (const each of read) expect([fieldOf(each, "Package"), linesOf(each, "Package").length >= 0]).toHaveLength(2);
    }),
  );
});

it("a stanza has the value of the field itself, not of one with a similar name", () => {
  const text = "Package: one\nDescription: two\n Version: 3\nXVersion: 4\n";
  expect([fieldOf(text, "Version"), fieldOf(text, "Package"), linesOf(text, "Absent")]).toEqual(["", "one", []]);
});

it("a stanza reader fails on a stanza without an end", () => {
  const reader = createStanzaReader(() => undefined);
  const piece = Buffer.alloc(1024 * 1024, "x");
  expect(() => {
    for (let at = 0; at < 10; at += 1) reader.take(piece);
  }).toThrow(RangeError);
});
