import { expect, it } from "vitest";
import type { WindowPlan } from "#domain/access/window-gate.ts";
import { createFakeCalendar } from "../fakes/calendar.ts";
import { startTestService, type TestService } from "./harness.ts";
import { useSteward } from "./steward.ts";

let service: TestService;
const { steward } = useSteward(async () => {
  service = await startTestService();
  return service;
});

const dayMs = 86_400_000;
const window = (name: string, delayMs: number, rest: Partial<WindowPlan>): WindowPlan => ({
  ...{ name, cron: "0 0 * * *", timezone: undefined, allow: [], deny: [], isSilent: false, ...rest },
  times: { calendar: createFakeCalendar(dayMs), durationMs: dayMs / 24, delayMs },
});

it("shows windows, and says that there are none", async () => {
  expect(await steward("windows")).toEqual({ code: 0, out: "no windows: changes are allowed at any time\n", err: "" });
  service.service.replaceWindows([
    window("night", 0, { allow: ["updates:apply"], isSilent: true }),
    window("freeze", 3_600_000, { deny: ["services:control", "system:reboot"] }),
  ]);
  const { code, out } = await steward("windows");
  expect(code).toBe(0);
  expect(out).toMatch(
    /night +open until 2026-01-01T01:00:00.000Z +2026-01-02T00:00:00.000Z +allows updates:apply; silent\n/,
  );
  expect(out).toMatch(/freeze +closed +2026-01-01T01:00:00.000Z +forbids services:control system:reboot\n/);
});

it("tells which window holds a change back and until when, in the plan too, and overrides it", async () => {
  service.service.replaceWindows([window("night", 3_600_000, { allow: ["services:restart"] })]);
  const sentence =
    "cannot use services:restart:cron.service outside the window night: it is allowed from 2026-01-01T01:00:00.000Z on";
  const refused = await steward("services restart cron");
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining(sentence)]);
  const planned = await steward("services restart cron --dry-run");
  expect([planned.code, planned.out]).toEqual([0, expect.stringContaining(`would be refused now: ${sentence}`)]);
  expect(service.units.actions).toEqual([]);
  const overridden = await steward(["--override-window", "it burns", "services", "restart", "cron"]);
  expect(overridden.code).toBe(0);
  expect(service.units.actions).toEqual(["restart cron.service"]);
  expect(service.audit.entries.at(-1)).toMatchObject({ target: { window: "night", window_override: "it burns" } });
});
