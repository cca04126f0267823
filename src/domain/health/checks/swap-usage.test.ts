import { expect, it } from "vitest";
import { createFakeHostFacts } from "../../../../test/fakes/host-facts.ts";
import type { CheckSettings } from "../check.ts";
import { swapUsageCheck } from "./swap-usage.ts";

const { signal } = new AbortController();
const run = (swapFreeBytes: number, settings: Partial<CheckSettings> = {}, swapTotalBytes = 2e9) => {
  const memory = { totalBytes: 8e9, availableBytes: 4e9, swapTotalBytes, swapFreeBytes };
  return swapUsageCheck({ facts: createFakeHostFacts({ memory }) }).run({ ignore: [], ...settings }, signal);
};

it("says how much is used and left", async () => {
  expect(await run(0.1e9)).toEqual({
    status: "fail",
    message: "95 % of swap is used: 95.4 MiB of 1.9 GiB left",
    details: { percent_used: 95, total_gb: 2, free_gb: 0.1 },
  });
});

it.each([
  [1.002e9, "pass"],
  [1e9, "warn"],
  [0.202e9, "warn"],
  [0.2e9, "fail"],
])("with %d of 2 GB left is %s", async (left, status) => {
  expect(await run(left)).toMatchObject({ status });
});

it("takes its thresholds from settings", async () => {
  expect(await run(0.1e9, { warn: 96, fail: 98 })).toMatchObject({ status: "pass" });
});

it("skips without swap", async () => {
  expect(await run(0, {}, 0)).toEqual({ status: "skip", message: "This host has no swap space", details: {} });
});
