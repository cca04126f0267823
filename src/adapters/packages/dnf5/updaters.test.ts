import { expect, it } from "vitest";
import { appliesUpdates } from "./updaters.ts";

it.each([
  [[], false],
  [["[commands]\napply_updates = no\n"], false],
  [["[commands]\napply_updates = no\n", "[commands]\n# apply_updates = no\napply_updates=True\n"], true],
  [["[commands]\napply_updates = yes\n", "[commands]\napply_updates = no\n"], false],
  [["apply_updates_later = yes\n", ""], false],
])("knows whether %j lets dnf5 install updates by itself", (settings, expected) => {
  expect(appliesUpdates(settings)).toBe(expected);
});
