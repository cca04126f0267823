import { expect, it } from "vitest";
import { jenkinsHash, remainder, sipHash24 } from "./hash.ts";

const counting = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, index) => index));
const hex = ({ high, low }: { readonly high: number; readonly low: number }): string =>
  high.toString(16).padStart(8, "0") + low.toString(16).padStart(8, "0");

// The paper's own example, and the first, a middle and a last of the vectors that its authors publish.
it.each([
  [0, "726fdb47dd0e0e31"],
  [8, "93f5f5799a932462"],
  [15, "a129ca6149be45e5"],
  [63, "958a324ceb064572"],
])("computes SipHash-2-4 of %i counting bytes", (length, expected) => {
  expect(hex(sipHash24(counting(length), counting(16)))).toBe(expected);
});

// Examples in the comments of lookup3's author.
it.each([
  ["", "deadbeefdeadbeef"],
  ["Four score and seven years ago", "17770551ce7226e6"],
])("computes lookup3 of %j", (text, expected) => {
  expect(hex(jenkinsHash(Buffer.from(text)))).toBe(expected);
});

it("computes the remainder of a hash of 64 bits", () => {
  expect(remainder({ high: 0xffff_ffff, low: 0xffff_ffff }, 233_016)).toBe(Number((2n ** 64n - 1n) % 233_016n));
});
