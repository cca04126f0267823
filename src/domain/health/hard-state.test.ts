import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CheckStatus, checkStatuses, type Severity } from "#contract/checks.ts";
import { attemptsFor, type HardState, hardened, levelOf, passing, restored, restoredSkipped } from "./hard-state.ts";

const stateAfter = (statuses: readonly CheckStatus[], attempts = 3, start: HardState = passing): HardState =>
  statuses.reduce((state, status) => hardened(state, status, attempts), start);

describe("the hard state of a check", () => {
  it("changes after enough problems in a row, and at once between problems and on success", () => {
    expect(stateAfter(["fail"])).toEqual({ hard: "pass", attempt: 1 });
    expect(stateAfter(["fail", "warn"])).toEqual({ hard: "pass", attempt: 2 });
    expect(stateAfter(["fail", "warn", "fail"])).toEqual({ hard: "fail", attempt: 0 });
    expect(stateAfter(["fail", "fail", "pass", "fail", "fail"])).toEqual({ hard: "pass", attempt: 2 });
    expect(stateAfter(["fail"], 1)).toEqual({ hard: "fail", attempt: 0 });
    const failing: HardState = { hard: "fail", attempt: 0 };
    expect(stateAfter(["warn"], 3, failing).hard).toBe("warn");
    expect(stateAfter(["pass"], 3, failing).hard).toBe("pass");
  });

  it("ends when the check was skipped often enough", () => {
    const failing: HardState = { hard: "fail", attempt: 0 };
    expect(stateAfter(["skip", "skip"], 3, failing)).toEqual({ hard: "fail", attempt: 2 });
    expect(stateAfter(["skip", "fail", "skip", "skip"], 3, failing)).toEqual({ hard: "fail", attempt: 2 });
    expect(stateAfter(["skip", "skip", "skip"], 3, failing).hard).toBe("pass");
    expect(stateAfter(["skip"], 3, passing)).toEqual(passing);
  });

  it("does not count runs in quick succession", () => {
    const soft = hardened(passing, "fail", 3, true);
    expect(soft.attempt).toBe(1);
    expect(hardened(soft, "fail", 3, true)).toEqual(soft);
    expect(hardened(soft, "pass", 3, true)).toEqual(passing);
    expect(hardened({ hard: "fail", attempt: 0 }, "pass", 3, true).hard).toBe("pass");
  });

  it("is the level of the last runs, whatever came before", () => {
    const runs = fc.array(fc.constantFrom(...checkStatuses), { maxLength: 30 });
    fc.assert(
      fc.property(runs, fc.integer({ min: 1, max: 5 }), (statuses, attempts) => {
        let state = passing;
        for (const [at, status] of statuses.entries()) {
          const before = state;
          state = hardened(state, status, attempts);
          expect(state.attempt).toBeLessThan(attempts);
          const last = statuses.slice(Math.max(0, at + 1 - attempts), at + 1).map(levelOf);
          // A level that the last runs have in common is the hard one, and none but a level of the last runs replaces it.
          if (last.length === attempts && new Set(last).size === 1) expect(state.hard).toBe(last[0]);
          if (state.hard !== before.hard) expect(state.hard).toBe(levelOf(status));
          if (state.hard !== "pass" && before.hard === "pass") expect(last).not.toContain("pass");
        }
      }),
    );
  });
});

describe("the number of runs that make a state hard", () => {
  const check = (severity: Severity, intervalMs: number, attempts?: number) => ({ severity, intervalMs, attempts });

  it("are three, one for a critical failure or a rare check, or what settings say", () => {
    expect(attemptsFor(check("high", 60_000), "fail")).toBe(3);
    expect(attemptsFor(check("critical", 60_000), "warn")).toBe(3);
    expect(attemptsFor(check("critical", 60_000), "fail")).toBe(1);
    expect(attemptsFor(check("low", 60 * 60_000), "warn")).toBe(1);
    expect(attemptsFor(check("low", 60_000), "warn", 5)).toBe(5);
    expect(attemptsFor(check("critical", 60_000, 4), "fail", 5)).toBe(4);
  });
});

describe("the state that an earlier process has left", () => {
  it("is hard when it lasted long enough", () => {
    expect(restored("fail", 120_000, 60_000, 3)).toEqual({ hard: "fail", attempt: 0 });
    expect(restored("fail", 60_000, 60_000, 3)).toEqual({ hard: "pass", attempt: 1 });
    expect(restored("warn", 0, 60_000, 1)).toEqual({ hard: "warn", attempt: 0 });
    expect(restored("skip", 0, 60_000, 3)).toEqual(passing);
    // A clock that was set back.
    expect(restored("fail", -5, 60_000, 3)).toEqual({ hard: "pass", attempt: 1 });
  });
});

describe("the state of a check that an earlier process has left skipped", () => {
  const minute = 60_000;
  const at = (status: CheckStatus, minutes: number) => ({ status, checkedAt: minutes * minute });
  const restoredAfter = (entries: readonly { status: CheckStatus; checkedAt: number }[], skips: number, attempts = 3) =>
    restoredSkipped(entries, skips, minute, () => attempts);
  const failedHard = [at("pass", 0), at("fail", 10), at("skip", 20)];

  it("is the problem from before, over starts of the service, until enough skips", () => {
    expect(restoredAfter(failedHard, 1)).toEqual({ hard: "fail", attempt: 1 });
    expect(restoredAfter(failedHard, 2)).toEqual({ hard: "fail", attempt: 2 });
    expect(restoredAfter(failedHard, 3)).toEqual(passing);
    expect(restoredAfter(failedHard, 1, 1)).toEqual(passing);
    expect(restoredAfter([at("fail", 10), at("warn", 19), at("skip", 20)], 1)).toEqual({ hard: "warn", attempt: 1 });
    expect(restoredAfter([at("fail", 10), at("fail", 11), at("skip", 20), at("skip", 25)], 2)).toEqual({
      hard: "fail",
      attempt: 2,
    });
  });

  it("is none when that was soft or over", () => {
    expect(restoredAfter([at("fail", 10), at("skip", 12)], 1)).toEqual(passing);
    expect(restoredAfter([at("fail", 10), at("pass", 20), at("skip", 30)], 1)).toEqual(passing);
    expect(restoredAfter([at("skip", 30)], 1)).toEqual(passing);
    expect(restoredAfter([], 1)).toEqual(passing);
    expect(restoredAfter([at("fail", 10), at("skip", 13)], 1).hard).toBe("fail");
  });
});
