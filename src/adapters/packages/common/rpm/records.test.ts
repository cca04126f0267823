import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { describedCount, describedOf, listsFormat, rpmFormat } from "./described.ts";
import { createMarks, createRecordReader, parseRecords } from "./records.ts";
import { createRequiringReader, namesInReference } from "./requiring.ts";

const marks = createMarks();
const recordOf = (fields: readonly string[]): string => fields.join(marks.field) + marks.record;
const rpm = (name: string, version: string, repository: string) =>
  describedOf([
    ...[name, version, "noarch", repository, "Unspecified", "(none)", "Somebody", "(none)", "7", "9"],
    ...["a summary", "rpmlib(X) <= 1\nlib\nlib\nconfig(app) = 1\n", "app = 1\n", ""],
  ]);

describe("records of packages", () => {
  it("are parsed as they were written, whatever text packages have, and however the bytes come", () => {
    const field = fc.string({ unit: "binary", maxLength: 12 }).filter((text) => !/^\n|[\ud800-\udfff]/.test(text));
    const records = fc.array(fc.tuple(field, field, field), { maxLength: 6 });
    fc.assert(
      fc.property(records, fc.integer({ min: 1, max: 7 }), fc.boolean(), (wanted, step, hasLines) => {
        const bytes = Buffer.from(wanted.map((fields) => recordOf(fields) + (hasLines ? "\n" : "")).join(""));
        const found: (readonly string[])[] = [];
        const reader = createRecordReader(marks, 3, (fields) => found.push(fields));
        for (let at = 0; at < bytes.length; at += step) reader.take(bytes.subarray(at, at + step));
        reader.end();
        expect(found).toEqual(wanted);
      }),
    );
  });

  it("are left out where fields are missing, and fail where one has no end", () => {
    const text = `package app is not installed\n${recordOf(["a", "b"])}${recordOf(["a"])}c${marks.field}d`;
    expect(parseRecords(text, marks, 2)).toEqual([["package app is not installed\na", "b"]]);
    const reader = createRecordReader(marks, 2, () => undefined);
    const chunk = Buffer.alloc(12 * 1024 * 1024, "x");
    for (let count = 0; count < 5; count += 1) reader.take(chunk);
    expect(() => reader.end()).toThrow("a record is longer than");
  });

  it("have unpredictable separators, and formats with as many fields as are read", () => {
    expect(createMarks()).not.toEqual(marks);
    for (const format of [listsFormat(marks), rpmFormat(marks)]) {
      expect(format.split(marks.field)).toHaveLength(describedCount);
      expect(format.endsWith(marks.record)).toBe(true);
    }
  });

  it("are described by what is known, without placeholders", () => {
    expect(rpm("app", "0:1.0-1", "base")).toEqual({
      name: "app",
      version: "1.0-1",
      architecture: "noarch",
      repository: "base",
      section: "",
      packager: "Somebody",
      homepage: "",
      downloadBytes: 7,
      installedBytes: 9,
      summary: "a summary",
      depends: ["lib"],
      provides: ["app = 1"],
      description: "",
    });
    fc.assert(fc.property(fc.array(fc.string(), { maxLength: 16 }), (fields) => void describedOf(fields)));
  });
});

describe("what requires a package", () => {
  it.each([
    ["lib", ["lib"], false],
    ["lib(x86-64)", ["lib(x86-64)"], false],
    ["(app or lib >= 2)", ["app", "lib"], true],
    ["((app and lib(x)) if python3dist(y) >= 1)", ["app", "lib(x)", "python3dist(y)"], false],
    ["(", [], false],
  ])("is read from %s", (text, names, isAlternative) => {
    expect(namesInReference(text)).toEqual({ names, isAlternative });
  });

  it("is what refers to its name, its files or what it provides, with the strongest relation", () => {
    const reader = createRequiringReader("lib", new Set(["lib", "virtual", "/usr/bin/lib"]), marks);
    const refers = (
      name: string,
      requires: readonly (readonly [string, string])[],
      recommends: readonly string[] = [],
    ) =>
      recordOf([
        name,
        requires.map((each) => each.join(marks.item) + marks.item).join(""),
        recommends.map((each) => each + marks.item).join(""),
      ]);
    const text = [
      refers("lib", [["lib", "manual"]]),
      refers("zebra", [["virtual", "auto"]], ["lib"]),
      refers("before", [
        ["lib", "manual"],
        ["/usr/bin/lib", "interp,pre"],
      ]),
      refers("either", [["(lib or other)", "manual"]]),
      refers("weak", [["other", "pre"]], ["virtual"]),
      refers("none", [["library", "manual"]]),
    ].join("");
    reader.take(Buffer.from(text));
    expect(reader.end()).toEqual([
      { name: "before", relation: "pre_depends", isAlternative: false },
      { name: "either", relation: "depends", isAlternative: true },
      { name: "weak", relation: "recommends", isAlternative: false },
      { name: "zebra", relation: "depends", isAlternative: false },
    ]);
  });

  it("may be any text", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (required, recommended) => {
        const reader = createRequiringReader("lib", new Set(["lib"]), marks);
        reader.take(Buffer.from(recordOf(["app", required, recommended])));
        for (const { names } of [namesInReference(required), ...reader.end().map(() => ({ names: [] }))]) void names;
      }),
    );
  });
});
