import { readFileSync } from "node:fs";
import type { Clock, Dispose } from "#domain/kernel/clock.ts";
import type { ContainerLimits } from "./cgroup.ts";
import { parseCpuTimes } from "./parse.ts";

/** Time between two samples. */
const sampleIntervalMs = 5_000;
/** A sample younger than this says too little: the counters move in ticks of 10 ms. */
const minSampleMs = 500;

interface Sample {
  readonly atMs: number;
  /** Time spent working and time that was there, in one unit. */
  readonly busy: number;
  readonly total: number;
}

export interface CpuLoad {
  /** Share of processor time in use over the last interval, 0 to 100. */
  readonly percent: () => Promise<number>;
  readonly dispose: Dispose;
}

/** Samples the kernel's counters all the time, so that an answer need not wait for an interval to pass. */
export function startCpuLoad(ports: { clock: Clock; limits: ContainerLimits; procDir: string }): CpuLoad {
  const { clock, limits, procDir } = ports;

  const take = (): Sample => {
    const atMs = clock.monotonicMs();
    const cpus = limits.cpus();
    const usedMicros = cpus === undefined ? undefined : limits.cpuTimeMicros();
    if (cpus !== undefined && usedMicros !== undefined) return { atMs, busy: usedMicros, total: atMs * 1000 * cpus };
    const { total, idle } = parseCpuTimes(readFileSync(`${procDir}/stat`, "latin1"));
    return { atMs, busy: total - idle, total };
  };

  let previous = take();
  let last = previous;
  const advance = (): void => {
    try {
      const next = take();
      previous = last;
      last = next;
    } catch {
      // No descriptor is free to read with: the last samples stand until one is.
    }
  };
  const stop = clock.every(sampleIntervalMs, advance);

  return {
    async percent() {
      if (last === previous) {
        const age = clock.monotonicMs() - last.atMs;
        if (age < minSampleMs) await clock.sleep(minSampleMs - age);
        if (last === previous) advance();
      }
      const total = last.total - previous.total;
      if (total <= 0) return 0;
      return Math.min(100, Math.max(0, ((last.busy - previous.busy) / total) * 100));
    },
    dispose: stop,
  };
}
