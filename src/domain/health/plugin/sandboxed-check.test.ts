import { describe, expect, it } from "vitest";
import { type Ended, jsonOutcome } from "./plugin-check.ts";

const ended = (stdout: string, rest: Partial<Ended> = {}): Ended => ({
  isEnded: true,
  exitCode: 0,
  stdout,
  stderr: "",
  isCut: false,
  ...rest,
});

describe("the JSON of a check", () => {
  it.each(["pass", "warn", "fail", "skip"])("is taken as it is: %s", (status) => {
    const answer = { status, message: " so it is\n", details: { age: 3, deep: { list: [1] } }, extra: true };
    expect(jsonOutcome(ended(JSON.stringify(answer)))).toEqual({
      status,
      message: "so it is",
      details: { age: 3, deep: { list: [1] } },
    });
  });

  it("may come without details", () => {
    expect(jsonOutcome(ended('{"status": "pass", "message": "well"}'))).toMatchObject({ details: {} });
  });

  it.each<readonly [string, Ended, string]>([
    ["an exit code", ended('{"status": "pass", "message": "well"}', { exitCode: 1 }), "it ended with exit code 1"],
    ["a flood", ended("{}", { isCut: true }), "it printed too much"],
    ["nothing", ended(""), "it printed something else than one JSON object"],
    ["two objects", ended("{} {}"), "it printed something else than one JSON object"],
    ["null", ended("null"), "it printed something else than one JSON object"],
    ["no status", ended('{"message": "x"}'), "its status is not one of pass, warn, fail, skip"],
    [
      "an inherited status",
      ended('{"status": "toString", "message": "x"}'),
      "its status is not one of pass, warn, fail, skip",
    ],
    ["no message", ended('{"status": "pass", "message": " "}'), "it has no message"],
    ["odd details", ended('{"status": "pass", "message": "x", "details": [1]}'), "its details are no object"],
  ])("has failed with %s", (_, run, error) => {
    expect(jsonOutcome(run)).toEqual({
      status: "fail",
      message: `The plugin gave no result: ${error}`,
      details: { exit_code: run.exitCode, error },
    });
  });

  it("that fails reports what the plugin complained of", () => {
    const { details } = jsonOutcome(ended("", { exitCode: 3, stderr: "no\u001b such file\n" }));
    expect(details).toMatchObject({ exit_code: 3, stderr: "no such file" });
  });
});
