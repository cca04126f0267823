import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  comparePackageVersions,
  compareVersions,
  createPattern,
  isPackageName,
  nevraOf,
  parseNevra,
  splitVersion,
  versionOf,
} from "./names.ts";

describe("names of exactly one package", () => {
  it("are parsed as they were written", () => {
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

describe("versions", () => {
  it.each([
    ["1.0", "1.0", 0],
    ["1.0", "2.0", -1],
    ["1.9", "1.10", -1],
    ["1.05", "1.5", 0],
    ["1.0", "1.0.1", -1],
    ["1.0a", "1.0", 1],
    ["1.0a", "1.0.1", -1],
    ["a", "1", -1],
    ["1.0~rc1", "1.0", -1],
    ["1.0~rc1", "1.0~rc2", -1],
    ["1.0~rc1^git1", "1.0~rc1", 1],
    ["1.0^git1", "1.0", 1],
    ["1.0^git1", "1.0.1", -1],
    ["1.0^git1", "1.0~rc1", 1],
    ["1_0", "1.0", 0],
    ["18446744073709551617", "18446744073709551616", 1],
    ["2.el9", "2.el9_1", -1],
    ["", "1", -1],
  ])("%s against %s", (one, other, order) => {
    expect(compareVersions(one, other)).toBe(order);
    expect(compareVersions(other, one)).toBe(0 - order);
  });

  it("puts the epoch first and the release last", () => {
    expect(comparePackageVersions("2:0.9-1", "1:1.0-1")).toBe(1);
    expect(comparePackageVersions("0:1.0-1", "1.0-1")).toBe(0);
    expect(comparePackageVersions("1.0-2", "1.0-10")).toBe(-1);
    expect(splitVersion("1:2.0-3.el9")).toEqual({ epoch: "1", version: "2.0", release: "3.el9" });
  });

  it("is an order", () => {
    const version = fc.stringMatching(/^[0-9a-b.~^_]{0,6}$/);
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        expect(compareVersions(a, a)).toBe(0);
        expect(compareVersions(a, b)).toBe(0 - compareVersions(b, a));
        const sorted = [a, b, c].sort(compareVersions);
        expect(compareVersions(sorted[0] ?? "", sorted[2] ?? "")).toBeLessThanOrEqual(0);
      }),
    );
  });
});
