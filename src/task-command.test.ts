import { expect, it } from "vitest";
import { parseTask, taskExitCode } from "./task-command.ts";

it("steward task takes the id of an operation and who asked", () => {
  expect(parseTask(["run", "20260101-1"])).toEqual({ id: "20260101-1", askedBy: undefined });
  expect(parseTask(["run", "--asked-by", "steward", "--", "3-12-998"])).toEqual({ id: "3-12-998", askedBy: "steward" });
  expect(parseTask(["run", "--", "--asked-by"])).toEqual({ id: "--asked-by", askedBy: undefined });
});

it.each([
  [[]],
  [["run"]],
  [["run", "a", "b"]],
  [["stop", "a"]],
  [["run", "a", "--as", "root"]],
  [["run", "a", "--asked-by"]],
])("steward task refuses the arguments %j", (argv) => {
  expect(() => parseTask(argv)).toThrow();
});

it.each([
  ["done", undefined, 0],
  ["failed", undefined, 1],
  ["left", undefined, 0],
  ["failed", "steward", 0],
] as const)("an operation that is %s, asked by %s, ends with %i", (outcome, askedBy, code) => {
  expect(taskExitCode(outcome, askedBy)).toBe(code);
});
