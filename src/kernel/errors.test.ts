import { expect, it } from "vitest";
import {
  errnoCode,
  errorMessage,
  isDeviceGone,
  isNotFound,
  isPermissionDenied,
  isProcessGone,
  toError,
} from "./errors.ts";

const withCode = (code: unknown): Error => Object.assign(new Error("failed"), { code });

it("the message of anything thrown is text", () => {
  expect([errorMessage(new Error("no space")), errorMessage("text"), errorMessage(undefined)]).toEqual([
    "no space",
    "text",
    "undefined",
  ]);
  const error = new TypeError("wrong");
  expect(toError(error)).toBe(error);
  expect(toError("text")).toEqual(new Error("text"));
});

it("the code of an error is a string or missing", () => {
  expect([withCode("EIO"), withCode(5), new Error("none"), { code: "EIO" }].map(errnoCode)).toEqual([
    "EIO",
    undefined,
    undefined,
    undefined,
  ]);
});

it.each([
  { code: "ENOENT", isMissing: true, isProcess: true, isDevice: true, isDenied: false },
  { code: "ENOTDIR", isMissing: true, isProcess: true, isDevice: true, isDenied: false },
  { code: "ESRCH", isMissing: false, isProcess: true, isDevice: false, isDenied: false },
  { code: "ENODEV", isMissing: false, isProcess: false, isDevice: true, isDenied: false },
  { code: "EACCES", isMissing: false, isProcess: false, isDevice: false, isDenied: true },
  { code: "EPERM", isMissing: false, isProcess: false, isDevice: false, isDenied: true },
  { code: "EIO", isMissing: false, isProcess: false, isDevice: false, isDenied: false },
])("the error $code is classified", ({ code, isMissing, isProcess, isDevice, isDenied }) => {
  const error = withCode(code);
  const answers = [isNotFound(error), isProcessGone(error), isDeviceGone(error), isPermissionDenied(error)];
  expect(answers).toEqual([isMissing, isProcess, isDevice, isDenied]);
});
