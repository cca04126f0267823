import { expect, it } from "vitest";
import { createFakePressure, fakePressureOn } from "../../../../test/fakes/pressure.ts";
import type { CheckSettings } from "../check.ts";
import { pressureCheck } from "./pressure.ts";

const { signal } = new AbortController();
const run = (found: Parameters<typeof createFakePressure>[0], settings: Partial<CheckSettings> = {}) =>
  pressureCheck({ pressure: createFakePressure(found) }).run({ ignore: [], ...settings }, signal);
const full = (percent: number) => ({ full: { avg10: 0, avg60: percent, avg300: percent } });
const some = (percent: number) => ({ some: { avg10: 0, avg60: percent, avg300: percent } });

it("pressure passes on an idle host and after a burst, and skips without figures", async () => {
  expect(await run([fakePressureOn("cpu", { full: null }), fakePressureOn("io")])).toEqual({
    status: "pass",
    message: "Little work waits for processors, memory or disks",
    details: {
      cpu_some_avg60_percent: 0,
      cpu_some_avg300_percent: 0,
      io_some_avg60_percent: 0,
      io_some_avg300_percent: 0,
      io_full_avg60_percent: 0,
      io_full_avg300_percent: 0,
    },
    thresholds: {
      cpu_some_avg60_percent: { warn: 90, fail: Number.POSITIVE_INFINITY },
      cpu_some_avg300_percent: { warn: 90, fail: Number.POSITIVE_INFINITY },
      io_full_avg60_percent: { warn: 60, fail: 90 },
      io_full_avg300_percent: { warn: 60, fail: 90 },
    },
  });
  expect(await run([fakePressureOn("memory", { full: { avg10: 0, avg60: 90, avg300: 9 } })])).toMatchObject({
    status: "pass",
  });
  expect(await run([fakePressureOn("memory", { full: { avg10: 0, avg60: 1, avg300: 90 } })])).toMatchObject({
    status: "pass",
  });
  const busy = [fakePressureOn("cpu", some(60))];
  expect(await run(busy, { warn: 20, fail: 50 })).toMatchObject({ status: "fail" });
  expect(await run(busy, { warn: 20, fail: 50, ignore: ["cpu"] })).toMatchObject({ status: "pass" });
  expect(await run(null)).toMatchObject({ status: "skip" });
});

it("pressure grades memory and disks by full pressure, processors by some pressure", async () => {
  expect(await run([fakePressureOn("memory", { ...some(95), ...full(9.9) })])).toMatchObject({ status: "pass" });
  expect(await run([fakePressureOn("memory", full(10))])).toMatchObject({
    status: "warn",
    message: "In the last minutes all work waited for memory 10 % of the time",
  });
  expect(await run([fakePressureOn("memory", full(30))])).toMatchObject({ status: "fail" });
  expect(await run([fakePressureOn("io", full(59))])).toMatchObject({ status: "pass" });
  expect(await run([fakePressureOn("io", full(90)), fakePressureOn("cpu", some(90))])).toMatchObject({
    status: "fail",
    message:
      "In the last minutes all work waited for disks 90 % of the time; some task waited for a processor 90 % of the time",
  });
  expect(await run([fakePressureOn("cpu", some(100))])).toMatchObject({ status: "warn" });
});
