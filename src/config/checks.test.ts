import { expect, it } from "vitest";
import { checkPlan } from "./checks.ts";

it("turns the settings of checks into milliseconds and leaves out what is not said", () => {
  expect(checkPlan({})).toEqual({ checks: {} });
  const health = {
    interval: "2m",
    checks: {
      disk_space: { warn: 70, fail: 90, interval: "500ms", timeout: "10s", ignore: ["/mnt"] },
      firewall: { enabled: false, interval: "1h" },
      memory: { interval: "1d" },
    },
  };
  expect(checkPlan({ health })).toEqual({
    intervalMs: 120_000,
    checks: {
      disk_space: { warn: 70, fail: 90, intervalMs: 500, timeoutMs: 10_000, ignore: ["/mnt"] },
      firewall: { isEnabled: false, intervalMs: 3_600_000 },
      memory: { intervalMs: 86_400_000 },
    },
  });
});
