import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CheckSettings, Outcome, PreviousGrades } from "./check.ts";
import { createGrader } from "./grading.ts";

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
