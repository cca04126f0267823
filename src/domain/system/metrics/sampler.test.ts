import { expect, it } from "vitest";
import { createFakeClock } from "../../../../test/fakes/clock.ts";
import { createFakeHostSampler } from "../../../../test/fakes/host-sampler.ts";
import { createFakeRingStore } from "../../../../test/fakes/ring-store.ts";
import { createMetricSampler } from "./sampler.ts";

const minuteMs = 60_000;

function rig() {
  const clock = createFakeClock();
  const host = createFakeHostSampler(clock);
  const store = createFakeRingStore();
  /** Comes back when the first sample is taken. */
  const start = async () => {
    const sampler = createMetricSampler({ host, store, clock });
    sampler.start();
    await clock.advance(0);
    return sampler;
  };
  return { clock, host, store, start };
}

it("the sampler takes one sample in each ten seconds, and rates from the second on", async () => {
  const { clock, start } = rig();
  const sampler = await start();
  await clock.advance(3 * minuteMs);
  const window = { sinceMs: clock.now() - 3 * minuteMs, nowMs: clock.now(), points: 360 };
  const { columns } = sampler.series.read(["load_1m", "disk_read_bytes_per_second"], window);
  expect(columns.map(({ values }) => values)).toEqual([Array(18).fill(0.5), [Number.NaN, ...Array(17).fill(1000)]]);
  sampler.stop();
  await clock.advance(minuteMs);
  expect(clock.isSleptBy()).toBe(false);
});

it("the sampler saves every five minutes and on request, and continues after a restart with a gap", async () => {
  const { clock, store, start } = rig();
  const first = await start();
  await clock.advance(11 * minuteMs);
  expect(store.saves()).toBe(2);
  first.stop();
  first.save();
  await clock.advance(4 * minuteMs);
  const second = await start();
  await clock.advance(5 * minuteMs);
  const window = { sinceMs: clock.now() - 20 * minuteMs, nowMs: clock.now(), points: 20 };
  const { columns } = second.series.read(["load_1m"], window);
  expect(columns[0]?.values).toEqual([...Array(11).fill(0.5), ...Array(4).fill(Number.NaN), ...Array(5).fill(0.5)]);
  second.stop();
});

it("the sampler has no rate over a sample that could not be taken", async () => {
  const { clock, host, start } = rig();
  const sampler = await start();
  await clock.advance(minuteMs);
  host.says = { disks: undefined, absences: [{ of: "disks", reason: "broken" }] };
  await clock.advance(10_000);
  expect(sampler.absences()).toEqual([{ of: "disks", reason: "broken" }]);
  host.says = {};
  await clock.advance(20_000);
  const window = { sinceMs: clock.now() - 40_000, nowMs: clock.now(), points: 360 };
  const { columns } = sampler.series.read(["disk_write_bytes_per_second", "cpu_busy_percent"], window);
  expect(columns.map(({ values }) => values)).toEqual([[2000, Number.NaN, Number.NaN, 2000], Array(4).fill(50)]);
  expect(sampler.absences()).toEqual([]);
  sampler.stop();
});
