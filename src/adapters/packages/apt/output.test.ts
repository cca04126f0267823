import { describe, expect, it } from "vitest";
import { failureReason, parseDpkgErrors, parseLockConflict } from "./output.ts";

const failing = `Setting up other (1.0) ...
other is chatty
Setting up failing (1.0) ...
cannot reach the moon
dpkg: error processing package failing (--configure):
 installed failing package post-installation script subprocess returned error exit status 3
Errors were encountered while processing:
 failing
`;
const dependency = `dpkg: dependency problems prevent configuration of needy:
 needy depends on needed (>= 1.0); however:
  Package needed is not installed.

dpkg: error processing package needy (--configure):
 dependency problems - leaving unconfigured
Errors were encountered while processing:
 needy
`;

describe("what dpkg could not do", () => {
  it("is reported with the reason of dpkg and the message of the package", () => {
    expect(parseDpkgErrors(failing)).toEqual([
      {
        name: "failing",
        reason: "installed failing package post-installation script subprocess returned error exit status 3",
        said: "cannot reach the moon",
      },
    ]);
    expect(parseDpkgErrors(dependency)).toEqual([
      { name: "needy", reason: "dependency problems - leaving unconfigured", said: "Package needed is not installed." },
    ]);
  });

  it("is not mixed with what another package said, nor with progress on a terminal", () => {
    const text = `Setting up a (1) ...\nhello from a\nSetting up b (1) ...\r\n(Reading database ... 5%\r(Reading database ... 100%\ndpkg: error processing package b (--configure):\n no\n`;
    expect(parseDpkgErrors(text)).toEqual([{ name: "b", reason: "no", said: undefined }]);
  });
});

describe("why it failed", () => {
  it.each([
    [
      failing,
      "failing: installed failing package post-installation script subprocess returned error exit status 3 (cannot reach the moon)",
    ],
    [
      "Reading package lists...\nE: Failed to fetch http://x  404\nE: Some index files failed.\n",
      "Failed to fetch http://x  404; Some index files failed.",
    ],
    [
      "dpkg: error: unable to access the dpkg database directory\n",
      "dpkg: error: unable to access the dpkg database directory",
    ],
    ["first\nlast\n\n", "last"],
    ["", "exit code 9"],
  ])("is the sentence for %j", (text, reason) => {
    expect(failureReason(text, 9)).toBe(reason);
  });

  it("names the first few packages of many", () => {
    const text = [1, 2, 3, 4, 5].map((at) => `dpkg: error processing package p${at} (--configure):\n no\n`).join("");
    expect(failureReason(text, 1)).toBe("p1: no; p2: no; p3: no; and 2 more packages");
  });
});

describe("a lock that was not got", () => {
  it.each([
    ["dpkg: error: dpkg frontend lock was locked by another process with pid 513\nNote: removing…\n", 513],
    ["dpkg: error: dpkg database lock was locked by another process with pid 527\n", 527],
    ["Reading…\nE: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 513 (python3)\n", 513],
    ["E: Could not get lock /var/lib/apt/lists/lock. It is held by process 541 (python3)\n", 541],
    ["E: Could not get lock /var/lib/dpkg/lock - open (11: Resource temporarily unavailable)\n", undefined],
    ["dpkg: error: dpkg frontend lock is locked by another process\n", undefined],
  ])("is found in %j", (text, pid) => {
    expect(parseLockConflict(text)).toEqual({ pid });
  });

  it("is not why other things failed", () => {
    expect(parseLockConflict(failing)).toBeUndefined();
  });
});
