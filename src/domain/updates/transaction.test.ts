import { expect, it } from "vitest";
import { fakePackage } from "../../../test/fakes/package-manager.ts";
import { changedOf, doneOf } from "./transaction.ts";

const change = (name: string, from: string | null, to: string | null) => ({
  name,
  architecture: "amd64",
  from,
  to,
  isSecurity: false,
});
const planOf = (...changes: readonly ReturnType<typeof change>[]) => ({ changes, downloadBytes: 0, diskBytes: 0 });

it("counts a kernel that is installed beside older ones", () => {
  const plan = planOf(change("kernel", null, "3"), change("kernel", "1", null), change("editor", "1", "2"));
  const kernels = (...versions: readonly string[]) => versions.map((version) => fakePackage("kernel", version));
  const editor = fakePackage("editor", "2");
  const done = [...kernels("3", "2"), editor];
  expect(doneOf(plan, done)).toEqual(plan.changes);
  expect(changedOf(plan, done)).toContainEqual({ name: "kernel", from: null, to: "3" });
  const before = [...kernels("1", "2"), fakePackage("editor", "1")];
  expect(doneOf(plan, before)).toEqual([]);
  expect(changedOf(plan, before)).toEqual([]);
});

it("reports what a package has become that is at neither version", () => {
  const plan = planOf(change("editor", "1", "2"), change("server", "1", "2"));
  expect(doneOf(plan, [fakePackage("editor", "3")])).toEqual([]);
  expect(changedOf(plan, [fakePackage("editor", "3")])).toEqual([
    { name: "editor", from: "1", to: "3" },
    { name: "server", from: "1", to: null },
  ]);
});

it("counts no package that is there and was not set up, and does not call it removed", () => {
  const plan = planOf(change("server", "1", "2"), change("gone", "1", null));
  const installed = [{ ...fakePackage("server", "2"), isUnfinished: true as const }];
  expect(doneOf(plan, installed).map(({ name }) => name)).toEqual(["gone"]);
  expect(changedOf(plan, installed)).toEqual([
    { name: "server", from: "1", to: "2" },
    { name: "gone", from: "1", to: null },
  ]);
});
