import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainScreen, type Screen } from "./screen.ts";
import { printRows } from "./table.ts";
import { fitText, textWidth } from "./text.ts";

const narrow = (columns: number, hasColours = false): Screen => ({
  ...plainScreen,
  columns: () => columns,
  hasColours,
});

function printed(screen: Screen, head: readonly string[], rows: Parameters<typeof printRows>[2]): string {
  let text = "";
  const out = (each: string): void => {
    text += each;
  };
  printRows({ out, err: out, screen }, head, rows);
  return text;
}

describe("a table", () => {
  const rows = [
    ["nginx.service", { text: "failed", style: "red" as const }, "A high performance web server"],
    ["a.service", "active", "Something else"],
  ];

  it("is not cut in a pipe, and has no trailing blanks", () => {
    expect(printed(plainScreen, ["name", "state", "what"], rows)).toBe(
      [
        "NAME           STATE   WHAT",
        "nginx.service  failed  A high performance web server",
        "a.service      active  Something else",
        "",
      ].join("\n"),
    );
  });

  it("is nothing without rows", () => {
    expect(printed(plainScreen, ["name", "state"], [])).toBe("");
  });

  it("has its widest column cut, and drops its last columns", () => {
    expect(printed(narrow(40), ["name", "state", "what"], rows)).toBe(
      [
        "NAME           STATE   WHAT",
        "nginx.service  failed  A high performan…",
        "a.service      active  Something else",
        "",
      ].join("\n"),
    );
    expect(printed(narrow(24), ["name", "state", "what"], rows)).toBe(
      ["NAME           STATE", "nginx.service  failed", "a.service      active", ""].join("\n"),
    );
  });

  it("has colours around whole cells", () => {
    const text = printed(narrow(40, true), ["name", "state", "what"], rows);
    expect(text).toContain("\u001b[31mfailed\u001b[39m");
    expect(stripVTControlCharacters(text)).toBe(printed(narrow(40), ["name", "state", "what"], rows));
  });

  it("fits every width, without control characters", () => {
    const cell = fc.string({ unit: "grapheme", maxLength: 30 });
    const table = fc.array(fc.tuple(cell, cell, cell, cell), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(fc.integer({ min: 20, max: 100 }), table, (columns, list) => {
        const lines = printed(narrow(columns), ["a", "b", "c", "d"], list).split("\n");
        expect(lines).toHaveLength(list.length + 2);
        for (const line of lines) {
          expect(textWidth(line)).toBeLessThanOrEqual(columns);
          expect(line).not.toMatch(/\p{Cc}/u);
        }
      }),
    );
  });
});

describe("fitText", () => {
  it.each([
    ["plain", 10, "plain"],
    ["plain text", 6, "plain…"],
    ["日本語", 6, "日本語"],
    ["日本語", 5, "日本…"],
    ["日本語", 4, "日…"],
    ["e\u0301te\u0301", 3, "e\u0301te\u0301"],
    ["👨‍👩‍👧 family", 4, "👨‍👩‍👧 …"],
    ["anything", 0, ""],
  ])("%s in %i columns is %s", (text, columns, fitting) => {
    expect(fitText(text, columns)).toBe(fitting);
  });
});
