import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { divide, fitTo } from "./histogram.ts";

const second = 1_000_000;
const moment = fc.integer({ min: 0, max: 2 ** 53 - 1 });

describe("the buckets of a histogram", () => {
  it("hold the whole window, and are no more than asked for", () => {
    fc.assert(
      fc.property(moment, moment, fc.integer({ min: 1, max: 1000 }), (a, b, most) => {
        const [since, until] = [Math.min(a, b), Math.max(a, b)];
        const { seconds, first, last } = divide(since, until, most);
        expect(first * seconds * second).toBeLessThanOrEqual(since);
        expect((last + 1) * seconds * second).toBeGreaterThan(until);
        expect(last - first + 1).toBeLessThanOrEqual(most);
      }),
    );
  });

  it.each([
    { span: 0, most: 60, seconds: 1 },
    { span: 59, most: 60, seconds: 1 },
    { span: 60, most: 60, seconds: 2 },
    { span: 3599, most: 60, seconds: 60 },
    { span: 86_399, most: 24, seconds: 3600 },
    { span: 40 * 364 * 86_400, most: 1, seconds: 64 * 364 * 86_400 },
  ])("have the shortest round length for $span seconds in $most buckets", ({ span, most, seconds }) => {
    expect(divide(0, span * second, most).seconds).toBe(seconds);
  });
});

describe("the window of a histogram of a boot", () => {
  const query = {
    ...{ units: undefined, priority: undefined, identifier: undefined, boot: "0", grep: undefined },
    ...{ since: 0, until: 100, buckets: 10, isFitted: { since: true, until: true } },
  };

  it("begins and ends with the entries, unless an end is given", () => {
    expect(fitTo(query, [30, 50, 40])).toMatchObject({ since: 30, until: 50 });
    expect(fitTo({ ...query, since: 20, isFitted: { since: false, until: true } }, [30, 50])).toMatchObject({
      since: 20,
      until: 50,
    });
    expect(fitTo({ ...query, until: 45, isFitted: { since: true, until: false } }, [30, 50])).toMatchObject({
      since: 30,
      until: 45,
    });
  });

  it("is one instant where there are no entries", () => {
    expect(fitTo(query, [])).toMatchObject({ since: 100, until: 100 });
  });
});
