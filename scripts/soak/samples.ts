/** What is seen of the process from outside. */
export interface OutsideSample {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly residentBytes: number;
  /** Of that, what is not of a file, so that the kernel cannot take it back. */
  readonly anonymousBytes: number;
  readonly descriptors: number;
  readonly threads: number;
  /** Processor time since its start. */
  readonly cpuSeconds: number;
}

/** What a thread of the process sees of itself, see `inside.ts`. */
export interface InsideSample {
  readonly at: number;
  /** 0 is the main one. */
  readonly thread: number;
  readonly loopP99Ms: number;
  readonly loopMaxMs: number;
  readonly heapBytes: number;
  readonly externalBytes: number;
  /** Whether the heap is what was left after all garbage was collected. */
  readonly isCollected: boolean;
}

const ticksPerSecond = 100;
const field = (text: string, pattern: RegExp): number => {
  const value = Number(pattern.exec(text)?.[1]);
  if (Number.isNaN(value))
    throw new Error(`cannot find ${pattern.source} in what the process is like: ${text.slice(0, 200)}`);
  return value;
};

/** The words of a shell that print what `parseOutside` reads. */
export const outsideCommand = (pid: number): string =>
  `cat /proc/${pid}/status; echo "Descriptors: $(ls /proc/${pid}/fd | wc -l)"; cat /proc/${pid}/stat`;

/** Reads what `outsideCommand` printed. @throws Error when the process is gone. */
export function parseOutside(text: string, at: number): OutsideSample {
  const [, ticks = ""] = /^\d+ \(.*\) \S(?: \S+){10} (\d+ \d+) /m.exec(text) ?? [];
  const [user = Number.NaN, system = Number.NaN] = ticks.split(" ").map(Number);
  return {
    at,
    residentBytes: field(text, /^VmRSS:\s+(\d+) kB$/m) * 1024,
    anonymousBytes: field(text, /^RssAnon:\s+(\d+) kB$/m) * 1024,
    descriptors: field(text, /^Descriptors: (\d+)$/m),
    threads: field(text, /^Threads:\s+(\d+)$/m),
    cpuSeconds: (user + system) / ticksPerSecond,
  };
}

/** A straight line through points by least squares. */
export interface Slope {
  /** Of y for each unit of x. */
  readonly value: number;
  /** Half of the interval that it lies in with 95 %, taken as if the points were independent. */
  readonly margin: number;
}

/** @throws Error for fewer than three points. */
export function slopeOf(points: readonly (readonly [x: number, y: number])[]): Slope {
  const count = points.length;
  if (count < 3) throw new Error(`cannot find a slope of ${count} points: three are the least`);
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / count;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / count;
  const spreadX = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  const value = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spreadX;
  const residue = points.reduce((sum, [x, y]) => sum + (y - meanY - value * (x - meanX)) ** 2, 0);
  return { value, margin: 1.96 * Math.sqrt(residue / (count - 2) / spreadX) };
}

/** The value that so many of a hundred do not exceed; NaN of nothing. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? Number.NaN;
}
