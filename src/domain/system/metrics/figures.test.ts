import { expect, it } from "vitest";
import type { HostSample, Traffic } from "#domain/ports/host-samples.ts";
import { figuresOf, isLackedBy } from "./figures.ts";

const nothing: HostSample = {
  ...{ load: undefined, cpu: undefined, memory: undefined, disks: undefined, links: undefined, pressure: undefined },
  absences: [],
};
const disks = (traffic: Record<string, readonly [number, number]>): HostSample => ({
  ...nothing,
  disks: new Map(Object.entries(traffic)) satisfies Traffic,
});
const ratesOf = (now: HostSample, before: HostSample | undefined, elapsedMs = 10_000) => {
  const { disk_read_bytes_per_second: read, disk_write_bytes_per_second: written } = figuresOf(now, before, elapsedMs);
  return [read, written];
};
const cpuOf = (now: HostSample["cpu"], before: HostSample["cpu"]) => {
  const figures = figuresOf({ ...nothing, cpu: now }, { ...nothing, cpu: before }, 10_000);
  return [figures.cpu_busy_percent, figures.cpu_iowait_percent];
};

it("figures of a host that cannot be read are none", () => {
  for (const before of [undefined, nothing])
    expect(Object.values(figuresOf(nothing, before, 10_000)).filter((each) => each !== undefined)).toEqual([]);
});

it("rates of disks are those of all since the sample before, and none without one", () => {
  const before = disks({ sda: [1000, 2000], sdb: [50, 60] });
  const now = disks({ sda: [2000, 2000], sdb: [1050, 360] });
  expect(ratesOf(now, before)).toEqual([200, 30]);
  expect(ratesOf(now, before, 5_000)).toEqual([400, 60]);
  expect(ratesOf(now, undefined)).toEqual([undefined, undefined]);
  expect(ratesOf(now, nothing)).toEqual([undefined, undefined]);
});

it("rates of disks have no peak where a disk comes, goes, or counts again", () => {
  const before = disks({ sda: [1000, 1000], gone: [1e12, 1e12], restarted: [1e9, 1e9] });
  expect(ratesOf(disks({ sda: [1100, 1200], come: [1e12, 1e12], restarted: [5, 5] }), before)).toEqual([10, 20]);
});

it("the share of processor time is that since the sample before, from 0 to 100", () => {
  const before = { total: 1000, busy: 100, ioWait: 50 };
  expect(cpuOf({ total: 2000, busy: 350, ioWait: 150 }, before)).toEqual([25, 10]);
  // The kernel's count of waiting may go back.
  expect(cpuOf({ total: 2000, busy: 1200, ioWait: 40 }, before)).toEqual([100, 0]);
  expect(cpuOf({ total: 2000, busy: 350, ioWait: undefined }, before)).toEqual([25, undefined]);
  expect(cpuOf(before, before)).toEqual([undefined, undefined]);
  expect(cpuOf(before, undefined)).toEqual([undefined, undefined]);
});

it("what cannot be read takes its series along, and no other", () => {
  const lacked = (of: "memory" | "cpu" | "ioWait") =>
    (["load_1m", "cpu_busy_percent", "cpu_iowait_percent", "swap_used_bytes", "memory_total_bytes"] as const).filter(
      (name) => isLackedBy(name, { of, reason: "" }),
    );
  expect(lacked("memory")).toEqual(["swap_used_bytes", "memory_total_bytes"]);
  expect(lacked("cpu")).toEqual(["cpu_busy_percent", "cpu_iowait_percent"]);
  expect(lacked("ioWait")).toEqual(["cpu_iowait_percent"]);
});
