import { expect, it } from "vitest";
import { createFakeHostFacts } from "../../../../test/fakes/host-facts.ts";
import { cpuLoadCheck } from "./cpu-load.ts";

const { signal } = new AbortController();
const run = (cpuPercent: number, settings: { warn?: number; fail?: number } = {}) =>
  cpuLoadCheck({ facts: createFakeHostFacts({ cpuPercent }) }).run({ ignore: [], ...settings }, signal);

it.each([
  [0, "pass"],
  [79.94, "pass"],
  [79.95, "warn"],
  [94.9, "warn"],
  [95, "fail"],
  [100, "fail"],
])("cpu_load at %d %% is %s", async (percent, status) => {
  expect(await run(percent)).toMatchObject({ status });
});

it("cpu_load names the load, and takes its thresholds and averaging time from settings", async () => {
  expect(await run(83.333)).toMatchObject({
    message: "The processors were 83.3 % busy over the last minute",
    details: { percent_used: 83.3 },
  });
  expect(await run(30, { warn: 20 })).toMatchObject({
    status: "warn",
    thresholds: { percent_used: { warn: 20, fail: 95 } },
  });
  expect(await run(30, { warn: 20, fail: 30 })).toMatchObject({ status: "fail" });
  const asked: (number | undefined)[] = [];
  const cpuPercent = (overMs?: number) => {
    asked.push(overMs);
    return Promise.resolve(85);
  };
  expect(await cpuLoadCheck({ facts: { cpuPercent } }).run({ ignore: [], overMs: 600_000 }, signal)).toMatchObject({
    status: "warn",
    message: "The processors were 85 % busy over the last 10 minutes",
  });
  expect(asked).toEqual([600_000]);
});
