import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failureReason, parseLockConflict, parseScriptErrors, parseStep, scriptAndHookFailures } from "./output.ts";

const run = [
  ":: Processing package changes...",
  "upgrading late...",
  "begin nothing",
  "error: command failed to execute correctly",
  "I will not end",
  "error: command failed to execute correctly",
  "upgrading tidy...",
  "fine",
  "installing mute...",
  "error: command failed to execute correctly",
  ":: Running post-transaction hooks...",
  "(1/2) Reloading system manager configuration...",
  "(2/2) Updating the cache...",
  "no cache",
  "error: command failed to execute correctly",
].join("\n");

describe("scripts", () => {
  it("that failed are named with what they said", () => {
    expect(parseScriptErrors(run)).toEqual([
      { name: "late", said: "begin nothing" },
      { name: "late", said: "I will not end" },
      { name: "mute", said: undefined },
      { name: "Updating the cache", said: "no cache" },
    ]);
    expect(scriptAndHookFailures(run)).toBe(
      "late: its script failed (begin nothing); late: its script failed (I will not end); mute: its script failed; and 1 more scripts",
    );
  });

  it("that did not fail are not", () => {
    expect(scriptAndHookFailures("upgrading tidy...\nfine\n")).toBe("");
    fc.assert(
      fc.property(fc.array(fc.string()), (lines) => {
        expect(scriptAndHookFailures(lines.map((line) => `said: ${line}`).join("\n"))).toBe("");
      }),
    );
  });
});

describe("steps", () => {
  it("name the package", () => {
    expect(parseStep("upgrading lib-a...")).toEqual({ verb: "upgrading", name: "lib-a" });
    for (const line of ["", "upgrading", "checking keyring...", " core downloading..."])
      expect(parseStep(line)).toBeUndefined();
  });
});

describe("reasons", () => {
  it("begin with what is wrong with the packages", () => {
    const text = [
      "checking for file conflicts...",
      "error: failed to commit transaction (conflicting files)",
      "extra: /usr/share/extra/version exists in filesystem",
      "Errors occurred, no packages were upgraded.",
    ].join("\n");
    expect(failureReason(text, 1)).toBe(
      "extra: /usr/share/extra/version exists in filesystem; failed to commit transaction (conflicting files)",
    );
  });

  it.each([
    [
      ":: unable to satisfy dependency 'nowhere' required by need",
      "unable to satisfy dependency 'nowhere' required by need",
    ],
    [
      ":: foe and tidy are in conflict. Remove tidy? [y/N]\nerror: x",
      "foe and tidy are in conflict. Remove tidy? [y/N]; x",
    ],
    [
      ":: File /var/cache/pacman/pkg/a-2-1-any.pkg.tar.zst is corrupted (invalid or corrupted package (PGP signature)).\nDo you want to delete it? [Y/n] error: failed to commit transaction\nErrors occurred, no packages were upgraded.\n",
      "a-2-1-any.pkg.tar.zst is corrupted (invalid or corrupted package (PGP signature))",
    ],
    ["error: target not found: a", "target not found: a"],
    [
      "error: failed to initialize alpm library:\n(no directory: /x)\n",
      "failed to initialize alpm library: (no directory: /x)",
    ],
    ["only this\n\n", "only this"],
    ["\n", "exit code 4"],
  ])("of %j", (text, reason) => expect(failureReason(text, 4)).toBe(reason));
});

describe("the lock", () => {
  it("is the reason only where pacman says so", () => {
    expect(parseLockConflict("error: failed to init transaction (unable to lock database)\n")).toEqual({
      pid: undefined,
    });
    expect(parseLockConflict("error: failed to commit transaction (conflicting files)\n")).toBeUndefined();
  });
});
