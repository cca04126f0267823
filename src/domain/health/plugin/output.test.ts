import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseOutput } from "./output.ts";

/** The parts with labels alone. */
const parts = (stdout: string, isCut?: boolean) => {
  const { text, longText, perfdata } = parseOutput(stdout, isCut);
  return [text, longText, perfdata.values.map(({ label, value }) => `${label}=${value}`).join(" ")];
};

describe("the output of a monitoring plugin", () => {
  it.each([
    ["", "", "", ""],
    ["DISK OK\n", "DISK OK", "", ""],
    ["DISK OK - free: 3 MB|/=5B;1;2\n", "DISK OK - free: 3 MB", "", "/=5"],
    ["DISK OK | a=1 b=2", "DISK OK", "", "a=1 b=2"],
    ["DISK OK | a=1\nmore\n\n  and more\n", "DISK OK", "more\n\n  and more", "a=1"],
    ["DISK OK | a=1\nlong\ntext | b=2\nc=3 d=4\ne=5\n", "DISK OK", "long\ntext", "a=1 b=2 c=3 d=4 e=5"],
    ["DISK OK\nlong|b=2", "DISK OK", "long", "b=2"],
    ["OK | 'a|b'=1", "OK", "", "a|b=1"],
    ["| a=1", "", "", "a=1"],
    ["\nlong", "", "long", ""],
    ["OK\r\nlong\r\n", "OK", "long", ""],
    ["O\u0000K \u001b[31mred\u009b\u007f\tx\n", "OK [31mred\tx", "", ""],
    ["gr\ufffdn \u{1f600} ü", "gr\ufffdn \u{1f600} ü", "", ""],
  ])("is parsed: %j", (stdout, ...expected) => {
    expect(parts(stdout)).toEqual(expected);
  });

  it("drops a figure that was cut off", () => {
    expect(parts("OK | a=1 b=23", true)).toEqual(["OK", "", "a=1"]);
    expect(parts("OK | a=1\nlong | b=2\nc=3", true)).toEqual(["OK", "long", "a=1 b=2"]);
    expect(parts("OK | a=1\nlong te", true)).toEqual(["OK", "long te", "a=1"]);
    expect(parts("OK | a=1 ", true)).toEqual(["OK", "", "a=1"]);
  });

  it("is parsed whatever it holds, without losing text", () => {
    const near = fc.string({ unit: fc.constantFrom("a", "|", "\n", " ", "=", "1", "'", "\u0000") });
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), near), fc.boolean(), (stdout, isCut) => {
        const { text, longText } = parseOutput(stdout, isCut);
        expect(text).not.toMatch(/[|\n]/);
        expect(longText).not.toMatch(/\|/);
        expect(`${text}${longText}`).not.toMatch(/[^\P{Cc}\n\t]/u);
      }),
      { numRuns: 1000 },
    );
    const plain = fc.string({ unit: fc.constantFrom("a", "ü", ".", "é", "1") });
    fc.assert(
      fc.property(plain, fc.array(plain), (text, lines) => {
        const output = parseOutput([text, ...lines].join("\n"));
        expect(output).toMatchObject({ text, longText: lines.join("\n").trimEnd() });
      }),
    );
  });
});
