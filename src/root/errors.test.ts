import { expect, it } from "vitest";
import { DomainError } from "#domain/common/error.ts";
import { findUnavailable } from "#domain/common/host-unavailable.ts";
import { PackageFileMissing, PackagesLocked, UpdateRefused } from "#domain/ports/packages.ts";
import { PluginNotRun } from "#domain/ports/plugins.ts";
import { SnapshotUnusable } from "#domain/ports/snapshots.ts";
import { UnitsUnavailable } from "#domain/ports/units.ts";
import { fromWire, toWire } from "./errors.ts";

const onRootsSide = [
  Object.assign(new Error("ENOSPC: no space left on device, write"), {
    code: "ENOSPC",
    path: "/var/lib/steward-tasks/x",
  }),
  new Error("cannot do it", { cause: Object.assign(new Error("EROFS"), { code: "EROFS" }) }),
  new UnitsUnavailable("the system bus does not answer", true),
  new UnitsUnavailable("systemd is not running on this host", false),
];

it.each(onRootsSide)("an unavailable host is the same over the wire: %s", (error) => {
  const before = findUnavailable(error) ?? expect.fail();
  const wire: unknown = JSON.parse(JSON.stringify(toWire(error)));
  const after = findUnavailable(new Error("cannot request", { cause: fromWire(wire as ReturnType<typeof toWire>) }));
  expect(after).toMatchObject({ message: before.message, details: before.details });
});

it("an unexpected error or unknown class over the wire is an Error with its message", () => {
  expect(findUnavailable(fromWire(toWire(new Error("broken"))))).toBeUndefined();
  for (const kind of ["constructor", "DomainError", "New"]) {
    const back = fromWire({ kind, message: "m", details: { code: "NO_SUCH" } });
    expect([back.constructor, back.message]).toEqual([Error, "m"]);
  }
});

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
])("an error keeps its class and details over the wire: %s", (error) => {
  const back = fromWire(toWire(error));
  expect([back.constructor, back.message]).toEqual([error.constructor, error.message]);
  if (error instanceof DomainError) expect(back).toMatchObject({ code: error.code, details: error.details });
  if (error instanceof PackagesLocked) expect(back).toMatchObject({ holder: error.holder });
  if (error instanceof PluginNotRun) expect(back).toMatchObject({ output: error.output });
});
