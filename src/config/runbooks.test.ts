import { expect, it } from "vitest";
import { runbookDirectory, runbookFaults } from "./places.ts";
import type { Settings } from "./settings.ts";

const faultsOf = (settings: Pick<Settings, "runbooks">) =>
  runbookFaults(settings, (path, message) => ({ source: "test", path: path.join("."), message })).map(
    ({ path, message }) => `${path}: ${message}`,
  );

it("the directory of runbooks is that of the package unless it is given, and absolute", () => {
  expect([runbookDirectory({}), runbookDirectory({ runbooks: {} })]).toEqual(Array(2).fill("/etc/steward/runbooks"));
  expect(runbookDirectory({ runbooks: { directory: "/srv/runbooks" } })).toBe("/srv/runbooks");
  expect(faultsOf({})).toEqual([]);
  expect(faultsOf({ runbooks: { directory: "runbooks" } })).toEqual(["runbooks.directory: must be an absolute path"]);
});
