import type { Tally } from "./load.ts";
import { type InsideSample, type OutsideSample, percentile, type Slope, slopeOf } from "./samples.ts";

/** What a soak has to show. Memory by the minute of a long one; a short one only bounds by how much it grew. */
export interface Bounds {
  readonly residentMibPerMinute: number;
  readonly heapMibPerMinute: number;
  readonly descriptors: number;
  readonly threads: number;
}

/** What was seen, after the time in which caches fill and code is compiled. */
export interface Findings {
  readonly minutes: number;
  readonly residentMib: { readonly first: number; readonly last: number; readonly most: number };
  readonly residentSlope: Slope;
  readonly anonymousMib: { readonly first: number; readonly last: number };
  /** Of what is left when garbage has been collected, of all threads. */
  readonly heapMib: { readonly first: number; readonly last: number };
  readonly heapSlope: Slope | undefined;
  readonly descriptors: { readonly first: number; readonly last: number; readonly most: number };
  readonly threads: { readonly first: number; readonly last: number };
  readonly cpuPercent: number;
  readonly loopP99Ms: number;
  readonly loopMaxMs: number;
}

const mib = 1024 ** 2;

/** The medians of the first and the last quarter. */
function ends(values: readonly number[]): { first: number; last: number; most: number } {
  const quarter = Math.max(1, Math.floor(values.length / 4));
  return {
    first: percentile(values.slice(0, quarter), 50),
    last: percentile(values.slice(-quarter), 50),
    most: Math.max(...values),
  };
}

/** A thread that says nothing for so long has ended: those of queries do when there is nothing to do. */
const silentMs = 60_000;

/** What was left after each collection of the main thread, with the latest that was left of each other one. */
function heapsOf(inside: readonly InsideSample[]): readonly { readonly at: number; readonly mib: number }[] {
  const latest = new Map<number, { readonly at: number; readonly mib: number }>();
  return inside.flatMap(({ at, thread, heapBytes, externalBytes, isCollected }) => {
    if (!isCollected) return [];
    latest.set(thread, { at, mib: (heapBytes + externalBytes) / mib });
    if (thread !== 0) return [];
    const living = [...latest.values()].filter((each) => at - each.at < silentMs);
    return [{ at, mib: living.reduce((sum, each) => sum + each.mib, 0) }];
  });
}

/** @throws Error when there are too few samples for a verdict. */
export function findingsOf(outside: readonly OutsideSample[], inside: readonly InsideSample[]): Findings {
  const first = outside[0];
  const last = outside.at(-1);
  if (first === undefined || last === undefined || first === last)
    throw new Error("cannot judge a soak without samples");
  const minutesOf = ({ at }: { readonly at: number }): number => (at - first.at) / 60_000;
  const heaps = heapsOf(inside);
  const perMinute = (points: readonly (readonly [number, number])[]): Slope => slopeOf(points);
  const main = inside.filter(({ thread }) => thread === 0);
  return {
    minutes: minutesOf(last),
    residentMib: ends(outside.map(({ residentBytes }) => residentBytes / mib)),
    residentSlope: perMinute(outside.map((each) => [minutesOf(each), each.residentBytes / mib])),
    anonymousMib: ends(outside.map(({ anonymousBytes }) => anonymousBytes / mib)),
    heapMib: ends(heaps.map((each) => each.mib)),
    heapSlope: heaps.length < 3 ? undefined : perMinute(heaps.map((each) => [minutesOf(each), each.mib])),
    descriptors: ends(outside.map(({ descriptors }) => descriptors)),
    threads: ends(outside.map(({ threads }) => threads)),
    cpuPercent: ((last.cpuSeconds - first.cpuSeconds) / ((last.at - first.at) / 1000)) * 100,
    loopP99Ms: percentile(
      main.map(({ loopP99Ms }) => loopP99Ms),
      50,
    ),
    loopMaxMs: Math.max(...main.map(({ loopMaxMs }) => loopMaxMs)),
  };
}

/** What a soak did not hold, in words; empty when it held all. */
export function failuresOf(
  { residentSlope, heapSlope, descriptors, threads }: Findings,
  { faults, mutations, streams }: Pick<Tally, "faults" | "mutations" | "streams">,
  bounds: Bounds,
): readonly string[] {
  const failures: string[] = [];
  // Beyond doubt: even the least slope that fits is too steep.
  const isSteeper = ({ value, margin }: Slope, bound: number): boolean => value - margin > bound;
  const words = ({ value, margin }: Slope): string => `${value.toFixed(2)} ± ${margin.toFixed(2)} MiB a minute`;
  if (isSteeper(residentSlope, bounds.residentMibPerMinute))
    failures.push(`resident memory grows by ${words(residentSlope)}`);
  if (heapSlope !== undefined && isSteeper(heapSlope, bounds.heapMibPerMinute))
    failures.push(`what is left of the heap grows by ${words(heapSlope)}`);
  if (descriptors.last > descriptors.first + bounds.descriptors)
    failures.push(`descriptors went from ${descriptors.first} to ${descriptors.last}`);
  if (threads.last > threads.first + bounds.threads)
    failures.push(`threads went from ${threads.first} to ${threads.last}`);
  if (faults.length > 0) failures.push(`${faults.length} calls failed, the first: ${faults.slice(0, 3).join("; ")}`);
  if (mutations === 0 || streams === 0) failures.push("there was no load");
  return failures;
}
