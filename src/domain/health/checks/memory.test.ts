import { expect, it } from "vitest";
import { createFakeHostFacts } from "../../../../test/fakes/host-facts.ts";
import type { CheckSettings } from "../check.ts";
import { memoryCheck } from "./memory.ts";

const { signal } = new AbortController();
const run = (availableBytes: number, settings: Partial<CheckSettings> = {}, totalBytes = 16e9) => {
  const memory = { totalBytes, availableBytes, swapTotalBytes: 0, swapFreeBytes: 0 };
  return memoryCheck({ facts: createFakeHostFacts({ memory }) }).run({ ignore: [], ...settings }, signal);
};

it("memory names used and available memory, takes thresholds, and skips without figures", async () => {
  expect(await run(1.44e9)).toEqual({
    status: "warn",
    message: "91 % of memory is used: 1.3 GiB of 14.9 GiB available",
    graded: { "": "warn" },
    details: { percent_used: 91, total_gb: 16, available_gb: 1.4 },
    thresholds: { percent_used: { warn: 85, fail: 95 } },
  });
  expect(await run(8e9, { warn: 40, fail: 50 })).toMatchObject({
    status: "fail",
    thresholds: { percent_used: { warn: 40, fail: 50 } },
  });
  expect(await run(0.2e9, { warn: 99.1, fail: 99.5 })).toMatchObject({ status: "pass" });
  expect(await run(0, {}, 0)).toMatchObject({ status: "skip" });
});

it.each([
  [2.416e9, "pass"],
  [2.4e9, "warn"],
  [0.816e9, "warn"],
  [0.8e9, "fail"],
])("memory with %d of 16 GB left is %s", async (left, status) => {
  expect(await run(left)).toMatchObject({ status });
});
