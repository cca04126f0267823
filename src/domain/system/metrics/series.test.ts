import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Ring } from "#domain/ports/host-samples.ts";
import { createSeries } from "./series.ts";

const start = Date.parse("2026-01-31T00:00:00Z");
const [secondMs, minuteMs, hourMs, dayMs] = [1_000, 60_000, 3_600_000, 86_400_000];
const names = ["a", "b"] as const;
type Values = Readonly<Record<(typeof names)[number], number | undefined>>;

const copyOf = (rings: readonly Ring[]): readonly Ring[] =>
  rings.map((ring) => ({ ...ring, values: ring.values.slice() }));

/** Every ten seconds from one time to another, `a` as the time says and `b` as a constant. */
function sampled(from: number, until: number, valueAt: (at: number) => number = () => 1) {
  const series = createSeries(names);
  for (let at = from + 5 * secondMs; at < until; at += 10 * secondMs) series.record(at, { a: valueAt(at), b: 7 });
  return series;
}

describe("series of samples", () => {
  it("have 360 values for an hour and 288 for a day", () => {
    const now = start + dayMs;
    const series = sampled(start, now, (at) => at % 300_000);
    const hour = series.read(["a"], { sinceMs: now - hourMs, nowMs: now, points: 360 });
    expect(hour).toMatchObject({ sinceMs: now - hourMs, untilMs: now, stepMs: 10_000 });
    expect(hour.columns[0]?.values.slice(0, 2)).toEqual([5_000, 15_000]);
    expect([hour.columns[0]?.values.length, hour.columns[0]?.max]).toEqual([360, undefined]);
    const day = series.read(["b", "a"], { sinceMs: now - dayMs, nowMs: now, points: 360 });
    expect(day).toMatchObject({ sinceMs: start, untilMs: now, stepMs: 300_000 });
    expect(day.columns.map(({ name }) => name)).toEqual(["b", "a"]);
    expect(day.columns[0]?.values).toEqual(Array(288).fill(7));
    expect(day.columns[1]).toEqual({ name: "a", values: Array(288).fill(150_000), max: Array(288).fill(295_000) });
  });

  it("have fewer values on request, as the mean and the highest of those between", () => {
    const nowMs = start + hourMs + 34 * secondMs;
    const series = sampled(start, nowMs, (at) => at - start);
    const minutes = series.read(["a"], { sinceMs: nowMs - hourMs, nowMs, points: 60 });
    expect(minutes).toMatchObject({ sinceMs: start + minuteMs, untilMs: start + hourMs + minuteMs, stepMs: minuteMs });
    const means = Array.from({ length: 60 }, (_, at) => (at + 1.5) * minuteMs);
    // The last one continues.
    expect(minutes.columns[0]?.values).toEqual([...means.slice(0, -1), hourMs + 15 * secondMs]);
    expect(minutes.columns[0]?.max?.[0]).toBe(2 * minuteMs - 5 * secondMs);
  });

  it("end with the newest sample, before the present step where that has none yet", () => {
    const series = sampled(start, start + minuteMs);
    const lengthAt = (nowMs: number) => series.read(["a"], { sinceMs: start, nowMs, points: 360 }).columns[0]?.values;
    expect(lengthAt(start + minuteMs + 2 * secondMs)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(lengthAt(start + minuteMs + 12 * secondMs)).toEqual([1, 1, 1, 1, 1, 1, Number.NaN]);
    series.record(start + minuteMs + 5 * secondMs, { a: 2, b: 2 });
    expect(lengthAt(start + minuteMs + 6 * secondMs)).toEqual([1, 1, 1, 1, 1, 1, 2]);
  });

  it("have no value where the service did not run", () => {
    const series = sampled(start, start + 10 * minuteMs);
    for (let at = start + 30 * minuteMs; at < start + 40 * minuteMs; at += 10 * secondMs)
      series.record(at, { a: 3, b: 3 });
    const { values } = series.read(["a"], { sinceMs: start, nowMs: start + 40 * minuteMs, points: 4 }).columns[0] ?? {};
    expect(values).toEqual([1, Number.NaN, Number.NaN, 3]);
  });

  it("are not taken from an earlier run that had others", () => {
    const kept = copyOf(sampled(start, start + hourMs).kept());
    const { columns } = createSeries(["a"], kept).read(["a"], { sinceMs: start, nowMs: start + hourMs, points: 1 });
    expect(columns[0]?.values).toEqual([Number.NaN]);
  });
});

type Step =
  | { readonly kind: "sample"; readonly values: Values }
  | { readonly kind: "wait" | "set"; readonly ms: number }
  | { readonly kind: "restart" };

/** Whole numbers, which 32 bits keep. */
const figure = fc.option(fc.integer({ min: 0, max: 1_000_000 }), { nil: undefined });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant("sample" as const), values: fc.record({ a: figure, b: figure }) }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 40_000 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 9 * hourMs }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("set" as const),
      ms: fc.oneof(
        fc.integer({ min: -10 * minuteMs, max: 10 * minuteMs }),
        fc.integer({ min: -3 * hourMs, max: 3 * hourMs }),
        fc.integer({ min: -40 * dayMs, max: 40 * dayMs }),
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
);

interface Entry {
  readonly mean: number;
  readonly max: number;
}

/** Everything by the start of its slot; what is later than the newest slot, or too old, is forgotten. */
function createModel() {
  const [fine, coarse] = [new Map<number, Entry>(), new Map<number, Entry>()];
  const put = (
    slots: Map<number, Entry>,
    stepMs: number,
    keptMs: number,
    at: number,
    entry: () => Entry | undefined,
  ) => {
    const slot = at - (at % stepMs);
    for (const each of slots.keys()) if (each >= slot || each <= slot - keptMs) slots.delete(each);
    const made = entry();
    if (made !== undefined) slots.set(slot, made);
  };
  const over = (slots: ReadonlyMap<number, Entry>, from: number, until: number): Entry | undefined => {
    const found = [...slots].filter(([at]) => at >= from && at < until).map(([, entry]) => entry);
    if (found.length === 0) return undefined;
    const sum = found.reduce((all, { mean }) => all + mean, 0);
    return { mean: sum / found.length, max: Math.max(...found.map(({ max }) => max)) };
  };
  return {
    record(at: number, value: number | undefined): void {
      put(fine, 10_000, hourMs, at, () => (value === undefined ? undefined : { mean: value, max: value }));
      const begin = at - (at % 300_000);
      put(coarse, 300_000, dayMs, at, () => over(fine, begin, begin + 300_000));
    },
    over: (isFine: boolean, from: number, until: number) => over(isFine ? fine : coarse, from, until),
  };
}

it("series over any samples, pauses, restarts and set clocks are those of a list of all samples", () => {
  const sinceMs = fc.constantFrom(minuteMs, hourMs, 2 * hourMs, dayMs, 3 * dayMs);
  const points = fc.integer({ min: 1, max: 360 });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), sinceMs, points, (steps, ago, most) => {
      let series = createSeries(names);
      const models = { a: createModel(), b: createModel() };
      let now = start;
      for (const each of steps) {
        if (each.kind === "restart") series = createSeries(names, copyOf(series.kept()));
        else if (each.kind === "sample") {
          series.record(now, each.values);
          for (const name of names) models[name].record(now, each.values[name]);
        } else now += each.ms;
      }
      const { columns, stepMs, ...read } = series.read(names, { sinceMs: now - ago, nowMs: now, points: most });
      expect([read.sinceMs % stepMs, read.untilMs % stepMs]).toEqual([0, 0]);
      expect(read.untilMs).toBeGreaterThanOrEqual(now - (now % stepMs) - stepMs);
      expect(read.untilMs).toBeLessThanOrEqual(now + stepMs);
      expect(read.sinceMs).toBeGreaterThanOrEqual(now - Math.min(ago, dayMs + 300_000));
      expect(read.sinceMs).toBeLessThan(now - Math.min(ago, dayMs) + stepMs + (ago <= hourMs ? 10_000 : 300_000));
      for (const { name, values, max } of columns) {
        expect(values).toHaveLength((read.untilMs - read.sinceMs) / stepMs);
        expect(values.length).toBeLessThanOrEqual(most);
        for (const [at, value] of values.entries()) {
          const from = read.sinceMs + at * stepMs;
          // A sample of a time that is to come again is not shown.
          const until = Math.min(from + stepMs, now + 1);
          const expected = models[name].over(ago <= hourMs, from, until);
          expect(value).toEqual(expected === undefined ? Number.NaN : expect.closeTo(expected.mean, 0));
          if (max !== undefined) expect(max[at]).toBe(expected?.max ?? Number.NaN);
        }
      }
    }),
    { numRuns: 500 },
  );
});
