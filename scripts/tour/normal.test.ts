import { expect, it } from "vitest";
import { createNormaliser, differenceOf, shapeOf, textOf } from "./normal.ts";

const line = (text: string) => [
  { column: 0, text, colour: undefined, isBold: false, isDim: false, isUnderlined: false },
];

it.each([
  ["at 2026-11-22T12:53:01.643637Z nightly[198] err", "at 2026-01-31T12:00:00.000000Z nightly[100] err"],
  ["Nov  2 12:53:02 web1 shop[7]: x", "Jan 31 12:00:00 web1 shop[7]: x"],
  ["taken 2026-11-22 12:53", "taken 2026-01-31 12:00"],
  ["20261122-125614-009-24a7170d of 20261122-125317", "20260131-120001-000-0a1b2c3d of 20260131-120000"],
])("the tour replaces times and ids in %j without moving text", (text, expected) => {
  const normal = createNormaliser();
  // Seen before, so that another one differs from it.
  normal(line("20261122-125317"));
  const [run] = normal(line(text));
  expect(run?.text).toBe(expected);
  expect(run?.text).toHaveLength(text.length);
});

it("the tour puts runs of text at their columns, and names the first changed line", () => {
  const runs = [...line("ab"), ...line("c").map((run) => ({ ...run, column: 5 }))];
  expect(textOf(runs)).toBe("ab   c");
  expect(differenceOf("one 1\ntwo\nthree", "one 2\ntwo\nthree")).toBeUndefined();
  expect(differenceOf("one 1\ntwo", "one 2\n2 two")).toEqual({ before: "two", now: "0 two" });
  expect(differenceOf("one", "one\ntwo")).toEqual({ before: "(it ends)", now: "two" });
});

it.each([
  ["figures and units", "5.7 % of 23.5 GiB, 1 min 10 s ago", "4 % of 900 MiB, 26 s ago", true],
  ["widths", "a    b", "a b", true],
  ["repeated lines", "try 1\ntry 2\nend", "try 7\nend", true],
  ["bars", "██░░ 50 %", "████ 100 %", true],
  ["a word", "1 unit failed", "1 unit stopped", false],
  ["a line", "one\ntwo", "one", false],
])("the shape of tour output ignores %s, or not", (_, before, after, isSame) => {
  expect(shapeOf(before) === shapeOf(after)).toBe(isSame);
});
