import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRange } from "./perfdata.ts";

describe("ranges", () => {
  it.each([
    ["10", 0, 10, false],
    ["10:", 10, null, false],
    ["~:10", null, 10, false],
    ["10:20", 10, 20, false],
    ["@10:20", 10, 20, true],
    ["@10", 0, 10, true],
    [":10", 0, 10, false],
    ["~:", null, null, false],
    ["-20:-10.5", -20, -10.5, false],
    ["5:5", 5, 5, false],
    ["1e3:2e3", 1000, 2000, false],
    ["0,5:1,5", 0.5, 1.5, false],
  ])("%s", (text, start, end, inside) => {
    expect(parseRange(text)).toEqual({ text, start, end, inside });
  });

  it.each(["", "@", "~", "ten", "10:~", "20:10", "1:2:3", "10%", "10 ", "1,234", "-", "@@1"])("%j is none", (text) => {
    expect(parseRange(text)).toBeUndefined();
  });

  it("hold any two numbers", () => {
    const number = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(number, number, fc.boolean(), (a, b, inside) => {
        const [start, end] = [Math.min(a, b), Math.max(a, b)];
        const text = `${inside ? "@" : ""}${start}:${end}`;
        expect(parseRange(text)).toEqual({ text, start: start + 0, end: end + 0, inside });
      }),
    );
  });

  it("never throw", () => {
    const near = fc.string({ unit: fc.constantFrom("@", "~", ":", "1", "0", ",", ".", "-", "e") });
    fc.assert(fc.property(fc.oneof(fc.string({ unit: "binary" }), near), (text) => void parseRange(text)));
  });
});
