import { describe, expect, it } from "vitest";
import { countText, failureText, outcomeOf, unstableText } from "./report.ts";
import type { FileResult } from "./results.ts";

const result = (file: string, ...failures: readonly string[]): FileResult => ({
  ...{ project: "api", file, seconds: 1, passed: 2, skipped: 0 },
  failed: failures.map((failure) => ({ title: "answers", failure })),
});
const passing = result("a.test.ts");
const failing = result("b.test.ts", "expected 1\nto be 2");

describe("the outcome of a test run", () => {
  it("counts a file that failed and then passed once, as it passed", () => {
    // It failed in a hook, so that its tests were skipped.
    const first = { ...failing, passed: 0, skipped: 3 };
    const again = { ...result("b.test.ts"), passed: 3 };
    const outcome = outcomeOf([passing, first], [{ first, code: 0, files: [again] }]);
    expect(outcome).toEqual({ failed: [], unstable: [first], files: [passing, again] });
    expect(countText(outcome.files)).toBe("5 passed, 0 failed, 0 skipped");
    expect(unstableText(outcome.unstable)).toBe("unstable: b.test.ts, answers: expected 1");
  });

  it("has the second failure of a file that failed twice", () => {
    const again = result("b.test.ts", "expected 1 to be 3");
    const outcome = outcomeOf([passing, failing], [{ first: failing, code: 1, files: [again] }]);
    expect(outcome).toEqual({ failed: [again], unstable: [], files: [passing, again] });
  });

  it("fails where the repetition ended without a result, or with an error outside of tests", () => {
    expect(outcomeOf([failing], [{ first: failing, code: 1, files: [] }])).toMatchObject({
      failed: [failing],
      unstable: [],
    });
    const outside = { ...result("b.test.ts", "lost promise"), project: "" };
    const files = [result("b.test.ts"), outside];
    expect(outcomeOf([failing], [{ first: failing, code: 1, files }])).toMatchObject({
      failed: [outside],
      unstable: [],
    });
  });

  it("distinguishes a file of two projects", () => {
    const other = { ...failing, project: "long" };
    const outcome = outcomeOf(
      [failing, other],
      [
        { first: failing, code: 0, files: [result("b.test.ts")] },
        { first: other, code: 1, files: [other] },
      ],
    );
    expect(outcome).toMatchObject({ failed: [other], unstable: [failing] });
  });

  it("has all failures of a run that was not repeated", () => {
    expect(outcomeOf([passing, failing], [])).toEqual({ failed: [failing], unstable: [], files: [passing, failing] });
  });
});

it("the text of a failure names the project, the file and the test, and what ran during an error outside of tests", () => {
  expect(failureText([failing])).toBe("api: b.test.ts > answers\n    expected 1\n    to be 2");
  const outside = { project: "", failed: [{ title: undefined, failure: "lost promise" }] };
  expect(failureText([{ ...failing, ...outside }])).toBe("outside of tests, during b.test.ts\n    lost promise");
  expect(failureText([{ ...failing, ...outside, file: "" }])).toBe("outside of tests\n    lost promise");
});
