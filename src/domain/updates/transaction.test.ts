import { expect, it } from "vitest";
import type { InstalledPackage, PackageChange } from "#domain/ports/packages.ts";
import { fakePackage } from "../../../test/fakes/package-manager.ts";
import { changedOf, doneOf, type PackagesNow } from "./transaction.ts";

const change = (name: string, from: string | null, to: string | null) => ({
  name,
  architecture: "amd64",
  from,
  to,
  isSecurity: false,
});
const planOf = (...changes: readonly PackageChange[]) => ({ changes, downloadBytes: 0, diskBytes: 0 });

const now = (
  installed: readonly InstalledPackage[],
  configurationOnly: PackagesNow["configurationOnly"] = [],
): PackagesNow => ({
  installed,
  configurationOnly,
});

it("the result of a transaction counts a kernel that is installed beside older ones", () => {
  const plan = planOf(change("kernel", null, "3"), change("kernel", "1", null), change("editor", "1", "2"));
  const kernels = (...versions: readonly string[]) => versions.map((version) => fakePackage("kernel", version));
  const editor = fakePackage("editor", "2");
  const done = [...kernels("3", "2"), editor];
  expect(doneOf(plan, now(done))).toEqual(plan.changes);
  expect(changedOf(plan, now(done))).toContainEqual({ name: "kernel", from: null, to: "3" });
  const before = [...kernels("1", "2"), fakePackage("editor", "1")];
  expect(doneOf(plan, now(before))).toEqual([]);
  expect(changedOf(plan, now(before))).toEqual([]);
});

it("the result of a transaction counts no purge whose configuration is left, nor an interrupted removal", () => {
  const plan = planOf(change("web", "1", null), { ...change("old", "1", null), isLeftover: true });
  const configuration = [fakePackage("web", "1"), fakePackage("old", "1")];
  expect(doneOf(plan, now([]))).toEqual(plan.changes);
  expect(doneOf({ ...plan, isPurge: true }, now([], configuration))).toEqual([]);
  expect(doneOf({ ...plan, isPurge: true }, now([], configuration.slice(0, 1))).map(({ name }) => name)).toEqual([
    "old",
  ]);
  // It is removed, while nothing has become of the one that was not installed.
  expect(changedOf({ ...plan, isPurge: true }, now([], configuration))).toEqual([{ name: "web", from: "1", to: null }]);
  expect(
    doneOf(plan, now([{ ...fakePackage("web", "1"), isUnfinished: true as const }])).map(({ name }) => name),
  ).toEqual(["old"]);
});

it("the result of a transaction has the version of a package that is at neither of the plan's", () => {
  const plan = planOf(change("editor", "1", "2"), change("server", "1", "2"));
  expect(doneOf(plan, now([fakePackage("editor", "3")]))).toEqual([]);
  expect(changedOf(plan, now([fakePackage("editor", "3")]))).toEqual([
    { name: "editor", from: "1", to: "3" },
    { name: "server", from: "1", to: null },
  ]);
});

it("the result of a transaction has a package that was not configured as changed, not as done or removed", () => {
  const plan = planOf(change("server", "1", "2"), change("gone", "1", null));
  const installed = [{ ...fakePackage("server", "2"), isUnfinished: true as const }];
  expect(doneOf(plan, now(installed)).map(({ name }) => name)).toEqual(["gone"]);
  expect(changedOf(plan, now(installed))).toEqual([
    { name: "server", from: "1", to: "2" },
    { name: "gone", from: "1", to: null },
  ]);
});
