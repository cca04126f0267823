import { describe, expect, it } from "vitest";
import { errnoCode, errorMessage, isNotFound, isPermissionDenied, isProcessGone, toError } from "./errors.ts";

const withCode = (code: unknown): Error => Object.assign(new Error("failed"), { code });

it("gives the message of an error, and of whatever else was thrown", () => {
  expect([errorMessage(new Error("no space")), errorMessage("text"), errorMessage(undefined)]).toEqual([
    "no space",
    "text",
    "undefined",
  ]);
  const error = new TypeError("wrong");
  expect(toError(error)).toBe(error);
  expect(toError("text")).toEqual(new Error("text"));
});

it("gives the code of an error that has one", () => {
  expect([withCode("EIO"), withCode(5), new Error("none"), { code: "EIO" }].map(errnoCode)).toEqual([
    "EIO",
    undefined,
    undefined,
    undefined,
  ]);
});

describe.each([
  ["ENOENT", true, true, false],
  ["ENOTDIR", true, true, false],
  ["ESRCH", false, true, false],
  ["EACCES", false, false, true],
  ["EPERM", false, false, true],
  ["EIO", false, false, false],
])("%s", (code, notFound, gone, denied) => {
  it("is distinguished", () => {
    const error = withCode(code);
    expect([isNotFound(error), isProcessGone(error), isPermissionDenied(error)]).toEqual([notFound, gone, denied]);
  });
});
