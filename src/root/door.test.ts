import { expect, it } from "vitest";
import { DomainError } from "#domain/common/error.ts";
import { PackageFileMissing, PackagesLocked, UpdateRefused } from "#domain/ports/packages.ts";
import { PluginNotRun } from "#domain/ports/plugins.ts";
import { SnapshotUnusable } from "#domain/ports/snapshots.ts";
import { createAskFor } from "./door.ts";
import { fromWire, toWire } from "./errors.ts";

const never = new AbortController().signal;
const carrying = (answer: unknown) => createAskFor(() => Promise.resolve(answer));

it.each([
  new DomainError("NOT_FOUND", "cannot find it", { id: "x" }),
  new PackagesLocked("dpkg runs", { pid: 7, program: "dpkg" }),
  new PackagesLocked("somebody runs"),
  new UpdateRefused("held"),
  new SnapshotUnusable("damaged"),
  new PackageFileMissing("nowhere"),
  new PluginNotRun("gone"),
  new PluginNotRun("late", { output: { stdout: "begun", stderr: "" } }),
  new Error("anything"),
])("an error means the same on both sides: %s", (error) => {
  const back = fromWire(toWire(error));
  expect([back.constructor, back.message]).toEqual([error.constructor, error.message]);
  if (error instanceof DomainError) expect(back).toMatchObject({ code: error.code, details: error.details });
  if (error instanceof PackagesLocked) expect(back).toMatchObject({ holder: error.holder });
  if (error instanceof PluginNotRun) expect(back).toMatchObject({ output: error.output });
});

it("takes an error of no kind that it knows for an error", () => {
  for (const kind of ["constructor", "DomainError", "New"]) {
    const back = fromWire({ kind, message: "m", details: { code: "NO_SUCH" } });
    expect([back.constructor, back.message]).toEqual([Error, "m"]);
  }
});

it("gives what was asked for", async () => {
  const ask = carrying({ output: { requiresReboot: true, units: ["a.service"] } });
  expect(await ask("packages.restart_needs", {}, never)).toEqual({ requiresReboot: true, units: ["a.service"] });
});

it.each([
  ["is no answer", { outcome: 1 }, /of no kind that is known/],
  ["is that of another question", { output: { snapshots: [] } }, /not what was asked for/],
  ["is an error", { error: { kind: "PluginNotRun", message: "it did not end" } }, /^PluginNotRun: it did not end/],
])("says so when the answer %s", async (_, answer, why) => {
  const error = await carrying(answer)("packages.restart_needs", {}, never).catch(String);
  expect(error).toMatch(why);
});

it("says what it asked for when there is no answer", async () => {
  const ask = createAskFor(() => Promise.reject(new Error("the bus is gone")));
  await expect(ask("packages.refresh", {}, never)).rejects.toThrow(
    /cannot ask root for packages.refresh: the bus is gone/,
  );
});
