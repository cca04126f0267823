import { readFileSync } from "node:fs";
import type { Clock } from "#kernel/clock.ts";
import type { ContainerLimits } from "./cgroup.ts";
import { parseCpuTimes } from "./parse.ts";

const sampleIntervalMs = 5_000;
const historyMs = 600_000;
const minuteMs = 60_000;
/** A sample younger than this says too little: the counters move in ticks of 10 ms. */
const minSampleMs = 500;

interface Sample {
  readonly atMs: number;
  readonly busy: number;
  readonly total: number;
  /** Undefined in a container with a quota, for which the kernel does not count it. */
  readonly ioWait: number | undefined;
}

export type CpuLoad = ReturnType<typeof startCpuLoad>;

export function startCpuLoad(ports: { clock: Clock; limits: ContainerLimits; procDir: string }) {
  const { clock, limits, procDir } = ports;

  const take = (): Sample => {
    const atMs = clock.monotonicMs();
    const cpus = limits.cpus();
    const usedMicros = cpus === undefined ? undefined : limits.cpuTimeMicros();
    if (cpus !== undefined && usedMicros !== undefined) {
      return { atMs, busy: usedMicros, total: atMs * 1000 * cpus, ioWait: undefined };
    }
    const { total, idle, ioWait } = parseCpuTimes(readFileSync(`${procDir}/stat`, "latin1"));
    return { atMs, busy: total - idle, total, ioWait };
  };

  let samples: readonly Sample[] = [take()];
  const sampleAt = (index: number): Sample => samples.at(index) ?? take();
  const advance = (): void => {
    try {
      const next = take();
      const firstKept = samples.findLastIndex(({ atMs }) => next.atMs - atMs >= historyMs);
      samples = [...samples.slice(Math.max(0, firstKept)), next];
    } catch {
      // No descriptor is free to read with: the last samples stand until one is.
    }
  };
  const stop = clock.every(sampleIntervalMs, advance);

  const untilTwoSamples = async (): Promise<void> => {
    if (samples.length > 1) return;
    const age = clock.monotonicMs() - sampleAt(-1).atMs;
    if (age < minSampleMs) await clock.sleep(minSampleMs - age);
    if (samples.length === 1) advance();
  };

  const percentBetween = (from: Sample, to: Sample): number => {
    const total = to.total - from.total;
    return total <= 0 ? 0 : Math.min(100, Math.max(0, ((to.busy - from.busy) / total) * 100));
  };

  return {
    /** Processor time so far. @throws where it cannot be read. */
    take,
    async percent(): Promise<number> {
      await untilTwoSamples();
      return percentBetween(sampleAt(-2), sampleAt(-1));
    },
    /** Over the last minute or up to ten, or since the start when that is less. */
    async averagePercent(overMs = minuteMs): Promise<number> {
      await untilTwoSamples();
      const last = sampleAt(-1);
      const from = samples.findLastIndex(({ atMs }) => last.atMs - atMs >= overMs);
      return percentBetween(sampleAt(Math.max(0, from)), last);
    },
    dispose: stop,
  };
}
