import { describe, expect, it } from "vitest";
import { formatTime } from "#cli/output/text.ts";
import { startTestService, type TestService } from "./harness.ts";
import { useSteward } from "./steward.ts";

let service: TestService;
const { steward } = useSteward(async () => {
  service = await startTestService();
  let value = 0;
  service.checks.plain.finds = () => {
    value += 1;
    const perfdata = [
      { label: "time", value: value / 4, unit: "s" },
      { label: "size", value: 7, unit: "B" },
    ];
    return Promise.resolve({ status: "pass", message: "", details: { perfdata } });
  };
  await service.clock.advance(120_000);
  return service;
});
const metrics = (line: string) => steward(`health metrics ${line}`);

describe("steward health metrics", () => {
  it("lists the figures of a check", async () => {
    const { code, out } = await metrics("plain");
    expect(code).toBe(0);
    expect(out).toMatch(/^NAME +UNIT +POINTS +MIN +MAX +LAST\n/);
    expect(out).toMatch(/^time +s +3 +0\.25 +0\.75 +0\.75$/m);
    expect(out).toMatch(/^size +B +3 +7 +7 +7$/m);
  });

  it("prints one over time, by minutes or hours", async () => {
    const { code, out } = await metrics("plain time");
    expect(code).toBe(0);
    expect(out).toContain(`\n${formatTime("2026-01-01T00:02:00Z")}  0.75\n`);
    expect(out).toMatch(/\ntime in s: 3 values, one per minute\n$/);
    expect((await metrics("plain time --since -1min")).out).toMatch(/\ntime in s: 2 values, one per minute\n$/);
    const hours = await metrics("plain time --since 2025-12-01");
    expect(hours.out).toBe(
      `AT                         VALUE  MIN   MAX\n${formatTime("2026-01-01T00:00:00Z")}  0.5    0.25  0.75\ntime in s: 1 value, one per hour\n`,
    );
  });

  it("reports a check without figures, and prints JSON", async () => {
    expect((await metrics("plain other")).out).toMatch(/no figures\n$/);
    expect(JSON.parse((await metrics("plain --json")).out)).toMatchObject({ check_id: "plain", step_seconds: 60 });
    expect((await metrics("nothing")).code).toBe(2);
  });
});
