import { expect, it } from "vitest";
import { closestName, didYouMean } from "./closest.ts";

const names = ["unit", "units", "since", "until", "priority", "limit", "grep", "dry_run"];

it.each([
  ["priorty", "priority"],
  ["pirority", "priority"],
  ["Priority", "priority"],
  ["limti", "limit"],
  ["limits", "limit"],
  ["dryrun", "dry_run"],
  ["dry-run", "dry_run"],
  ["unitt", "unit"],
  ["gre", "grep"],
  ["sinec", "since"],
  ["colour", undefined],
  ["x", undefined],
  ["", undefined],
  ["p", undefined],
  ["priority".repeat(100), undefined],
])("the closest name to %s is %s", (word, name) => {
  expect(closestName(word, names)).toBe(name);
});

it("a message ends with the closest name, if there is one", () => {
  expect(didYouMean("priorty", names)).toBe(" (did you mean priority?)");
  expect(didYouMean("colour", names)).toBe("");
  expect(didYouMean("a", [])).toBe("");
});
