import fc from "fast-check";
import { expect, it } from "vitest";
import { lowerBound, toOffsets } from "./postings.ts";
import { createTimeline } from "./time-window.ts";

/** More than the number of entries whose times are all read. */
const length = 5_000;

/** Times of entries that come in bursts, and so are far from where they would be at one pace. */
const bursts = fc
  .array(fc.record({ pause: fc.integer({ min: 0, max: 1_000_000 }), step: fc.integer({ min: 0, max: 3 }) }), {
    minLength: 1,
    maxLength: 8,
  })
  .map((rhythm) => {
    let at = 1;
    const each = Math.ceil(length / rhythm.length);
    return Array.from({ length }, (_, position) => {
      const { pause = 0, step = 0 } = rhythm[Math.floor(position / each)] ?? {};
      at += position % each === 0 ? pause : step;
      return at;
    });
  });

const offsetOf = (position: number): number => 8 * (position + 1);
const offsetsOf = (positions: readonly number[]): readonly number[] => positions.map(offsetOf);

function timelineOf(times: readonly number[], isReadable: (position: number) => boolean) {
  const offsets = Float64Array.from(times, (_, position) => offsetOf(position));
  const list = {
    length,
    at: (position: number) => offsets[position] ?? 0,
    lowerBound: (offset: number) => lowerBound({ kind: "offsets", offsets }, offset),
    slice: (from: number, to: number) => offsets.slice(from, to),
    read: (from: number, into: Float64Array) => {
      const part = offsets.subarray(from, from + into.length);
      into.set(part);
      return part.length;
    },
  };
  const realtimeOf = (offset: number): number | undefined =>
    isReadable(offset / 8 - 1) ? times[offset / 8 - 1] : undefined;
  return createTimeline({ all: () => list, realtimeOf, firstOfBoots: () => [], isByJournald: true });
}

const edges = fc.tuple(fc.nat({ max: length - 1 }), fc.nat({ max: length - 1 }), fc.integer({ min: -1, max: 1 }));

it("a time window has exactly its entries, however unevenly they were written", () => {
  fc.assert(
    fc.property(bursts, fc.array(edges, { minLength: 1, maxLength: 8 }), (times, windows) => {
      const timeline = timelineOf(times, () => true);
      for (const [from, to, shift] of windows) {
        const [since, until] = [(times[from] ?? 0) + shift, (times[to] ?? 0) + shift];
        const inside = times.flatMap((time, position) => (time >= since && time <= until ? [position] : []));
        expect([...toOffsets(timeline.window(since, until))]).toEqual(offsetsOf(inside));
      }
    }),
  );
});

it("a time window has the readable entries beside unreadable ones", () => {
  fc.assert(
    fc.property(bursts, fc.nat({ max: 40 }), edges, (times, every, [from, to]) => {
      const isReadable = (position: number): boolean => position % (every + 2) !== 1;
      const timeline = timelineOf(times, isReadable);
      const [since, until] = [times[from] ?? 0, times[to] ?? 0];
      const found = [...toOffsets(timeline.window(since, until))].map((offset) => offset / 8 - 1).filter(isReadable);
      const inside = times.flatMap((time, position) =>
        time >= since && time <= until && isReadable(position) ? [position] : [],
      );
      expect(found).toEqual(inside);
    }),
  );
});
