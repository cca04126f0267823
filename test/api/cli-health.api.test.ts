import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runInProcess } from "./cli-run.ts";
import { startTestService, type TestService } from "./harness.ts";

let service: TestService;
let url: string;
beforeEach(async () => {
  service = await startTestService();
  url = await service.app.listen({ host: "127.0.0.1", port: 0 });
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
});
afterEach(() => {
  service.service.cut();
  return service.app.close();
});

const steward = (...argv: readonly string[]) =>
  runInProcess(["health", "metrics", ...argv], {
    environment: { STEWARD_URL: url, STEWARD_API_KEY: service.admin },
    now: service.clock.now,
  });

describe("steward health metrics", () => {
  it("lists the figures of a check", async () => {
    const { code, out } = await steward("plain");
    expect(code).toBe(0);
    expect(out).toMatch(/^NAME +UNIT +POINTS +MIN +MAX +LAST\n/);
    expect(out).toMatch(/^time +s +3 +0\.25 +0\.75 +0\.75$/m);
    expect(out).toMatch(/^size +B +3 +7 +7 +7$/m);
  });

  it("shows one over time, by minutes or hours", async () => {
    const { code, out } = await steward("plain", "time");
    expect(code).toBe(0);
    expect(out).toMatch(/^2026-01-01T00:02:00.000Z +0.75$/m);
    expect(out).toMatch(/\ntime in s: 3 minutes\n$/);
    expect((await steward("plain", "time", "--since", "-1min")).out).toMatch(/\ntime in s: 2 minutes\n$/);
    const hours = await steward("plain", "time", "--since", "2025-12-01");
    expect(hours.out).toMatch(/^AT +VALUE +MIN +MAX\n2026-01-01T00:00:00.000Z +0.5 +0.25 +0.75\ntime in s: 1 hour\n$/);
  });

  it("says that there are none, and prints the answer as JSON", async () => {
    expect((await steward("plain", "other")).out).toMatch(/no figures\n$/);
    expect(JSON.parse((await steward("plain", "--json")).out)).toMatchObject({ check_id: "plain", step_seconds: 60 });
    expect((await steward("nothing")).code).toBe(2);
  });
});
