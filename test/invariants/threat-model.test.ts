import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const page = new URL("../../docs/threat-model.md", import.meta.url);
const text = readFileSync(page, "utf8");

interface Link {
  readonly name: string;
  readonly target: string;
}

const linksOf = (line: string): readonly Link[] =>
  [...line.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)].map(([, name = "", target = ""]) => ({ name, target }));
const testsOf = (line: string): readonly Link[] => linksOf(line).filter(({ target }) => /^\.\.\/.*test/.test(target));
const rowsOf = (lines: readonly string[]): readonly string[] =>
  lines.filter((line) => /^\| (?!-)/.test(line) && !/\| shown by +\|$/.test(line));
const sectionOf = (heading: string): readonly string[] => {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => line.startsWith(`### ${heading}`));
  const length = lines.slice(start + 1).findIndex((line) => /^##/.test(line));
  return lines.slice(start + 1, start + 1 + length);
};

describe("the threat model", () => {
  const compromised = rowsOf(sectionOf("A compromised service"));

  it("has what a compromised service can do, and what it cannot", () => {
    expect(compromised.length).toBeGreaterThan(20);
  });

  it.each(compromised)("names for a sentence about a compromised service a test that there is: %s", (row) => {
    const shown = testsOf(row.split(" | ").at(-1) ?? "");
    expect(shown).not.toEqual([]);
    for (const { name, target } of shown) expect(readFileSync(new URL(target, page), "utf8")).toContain(`"${name}`);
  });

  it.each(rowsOf(sectionOf("A peer on the network")).concat(rowsOf(sectionOf("The holder of a narrow key"))))(
    "says what shows that an attack is kept off: %s",
    (row) => expect(linksOf(row.split(" | ").at(-1) ?? "")).not.toEqual([]),
  );

  it("leads to files that there are", () => {
    const local = linksOf(text).filter(({ target }) => !/^(https?:|#)/.test(target));
    for (const { target } of local)
      expect([target, existsSync(new URL(target.replace(/#.*/, ""), page))]).toEqual([target, true]);
  });
});
