import type { SystemMetricName } from "#contract/system-metrics.ts";
import type { Absence, HostSample, Traffic } from "#domain/ports/host-samples.ts";

type Cpu = HostSample["cpu"];

const percentOf = (part: number, whole: number): number => Math.min(100, Math.max(0, (part / whole) * 100));

function cpuFigures(now: Cpu, before: Cpu) {
  const total = now === undefined || before === undefined ? 0 : now.total - before.total;
  if (now === undefined || before === undefined || total <= 0) return {};
  const [ioWait, ioWaitBefore] = [now.ioWait, before.ioWait];
  return {
    cpu_busy_percent: percentOf(now.busy - before.busy, total),
    cpu_iowait_percent:
      ioWait === undefined || ioWaitBefore === undefined ? undefined : percentOf(ioWait - ioWaitBefore, total),
  };
}

/**
 * Bytes a second in and out of all devices together. One that has come since counts from the next sample on, and so does one that has started again:
 * what it had counted by then is of no known time.
 */
function ratesOf(now: Traffic | undefined, before: Traffic | undefined, seconds: number) {
  if (now === undefined || before === undefined || seconds <= 0) return [undefined, undefined];
  let [bytesIn, bytesOut] = [0, 0];
  for (const [name, [nowIn, nowOut]] of now) {
    const [earlierIn, earlierOut] = before.get(name) ?? [Number.POSITIVE_INFINITY, 0];
    if (nowIn < earlierIn || nowOut < earlierOut) continue;
    bytesIn += nowIn - earlierIn;
    bytesOut += nowOut - earlierOut;
  }
  return [bytesIn / seconds, bytesOut / seconds];
}

/** The figures of a sample; rates are those since the one before. */
export function figuresOf(
  sample: HostSample,
  before: HostSample | undefined,
  elapsedMs: number,
): Readonly<Partial<Record<SystemMetricName, number | undefined>>> {
  const { load, memory, pressure } = sample;
  const seconds = elapsedMs / 1000;
  const [read, written] = ratesOf(sample.disks, before?.disks, seconds);
  const [received, sent] = ratesOf(sample.links, before?.links, seconds);
  return {
    load_1m: load?.oneMinute,
    load_15m: load?.fifteenMinutes,
    ...cpuFigures(sample.cpu, before?.cpu),
    ...(memory && {
      memory_used_bytes: memory.totalBytes - memory.availableBytes,
      memory_available_bytes: memory.availableBytes,
      memory_total_bytes: memory.totalBytes,
      swap_used_bytes: memory.swapTotalBytes - memory.swapFreeBytes,
    }),
    disk_read_bytes_per_second: read,
    disk_write_bytes_per_second: written,
    network_receive_bytes_per_second: received,
    network_transmit_bytes_per_second: sent,
    pressure_cpu_percent: pressure?.cpu,
    pressure_memory_percent: pressure?.memory,
    pressure_io_percent: pressure?.io,
  };
}

/** Where names of series begin that come of each. */
const prefixes: Readonly<Record<Absence["of"], readonly string[]>> = {
  load: ["load_"],
  cpu: ["cpu_"],
  ioWait: ["cpu_iowait_"],
  memory: ["memory_", "swap_"],
  disks: ["disk_"],
  links: ["network_"],
  pressure: ["pressure_"],
};

/** Whether a series has no values because of it. */
export const isLackedBy = (name: SystemMetricName, { of }: Absence): boolean =>
  prefixes[of].some((prefix) => name.startsWith(prefix));
