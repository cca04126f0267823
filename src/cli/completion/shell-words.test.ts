import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bashReply, isOffered, readTyped } from "./shell-words.ts";

describe("a typed word", () => {
  it.each([
    ["ngi", "ngi", ""],
    [String.raw`a\ b\\x2d`, String.raw`a b\x2d`, ""],
    ["'a b", "a b", "'"],
    [`"a'b`, "a'b", '"'],
    [`a'b'"c"d`, "abcd", ""],
    ["$(x)", "$(x)", ""],
    ["a\\", "a\\", ""],
  ])("is read from %s", (word, text, open) => expect(readTyped(word)).toEqual({ text, open }));
});

describe("a completion for bash", () => {
  it.each([
    ["nginx.service", "ngi", 0, "nginx.service"],
    ["getty@tty1.service", "getty@tt", 5, "@tty1.service"],
    ["a:b", "a:", 2, "b"],
    [String.raw`d\x2d`, "d", 0, String.raw`d\\x2d`],
    ["nginx.service", "'ngi", 1, "nginx.service"],
    [String.raw`d\x2d`, "'d", 1, undefined],
    ["it's", '"it', 1, undefined],
    ["a$b", "a'$b'", 3, undefined],
  ])("of %s after %s", (name, typed, kept, reply) => expect(bashReply(name, typed, kept)).toBe(reply));

  it("is one word that bash reads as the name", () => {
    const names = fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCodePoint(code)) });
    fc.assert(
      fc.property(names.filter(isOffered), (name) => {
        const reply = bashReply(name, "", 0) ?? "";
        expect(readTyped(reply)).toEqual({ text: name, open: "" });
        expect(reply.replaceAll(/\\./g, "")).toMatch(/^[\w@%+=:,./-]*$/);
      }),
    );
  });
});

it.each(["", "-x", "a b", "a\tb", "a\nb", "\u001b[2J", "\u202ea", "a".repeat(257)])(
  "the name %j is not offered as a completion",
  (name) => expect(isOffered(name)).toBe(false),
);
