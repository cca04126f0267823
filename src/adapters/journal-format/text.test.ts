import { describe, expect, it } from "vitest";
import { fieldValue, sizeText, withoutStyles } from "./text.ts";

const plain = (text: string): string => withoutStyles(Buffer.from(text)).toString();

describe("text of the journal's output formats", () => {
  it.each([
    ["a\tb", "a        b"],
    ["\u001b[1;31mred\u001b[0m", "red"],
    ["\u001b]0;title\u0007x", "x"],
    ["\u001b[2Jx", "\u001b[2Jx"],
    ["\u001b\u001b[31mx", "\u001b\u001b[31mx"],
    ["\u001b[31", "\u001b[31"],
    ["a\r\r\nb\r", "a\nb"],
    ["a\rb", "a\rb"],
  ])("%j is shown as %j", (given, shown) => {
    expect(plain(given)).toBe(shown);
  });

  it("distinguishes printable from other values", () => {
    const isPrintable = (bytes: Buffer): boolean => fieldValue("MESSAGE", bytes).isPrintable;
    for (const text of ["", "é\t\n", "\u00ad", "\u{1f600}"])
      expect([text, isPrintable(Buffer.from(text))]).toEqual([text, true]);
    for (const text of ["\0", "\u001b", "\u007f", "\u0085", "\ufdd0", "\uffff", "\u{10fffe}"])
      expect([text, isPrintable(Buffer.from(text))]).toEqual([text, false]);
    expect(isPrintable(Buffer.from([0xff]))).toBe(false);
  });

  it("writes sizes as systemd does", () => {
    expect([0, 1023, 1024, 1_200_000, 8 * 2 ** 20, 3 * 2 ** 30].map(sizeText)).toEqual([
      "0B",
      "1023B",
      "1.0K",
      "1.1M",
      "8.0M",
      "3.0G",
    ]);
  });
});
