import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DomainError } from "#domain/common/error.ts";
import { canonicalUnit, compileUnitPattern, isWithin } from "./unit-pattern.ts";

describe("canonical unit names", () => {
  // What journalctl of systemd 252 looks for when it is given the text, but for `kernel`.
  it.each([
    ["nginx", "nginx.service"],
    ["nginx.service", "nginx.service"],
    ["nginx.", "nginx..service"],
    [".service", ".service.service"],
    ["user@1000", "user@1000.service"],
    ["getty@.service", "getty@.service"],
    ["dbus.socket", "dbus.socket"],
    ["user.slice", "user.slice"],
    ["session-2.scope", "session-2.scope"],
    ["-.mount", "-.mount"],
    ["-.slice", "-.slice"],
    ["system-getty.slice", "system-getty.slice"],
    ["/dev/sda1", "dev-sda1.device"],
    ["/sys/devices/x", "sys-devices-x.device"],
    ["/dev", "dev.mount"],
    ["/", "-.mount"],
    ["/mnt/data", "mnt-data.mount"],
    ["//mnt/./data/", "mnt-data.mount"],
    ["/mnt/.x-y/", "mnt-.x\\x2dy.mount"],
    ["/.snap", "\\x2esnap.mount"],
    ["/mnt/*", "mnt-\\x2a.mount"],
    ["/mnt/größe", "mnt-gr\\xc3\\xb6\\xc3\\x9fe.mount"],
    ["app-*", "app-*"],
    ["app-?.s[a-e]rvice", "app-?.s[a-e]rvice"],
    ["kernel", "kernel"],
    ["kernel.service", "kernel.service"],
  ])("%j becomes %j", (text, name) => {
    expect(canonicalUnit(text)).toBe(name);
    expect(canonicalUnit(name)).toBe(name);
  });

  it.each([
    "",
    "$(touch x)",
    "`touch x`",
    "a;b",
    "a b",
    "a\nb",
    "a\0b",
    "'a'",
    '"a"',
    "a|b",
    "a&b",
    "-x",
    "--help",
    "--*",
    "@x",
    "a/b",
    "../../etc/passwd",
    "/mnt/../etc",
    "/mnt/\n",
    "ü",
    "a!b",
    "x*;id",
    "x".repeat(300),
    `/${"ü".repeat(100)}`,
  ])("are refused for %j", (text) => {
    expect(() => canonicalUnit(text)).toThrow(DomainError);
  });

  it("are stable, and made of characters that unit names have", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1, maxLength: 40 }), (text) => {
        let name: string;
        try {
          name = canonicalUnit(text);
        } catch (error) {
          expect(error).toMatchObject({ code: "VALIDATION_ERROR", details: { field: "unit" } });
          return;
        }
        expect(name).toMatch(/^[A-Za-z0-9:_.\\@[\]!*?-]+$/);
        expect(canonicalUnit(name)).toBe(name);
      }),
      { numRuns: 5000 },
    );
  });
});

/** Matches by trying everything: slow, and plainly right. */
function matchesSlowly(pattern: string, name: string): boolean {
  if (pattern === "") return name === "";
  if (pattern.startsWith("*")) {
    return matchesSlowly(pattern.slice(1), name) || (name !== "" && matchesSlowly(pattern, name.slice(1)));
  }
  if (name === "") return false;
  const bracket = /^\[([!^]?)(\]?[^\]]*)\]/.exec(pattern);
  if (bracket !== null) {
    const [whole, negation = "", members = ""] = bracket;
    const source = members.replaceAll(/[\]^\\]/g, "\\$&");
    return (
      new RegExp(`^[${source}]`).test(name) === (negation === "") &&
      matchesSlowly(pattern.slice(whole.length), name.slice(1))
    );
  }
  return (pattern.startsWith("?") || pattern[0] === name[0]) && matchesSlowly(pattern.slice(1), name.slice(1));
}

const plain = fc.constantFrom("a", "b", "c", ".");
const wild = fc.constantFrom("*", "?", "[ab]", "[!a]", "[^b]", "[a-b]", "[]a]", "[");
const names = fc.string({ unit: plain, maxLength: 12 });
const patterns = fc.array(fc.oneof(plain, wild), { maxLength: 10 }).map((parts) => parts.join(""));
const wides = fc.string({ unit: fc.oneof(plain, fc.constant("*")), maxLength: 6 });

describe("unit patterns", () => {
  it("match as fnmatch does", () => {
    fc.assert(
      fc.property(patterns, names, (pattern, name) => {
        expect([pattern, compileUnitPattern(pattern)(name)]).toEqual([pattern, matchesSlowly(pattern, name)]);
      }),
      { numRuns: 20_000 },
    );
  });

  it.each([
    ["app-[[:digit:]].service", "app-7.service", true],
    ["app-[[:digit:]].service", "app-x.service", false],
    ["a[b-]c", "a-c", true],
    ["a\\*", "a\\bc", true],
    ["a\\*", "a*", false],
    ["*", "nginx.service", true],
    ["*", "kernel", false],
    ["k*", "kernel", false],
    ["kernel", "kernel", true],
    ["nginx.service", "nginx.service", true],
    ["nginx.service", "nginxxservice", false],
  ])("%j on %j: %s", (pattern, name, expected) => {
    expect(compileUnitPattern(pattern)(name)).toBe(expected);
  });

  it("come to an end for a hostile pattern", () => {
    expect(compileUnitPattern(`${"*a".repeat(120)}b`)("a".repeat(250))).toBe(false);
  });

  it("are within another only when the other matches all that they match", () => {
    fc.assert(
      fc.property(patterns, wides, names, (narrow, wide, name) => {
        if (isWithin(narrow, wide) && compileUnitPattern(narrow)(name)) {
          expect([narrow, wide, name, compileUnitPattern(wide)(name)]).toEqual([narrow, wide, name, true]);
        }
      }),
      { numRuns: 20_000 },
    );
  });

  it.each([
    ["app-1.service", "app-*", true],
    ["app-web*", "app-*", true],
    ["app-[12].service", "app-*", true],
    ["[app-x]", "*app-*", false],
    ["*", "app-*", false],
    ["kernel", "*", false],
    ["nginx.service", "nginx.service", true],
  ])("%j is within %j: %s", (narrow, wide, expected) => {
    expect(isWithin(narrow, wide)).toBe(expected);
  });
});
