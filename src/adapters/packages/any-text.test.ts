import { readdirSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

type TextFunction = (text: string, exitCode: number) => unknown;

/** Exported functions of the package managers by what their names begin with, of one text unless they take an exit code as well. */
async function functionsNamed(prefix: string, length: number): Promise<readonly (readonly [string, TextFunction])[]> {
  const found: [string, TextFunction][] = [];
  const paths = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" }).sort();
  for (const path of paths.filter((each) => each.endsWith(".ts") && !each.endsWith(".test.ts"))) {
    const module = (await import(join(import.meta.dirname, path))) as Readonly<Record<string, unknown>>;
    for (const [name, value] of Object.entries(module))
      if (name.startsWith(prefix) && typeof value === "function" && value.length === length)
        found.push([`${name} of ${path}`, value as TextFunction]);
  }
  return found;
}
const parsers = await functionsNamed("parse", 1);
const reasons = await functionsNamed("failureReason", 2);

describe("output of package managers", () => {
  it.each(parsers)("may be any text: %s", (_, parse) => {
    fc.assert(fc.property(fc.string(), (text) => void parse(text, 0)));
  });

  it.each(reasons)("has a reason for any failure: %s", (_, reason) => {
    fc.assert(fc.property(fc.string(), fc.nat(), (text, exitCode) => reason(text, exitCode) !== ""));
  });

  it("is parsed by every manager", () => {
    expect([parsers.length > 40, reasons.length]).toEqual([true, 5]);
  });
});
