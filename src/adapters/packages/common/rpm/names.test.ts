import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPattern, isPackageName, nevraOf, parseNevra, versionOf } from "./names.ts";

describe("names of exactly one package", () => {
  it("come back as they went", () => {
    const part = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9._+~^]{0,8}$/);
    const name = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9._+-]{0,12}$/);
    const architecture = fc.constantFrom("noarch", "x86_64", "aarch64");
    fc.assert(
      fc.property(name, fc.nat(3), part, part, architecture, (name, epoch, version, release, architecture) => {
        const found = { name, version: versionOf(String(epoch), version, release), architecture };
        expect(parseNevra(nevraOf(found))).toEqual(found);
      }),
    );
  });

  it("leave out an epoch of 0", () => {
    expect(parseNevra("lib-a-0:1.0-2.el9.x86_64")).toEqual({
      name: "lib-a",
      version: "1.0-2.el9",
      architecture: "x86_64",
    });
    expect(versionOf("(none)", "1", "2")).toBe("1-2");
  });

  it.each(["", "name", "name-1.0", "name-1.0-1", "name 1.0-1.noarch", "name-1:2:3-1.noarch"])(
    "are not read from %j",
    (text) => expect(parseNevra(text)).toBeUndefined(),
  );

  it("are never options or patterns", () => {
    for (const name of ["", "-y", "--help", "*", "a*", "a b", "a/b", "a?", "@group", "a\nb"])
      expect(isPackageName(name)).toBe(false);
    for (const name of ["a", "gcc-c++", "python3.11", "lib_x"]) expect(isPackageName(name)).toBe(true);
  });
});

describe("patterns", () => {
  it.each([
    ["stea*", "steady", true],
    ["stea*", "instead", false],
    ["a?c", "abc", true],
    ["a[!b]c", "abc", false],
    ["a[bc]", "ac", true],
    ["a.c", "abc", false],
    ["a[b", "a[b", true],
    ["gcc-c++", "gcc-c++", true],
  ])("%s and %s", (pattern, text, matches) => expect(createPattern(pattern)(text)).toBe(matches));

  it("take any text", () => {
    fc.assert(fc.property(fc.string(), fc.string(), (pattern, text) => void createPattern(pattern)(text)));
  });
});
