import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { beginningOf } from "./text.ts";

describe("beginningOf", () => {
  it.each([
    ["a short text", "one\ntwo\n", ["one", "two", ""]],
    ["nothing", "", [""]],
    ["a word too long", "x".repeat(3000), ["…[3000 characters cut off]"]],
    [
      "the middle of a word",
      `${"a ".repeat(1000)}${"k".repeat(100)}`,
      [`${"a ".repeat(1000)}…[100 characters cut off]`],
    ],
    ["JSON without a space", `{"a":"${"b".repeat(3000)}"}`, ['{"a":"…[3002 characters cut off]']],
    ["the word at the very end", `${"k".repeat(2047)} x`, [`${"k".repeat(2047)} …[1 characters cut off]`]],
  ])("takes of %s what can be taken", (_, text, lines) => {
    expect(beginningOf(text)).toEqual(lines);
  });

  it("takes no more lines than can be shown", () => {
    const lines = beginningOf("\n".repeat(2000));
    expect(lines).toEqual([...Array.from({ length: 249 }, () => ""), "…[1751 characters cut off]"]);
  });

  it("never takes more than it is told to, and is the text itself where that is all", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", " ", "\n", '"', "é"), maxLength: 900 }), (text) => {
        const lines = beginningOf(text, 300);
        const [, cut = "0"] = /…\[(\d+) characters cut off\]$/.exec(lines.at(-1) ?? "") ?? [];
        const kept = lines.join("\n").replace(/…\[\d+ characters cut off\]$/, "");
        expect(kept.length).toBeLessThanOrEqual(300);
        expect(text.startsWith(kept)).toBe(true);
        expect(kept.length + Number(cut)).toBe(text.length);
      }),
    );
  });
});
