import { expect, it } from "vitest";
import type { PackageChange } from "#domain/ports/packages.ts";
import { requestOf } from "./change.ts";

const step = (name: string, from: string | null, to: string | null, more: Partial<PackageChange> = {}) => {
  return { name, architecture: "any", from, to, isSecurity: false, ...more };
};
const planOf = (changes: readonly PackageChange[]) => ({ changes, downloadBytes: 0, diskBytes: 0 });

it("tells plans of packages that come or go from those of updates", () => {
  const coming = [step("library", null, "1-1"), step("app", null, "1-1", { isRequested: true })];
  expect(requestOf(planOf(coming))).toEqual({ change: "install", names: ["app"] });
  const going = [step("library", "1-1", null), step("app", "1-1", null)];
  expect(requestOf(planOf(going))).toEqual({ change: "remove", names: ["library", "app"] });
  expect(requestOf({ ...planOf(going), isPurge: true })).toEqual({ change: "purge", names: ["library", "app"] });
  // One that takes the place of another.
  expect(requestOf(planOf([step("successor", null, "2-1"), step("replaced", "1-1", null)]))).toBeUndefined();
  expect(requestOf(planOf([step("app", "1-1", "2-1")]))).toBeUndefined();
});
