import { describe, expect, test } from "vitest";
import { alternate, median, meets, quantile, summarise } from "./harness.ts";

/** A measurement that gives one value after another and writes down when it was asked. */
function scripted(name: string, values: readonly number[], asked: string[]) {
  const left = [...values];
  return () => {
    asked.push(name);
    return Promise.resolve(left.shift() ?? Number.NaN);
  };
}

describe("the median", () => {
  test("is the middle value, or between the two", () =>
    expect([median([9, 1, 5]), median([4, 1, 3, 2])]).toEqual([5, 2.5]));
});

describe("a quantile", () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  test.each([
    [0.5, 50],
    [0.99, 99],
    [1, 100],
    [0, 1],
  ])("%d of 1 to 100 is %d", (part, value) => expect(quantile(hundred, part)).toBe(value));
  test("of one value is that value", () => expect(quantile([7], 0.99)).toBe(7));
});

describe("rounds of a benchmark", () => {
  test("alternate between both sides, without the warm-up", async () => {
    const asked: string[] = [];
    const pairs = await alternate({
      rounds: 3,
      ours: scripted("A", [100, 1, 2, 3], asked),
      peer: scripted("B", [200, 10, 20, 30], asked),
    });
    expect(asked.join("")).toBe("ABBAABBA");
    expect(pairs).toEqual([
      { ours: 1, peer: 10 },
      { ours: 2, peer: 20 },
      { ours: 3, peer: 30 },
    ]);
  });
});

describe("the summary of a benchmark", () => {
  const pairs = [
    { ours: 10, peer: 20 },
    { ours: 30, peer: 30 },
    { ours: 20, peer: 80 },
  ];

  test("has the median of the ratios", () => {
    const { ours, peer, ratio } = summarise(pairs, "ours/peer");
    expect({ ours, peer, ratio }).toEqual({ ours: 20, peer: 30, ratio: 0.5 });
  });

  test("inverts the ratio for how many times faster", () => {
    const { ratio, leastRatio, greatestRatio } = summarise(pairs, "peer/ours");
    expect({ ratio, leastRatio, greatestRatio }).toEqual({ ratio: 2, leastRatio: 1, greatestRatio: 4 });
  });
});

test.each([
  ["at least", 10, [10, 11], [9.9]],
  ["more than", 1, [1.01], [1, 0.5]],
  ["at most", 2.5, [2.5, 1], [2.51]],
  ["less than", 0.5, [0.49], [0.5, 1]],
] as const)("a goal of %s %d is met by its figures alone", (is, value, met, missed) => {
  for (const figure of met) expect(meets({ is, value }, figure)).toBe(true);
  for (const figure of missed) expect(meets({ is, value }, figure)).toBe(false);
});
