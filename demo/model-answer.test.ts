import { expect, it } from "vitest";
import { answerTo, piecesOf } from "./model-answer.ts";

const data = `What is wrong?

data begins 0011
## Result of the check
id: systemd_failed
fix: systemd_restart_failed
message: One unit has failed: nightly-report.service

## Journal
L1 2026-01-01T00:00:00Z nightly-report: making the report
L2 2026-01-01T00:00:01Z nightly-report: cannot read /srv/report/input.csv: No such file or directory
L3 2026-01-01T00:00:02Z nightly-report.service systemd[1] err: Failed to start nightly-report.service
data ends 0011`;

it("explains a check from its message and the lines that look like trouble, by their numbers", () => {
  const answer = answerTo([
    { role: "system", content: "You explain" },
    { role: "user", content: data },
  ]);
  expect(answer).toContain("What is wrong: One unit has failed: nightly-report.service.");
  expect(answer).toContain("- [L2] 2026-01-01T00:00:01Z nightly-report: cannot read /srv/report/input.csv");
  expect(answer).not.toMatch(/\[L[13]\]/);
  expect(answer).toContain("the plan of the fix (systemd_restart_failed)");
  expect(answer).toContain("not a language model");
});

it("takes what is attached to a question for a part of it", () => {
  const answer = answerTo([
    { role: "user", content: "one\ntwo failed\nthree" },
    { role: "user", content: "What is it?" },
  ]);
  expect(answer).toContain("I was given 4 lines. 1 of them look like trouble; the first is: two failed");
});

it.each([
  ["a question", "Are you well?", "You asked: “Are you well?”"],
  [
    "lines of a log",
    "one\ntwo failed\nthree\nfour timed out",
    "I was given 4 lines. 2 of them look like trouble; the first is: two failed",
  ],
  ["a log without trouble", "one\ntwo\nthree", "I was given 3 lines. None of them looks like trouble."],
  ["nothing", "", "You asked: “”"],
])("answers %s from what it was given", (_, asked, expected) => {
  expect(answerTo([{ role: "user", content: asked }])).toContain(expected);
});

it("is streamed in pieces that make the whole", () => {
  const answer = answerTo([{ role: "user", content: data }]);
  expect(piecesOf(answer).join("")).toBe(answer);
  expect(piecesOf("")).toEqual([]);
});
