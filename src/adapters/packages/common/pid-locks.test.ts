import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createPidLocks } from "./locks.ts";

let proc: string;
beforeEach(() => {
  proc = mkdtempSync(join(tmpdir(), "steward-locks-"));
  mkdirSync(join(proc, "42"));
  writeFileSync(join(proc, "42", "comm"), "dnf\n");
});
afterEach(() => rmSync(proc, { recursive: true }));

const holderOf = (text: string, cmdline: string) => {
  writeFileSync(join(proc, "lock"), text);
  writeFileSync(join(proc, "42", "cmdline"), cmdline);
  return createPidLocks(["dnf"], proc).holder(join(proc, "lock"));
};

it.each([
  ["42", "/usr/bin/python3\0/usr/bin/dnf\0upgrade\0"],
  ["42\n", "dnf\0-y\0"],
])("%j is held by %j", async (text, cmdline) =>
  expect(await holderOf(text, cmdline)).toEqual({ pid: 42, program: "dnf" }),
);

it.each([
  ["42", "/usr/bin/dnfdragora\0"],
  ["42", ""],
  ["43", "dnf\0"],
  ["", "dnf\0"],
  ["0", "dnf\0"],
  ["-42", "dnf\0"],
])("%j is not held by %j", async (text, cmdline) => expect(await holderOf(text, cmdline)).toBeUndefined());

it("is not held where there is no file", async () =>
  expect(await createPidLocks(["dnf"], proc).holder(join(proc, "nothing"))).toBeUndefined());
