import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CheckStatus, checkStatuses, type Severity } from "#contract/checks.ts";
import type { CheckSettings, Outcome, PreviousGrades } from "./check.ts";
import {
  attemptsFor,
  createGrader,
  type HardState,
  hardened,
  levelOf,
  noProblem,
  restored,
  restoredSkipped,
} from "./grading.ts";

type Settings = Pick<CheckSettings, "margin" | "previous">;
const thresholds = { warn: 80, fail: 95 };
const outcome = (status: Outcome["status"]): Outcome => ({ status, message: "said", details: {} });

/** The status of each value, each run knowing what the one before said. */
function statusesOf(values: readonly number[], limits = thresholds, margin?: number): readonly string[] {
  let previous: PreviousGrades = { status: "pass", objects: {} };
  return values.map((value) => {
    const grader = createGrader({ previous, ...(margin !== undefined && { margin }) });
    const status = grader.grade(value, limits);
    previous = { status, objects: grader.finish(outcome(status)).graded ?? {} };
    return status;
  });
}

const changes = (statuses: readonly string[]): number =>
  statuses.filter((status, at) => at > 0 && status !== statuses[at - 1]).length;

describe("a threshold", () => {
  it("is entered at its value and left by the margin below it, also of free space", () => {
    expect(statusesOf([79.9, 80, 79, 78, 77.9, 80])).toEqual(["pass", "warn", "warn", "warn", "pass", "warn"]);
    expect(statusesOf([95, 93, 92.625, 92.6, 78, 77])).toEqual(["fail", "fail", "fail", "warn", "warn", "pass"]);
    expect(statusesOf([96, 10])).toEqual(["fail", "pass"]);
    expect(statusesOf([80, 73, 71.9], thresholds, 10)).toEqual(["warn", "warn", "pass"]);
    expect(statusesOf([80, 79.9], thresholds, 0)).toEqual(["warn", "pass"]);
    const of = (value: number, settings: Settings = {}) =>
      createGrader(settings).gradeLow(value, { warn: 10, fail: 2 }, "/srv", String);
    const warned: Settings = { previous: { status: "warn", objects: { "/srv": "warn" } } };
    expect([of(10), of(9.9), of(2), of(1.9)]).toEqual(["pass", "warn", "warn", "fail"]);
    expect([of(10.2, warned), of(10.25, warned)]).toEqual(["warn", "pass"]);
    expect(createGrader({}).gradeLow(0, { warn: 0, fail: 0 }, "/srv", String)).toBe("pass");
  });
});

describe("a value that oscillates around a threshold", () => {
  const limits = fc
    .record({
      warn: fc.double({ min: 1, max: 1e6, noNaN: true }),
      factor: fc.double({ min: 1.2, max: 10, noNaN: true }),
    })
    .map(({ warn, factor }) => ({ warn, fail: warn * factor }));
  const shares = fc.array(fc.double({ min: -0.0124, max: 0.0124, noNaN: true }), { minLength: 2, maxLength: 60 });

  it("by less than the margin changes the status at most once", () => {
    fc.assert(
      fc.property(limits, fc.constantFrom("warn", "fail"), shares, (each, around, parts) => {
        const values = parts.map((part) => each[around] * (1 + part));
        expect(changes(statusesOf(values, each))).toBeLessThanOrEqual(1);
      }),
    );
  });

  it("has a status between those without and with the whole margin", () => {
    fc.assert(
      fc.property(limits, fc.array(fc.double({ min: 0, max: 1e7, noNaN: true }), { maxLength: 60 }), (each, values) => {
        const rank = (status: string | undefined) => ["pass", "warn", "fail"].indexOf(status ?? "");
        const plain = (value: number | undefined, limit: typeof each) => createGrader({}).grade(value ?? 0, limit);
        const lower = { warn: each.warn * 0.975, fail: each.fail * 0.975 };
        for (const [at, status] of statusesOf(values, each).entries()) {
          expect(rank(status)).toBeGreaterThanOrEqual(rank(plain(values[at], each)));
          expect(rank(status)).toBeLessThanOrEqual(rank(plain(values[at], lower)));
        }
      }),
    );
  });
});

describe("the outcome of a run", () => {
  it("names what it holds, also after a restart, and is unchanged otherwise", () => {
    const previous = { status: "warn", objects: { "/srv": "warn" } } as const;
    const grader = createGrader({ previous });
    expect([grader.grade(79, thresholds, "/srv"), grader.grade(79, thresholds, "/")]).toEqual(["warn", "pass"]);
    expect(grader.finish(outcome("warn"))).toEqual({
      status: "warn",
      message: "said (/srv stays at warn until below 78 %)",
      details: { held: [{ object: "/srv", status: "warn", until: "below 78 %" }] },
      graded: { "/srv": "warn" },
    });
  });

  it("is unchanged when nothing is held", () => {
    const grader = createGrader({});
    grader.grade(50, thresholds);
    expect(grader.finish(outcome("pass"))).toEqual(outcome("pass"));
    expect(createGrader({ previous: { status: "warn" } }).grade(79, thresholds)).toBe("warn");
    expect(createGrader({ previous: { status: "skip" } }).grade(79, thresholds)).toBe("pass");
    expect(createGrader({ previous: { status: "fail" } }).grade(94, thresholds)).toBe("fail");
  });

  it("is an error for NaN", () => {
    expect(() => createGrader({}).grade(Number.NaN, thresholds)).toThrow("cannot grade a figure: not a number");
    expect(() => createGrader({}).gradeLow(Number.NaN, thresholds, "/srv", String)).toThrow(
      "cannot grade /srv: not a number",
    );
    expect(createGrader({}).grade(Number.POSITIVE_INFINITY, thresholds)).toBe("fail");
  });

  it("treats hostile object names as names", () => {
    const previous: PreviousGrades = { status: "warn", objects: {} };
    expect(createGrader({ previous }).grade(79, thresholds, "constructor")).toBe("pass");
    const grader = createGrader({});
    grader.grade(90, thresholds, "__proto__");
    const { graded = {} } = grader.finish(outcome("warn"));
    expect(createGrader({ previous: { status: "warn", objects: graded } }).grade(79, thresholds, "__proto__")).toBe(
      "warn",
    );
  });
});

const stateAfter = (statuses: readonly CheckStatus[], attempts = 3, start: HardState = noProblem): HardState =>
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
    expect(stateAfter(["skip"], 3, noProblem)).toEqual(noProblem);
  });

  it("does not count runs in quick succession", () => {
    const soft = hardened(noProblem, "fail", 3, true);
    expect(soft.attempt).toBe(1);
    expect(hardened(soft, "fail", 3, true)).toEqual(soft);
    expect(hardened(soft, "pass", 3, true)).toEqual(noProblem);
    expect(hardened({ hard: "fail", attempt: 0 }, "pass", 3, true).hard).toBe("pass");
  });

  it("is the level of the last runs, whatever came before", () => {
    const runs = fc.array(fc.constantFrom(...checkStatuses), { maxLength: 30 });
    fc.assert(
      fc.property(runs, fc.integer({ min: 1, max: 5 }), (statuses, attempts) => {
        let state = noProblem;
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
    expect(restored("skip", 0, 60_000, 3)).toEqual(noProblem);
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
    expect(restoredAfter(failedHard, 3)).toEqual(noProblem);
    expect(restoredAfter(failedHard, 1, 1)).toEqual(noProblem);
    expect(restoredAfter([at("fail", 10), at("warn", 19), at("skip", 20)], 1)).toEqual({ hard: "warn", attempt: 1 });
    expect(restoredAfter([at("fail", 10), at("fail", 11), at("skip", 20), at("skip", 25)], 2)).toEqual({
      hard: "fail",
      attempt: 2,
    });
  });

  it("is none when that was soft or over", () => {
    expect(restoredAfter([at("fail", 10), at("skip", 12)], 1)).toEqual(noProblem);
    expect(restoredAfter([at("fail", 10), at("pass", 20), at("skip", 30)], 1)).toEqual(noProblem);
    expect(restoredAfter([at("skip", 30)], 1)).toEqual(noProblem);
    expect(restoredAfter([], 1)).toEqual(noProblem);
    expect(restoredAfter([at("fail", 10), at("skip", 13)], 1).hard).toBe("fail");
  });
});
