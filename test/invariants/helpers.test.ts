import { describe, expect, it } from "vitest";
import { filesBelow, read } from "./project.ts";

const sources = filesBelow("src").filter((path) => /(?<!\.test)\.ts$/.test(path));

interface Helper {
  readonly path: string;
  readonly name: string;
  readonly isExported: boolean;
  /** What it does, in one line. */
  readonly text: string;
}

/** Functions at the top of a file. */
function functionsOf(path: string): readonly Helper[] {
  const found = read(path).matchAll(
    /^(export )?(?:(?:async )?function\*? (\w+)([\s\S]*?^\})|const (\w+)(?:: [^=]+)? = ((?:async )?(?:<[^\n]*>)?\([^;]*?=>\s+(?:\{$[\s\S]*?^\}|[\s\S]*?);$))/gm,
  );
  return [...found].map(([, exported, named, body, constant, arrow]) => ({
    path,
    name: named ?? constant ?? "",
    isExported: exported !== undefined,
    text: (body ?? arrow ?? "").replaceAll(/\s+/g, " "),
  }));
}

const functions = sources.flatMap(functionsOf);
const floor = /^src\/(?:kernel|adapters\/files)\//;

describe("helpers", () => {
  it("of src/kernel and src/adapters/files are defined nowhere else", () => {
    const names = new Set(
      functions.filter(({ path, isExported }) => isExported && floor.test(path)).map(({ name }) => name),
    );
    expect([...names]).toEqual(expect.arrayContaining(["errorMessage", "isRecord", "counted", "writeFileAtomic"]));
    const others = functions.filter(({ path }) => !floor.test(path));
    expect(others.filter(({ name }) => names.has(name)).map(({ path, name }) => `${name} in ${path}`)).toEqual([]);
  });

  it("are not written twice", () => {
    expect(functions.length).toBeGreaterThan(1000);
    const first = new Map<string, string>();
    const again = functions.flatMap(({ path, name, text }) => {
      const key = `${name} ${text}`;
      const earlier = first.get(key);
      first.set(key, earlier ?? path);
      return earlier === undefined || earlier === path ? [] : [`${name} of ${path} is in ${earlier} already`];
    });
    expect(again).toEqual([]);
  });
});
