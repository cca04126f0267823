import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { comparePackageVersions, compareVersions, splitVersion } from "./names.ts";

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
