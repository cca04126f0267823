import { describe, expect, it } from "vitest";
import { type InsideSample, type OutsideSample, parseOutside, percentile, slopeOf } from "./samples.ts";
import { failuresOf, findingsOf } from "./verdict.ts";

const mib = 1024 ** 2;
const minute = 60_000;

describe("a soak sample of a process", () => {
  it("is parsed from /proc", () => {
    const text = [
      "Name:\tnode",
      "VmRSS:\t  2048 kB",
      "RssAnon:\t  1024 kB",
      "Threads:\t12",
      "Descriptors: 34",
      "77 (a (strange) name) S 1 77 77 0 -1 4194560 1 2 3 4 150 50 7 8 20 0 12 0 9 1 2",
    ].join("\n");
    expect(parseOutside(text, 5)).toEqual({
      at: 5,
      residentBytes: 2 * mib,
      anonymousBytes: mib,
      descriptors: 34,
      threads: 12,
      cpuSeconds: 2,
    });
    expect(() => parseOutside("cat: no such file", 5)).toThrow("cannot find");
  });
});

describe("the slope of soak samples", () => {
  it("has a value and a margin", () => {
    expect(slopeOf([0, 1, 2, 3].map((x) => [x, 5 + 2 * x] as const))).toEqual({ value: 2, margin: 0 });
    const noisy = slopeOf([0, 1, 2, 3, 4, 5].map((x) => [x, x % 2] as const));
    expect(Math.abs(noisy.value)).toBeLessThan(noisy.margin);
    expect(() => slopeOf([[1, 1]])).toThrow("three");
  });
});

it("a percentile of soak samples is the value that so many do not exceed", () => {
  expect([50, 99, 100].map((percent) => percentile([3, 1, 2, 4], percent))).toEqual([2, 4, 4]);
  expect(percentile([], 50)).toBeNaN();
});

describe("the verdict of a soak run", () => {
  const bounds = { residentMibPerMinute: 0.5, heapMibPerMinute: 0.2, descriptors: 8, threads: 2 };
  const tally = { faults: [], mutations: 5, streams: 5 };
  const run = (grow: { resident?: number; heap?: number; descriptors?: number; threads?: number }) => {
    const times = Array.from({ length: 25 }, (_, at) => at);
    const outside: readonly OutsideSample[] = times.map((at) => ({
      at: at * minute,
      residentBytes: (300 + (at % 3) + at * (grow.resident ?? 0)) * mib,
      anonymousBytes: 200 * mib,
      descriptors: 60 + (at % 2) + Math.round(at * (grow.descriptors ?? 0)),
      threads: 14 + Math.round(at * (grow.threads ?? 0)),
      cpuSeconds: at * 6,
    }));
    const inside = times.flatMap((at): readonly InsideSample[] => {
      const shared = { at: at * minute, externalBytes: 0, isCollected: at % 2 === 0 };
      const garbage = at % 2 === 0 ? 0 : 40;
      // One of those that come and go: each is there once.
      const passing = { ...shared, thread: 10 + at, loopP99Ms: 1, loopMaxMs: 1, heapBytes: 30 * mib };
      return [
        passing,
        { ...shared, thread: 1, loopP99Ms: 500, loopMaxMs: 900, heapBytes: (20 + at * (grow.heap ?? 0)) * mib },
        { ...shared, thread: 0, loopP99Ms: 12, loopMaxMs: 20 + at, heapBytes: (30 + garbage) * mib },
      ];
    });
    return findingsOf(outside, inside);
  };

  it("passes flat samples", () => {
    const findings = run({});
    expect(findings).toMatchObject({ minutes: 24, cpuPercent: 10, loopMaxMs: 44, heapMib: { first: 80, last: 80 } });
    expect(failuresOf(findings, tally, bounds)).toEqual([]);
  });

  it.each([
    [{ resident: 1 }, "resident memory grows by"],
    [{ heap: 0.5 }, "what is left of the heap grows by"],
    [{ descriptors: 1 }, "descriptors went from"],
    [{ threads: 0.3 }, "threads went from"],
  ])("fails growth by %j", (grow, failure) => {
    expect(failuresOf(run(grow), tally, bounds)).toEqual([expect.stringContaining(failure)]);
  });

  it("fails when calls failed, or there were none", () => {
    expect(failuresOf(run({}), { ...tally, faults: ["GET /x: 500"] }, bounds)).toEqual([
      expect.stringContaining("1 calls failed, the first: GET /x: 500"),
    ]);
    expect(failuresOf(run({}), { ...tally, streams: 0 }, bounds)).toEqual(["there was no load"]);
  });
});
