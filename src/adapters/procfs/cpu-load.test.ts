import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import { createContainerLimits } from "./cgroup.ts";
import { startCpuLoad } from "./cpu-load.ts";

let procDir: string;
beforeEach(() => {
  procDir = mkdtempSync(join(tmpdir(), "steward-proc-"));
});
afterEach(() => rmSync(procDir, { recursive: true }));

/** A machine with one processor: a tick is 10 ms. */
function start() {
  const clock = createFakeClock();
  let [busy, idle] = [0, 0];
  const write = (): void => writeFileSync(join(procDir, "stat"), `cpu  ${busy} 0 0 ${idle} 0 0 0 0 0 0\n`);
  write();
  const load = startCpuLoad({ clock, limits: createContainerLimits("/nonexistent"), procDir });
  return {
    clock,
    load,
    /** Lets it run for so many times 5 s with this share of work. */
    work: async (times: number, percent: number): Promise<void> => {
      for (let at = 0; at < times; at += 1) {
        busy += 5 * percent;
        idle += 5 * (100 - percent);
        write();
        await clock.advance(5_000);
      }
    },
  };
}

it("the cpu load is that of the last minute", async () => {
  const { load, work } = start();
  await work(12, 100);
  expect(await load.averagePercent()).toBeCloseTo(100);
  await work(6, 0);
  expect(await load.averagePercent()).toBeCloseTo(50);
  expect(await load.percent()).toBe(0);
  await work(6, 0);
  expect(await load.averagePercent()).toBe(0);
});

it("the cpu load is over the time since the start while that is shorter", async () => {
  const { load, work } = start();
  await work(1, 100);
  await work(3, 20);
  expect(await load.averagePercent()).toBeCloseTo(40);
});

it("the cpu load waits for a second sample right after the start", async () => {
  const { clock, load } = start();
  writeFileSync(join(procDir, "stat"), "cpu  30 0 0 20 0 0 0 0 0 0\n");
  const percent = load.averagePercent();
  await clock.advance(500);
  expect(await percent).toBeCloseTo(60);
});

it("the cpu load is averaged over up to ten minutes on request", async () => {
  const { load, work } = start();
  await work(60, 100);
  await work(60, 0);
  expect(await load.averagePercent(60_000)).toBeCloseTo(0);
  expect(await load.averagePercent(600_000)).toBeCloseTo(50);
  await work(60, 0);
  expect(await load.averagePercent(600_000)).toBeCloseTo(0);
});
