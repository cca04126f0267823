import { describe, expect, it } from "vitest";
import type { HealthCheckResult } from "#contract/checks.ts";
import { namedProcesses, namedTemplates, subjectsOf } from "./subjects.ts";

const resultOf = (given: Partial<HealthCheckResult>): HealthCheckResult => ({
  check_id: "custom",
  name: "Custom",
  status: "fail",
  message: "",
  details: {},
  duration_ms: 1,
  category: "custom",
  severity: "low",
  checked_at: "2026-01-01T00:00:00.000Z",
  fixable: false,
  since: "2026-01-01T00:00:00.000Z",
  consecutive_failures: 1,
  ...given,
});

describe("the subjects of a check", () => {
  it("finds units in the details, and those of the check", () => {
    const details = {
      units: [{ name: "nginx.service", result: "exit-code" }, { name: "srv-data.mount" }],
      output: "CRITICAL: app@1.service, (backup.timer) dev-disk\\x2dby.swap are down",
    };
    expect(subjectsOf(resultOf({ details })).units).toEqual([
      "nginx.service",
      "srv-data.mount",
      "app@1.service",
      "backup.timer",
      "dev-disk\\x2dby.swap",
    ]);
    expect(subjectsOf(resultOf({ check_id: "raid_status" })).units).toEqual(["kernel", "mdmonitor.service"]);
  });

  it("finds programs by the names of fields", () => {
    const details = { kills: [{ process: "java", pid: 7 }], changed_by: { program: "apt" }, note: "cat", process: "" };
    expect(subjectsOf(resultOf({ details }))).toEqual({ units: [], identifiers: ["java", "apt"] });
  });

  it("finds processes by their number and name, five at most", () => {
    const processes = Array.from({ length: 9 }, (_, at) => ({ pid: at + 1, name: `p${at + 1}` }));
    expect(
      namedProcesses(resultOf({ details: { kills: [{ process: "java", pid: 70 }], parents: [{ pid: 71 }] } })),
    ).toEqual([{ pid: 70, name: "java" }]);
    expect(namedProcesses(resultOf({ details: { processes } }))).toEqual(processes.slice(0, 5));
  });

  it("finds log templates by their ids", () => {
    const errors = [{ template: "9ce8c1cd1fdc361b" }, { template: "9ce8c1cd1fdc361b" }, { template: "x" }];
    expect(namedTemplates(resultOf({ details: { errors } }))).toEqual(["9ce8c1cd1fdc361b"]);
    expect(namedTemplates(resultOf({ details: { template: 7 } }))).toEqual([]);
  });

  it("are joined by units that have to do with it, before those of the check", () => {
    const { units } = subjectsOf(resultOf({ check_id: "disk_space", message: "a.service" }), [
      "b.service",
      "a.service",
    ]);
    expect(units).toEqual(["a.service", "b.service", "kernel"]);
  });

  it("ignores patterns and paths, and is bounded", () => {
    const details = {
      a: "*.service /etc/systemd/system/x.service http://x.service/ -x.service .service a.service-b x.serviced",
      many: Array.from({ length: 50 }, (_, at) => `unit-${at}.service`),
    };
    const { units } = subjectsOf(resultOf({ details }));
    expect(units.length).toBe(20);
    expect(units.every((name) => name.startsWith("unit-"))).toBe(true);
  });
});
