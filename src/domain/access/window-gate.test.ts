import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Calendar } from "#kernel/clock.ts";
import type { Need } from "./needs.ts";
import { createWindowGate, heldMessage, type WindowPlan, windowRefusal } from "./window-gate.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Opens each day at this hour. */
const daily = (hour: number): Calendar => {
  const latest = (at: number): number => Math.floor((at - hour * hourMs) / dayMs) * dayMs + hour * hourMs;
  return { latest, next: (at) => latest(at) + dayMs };
};

const never: Calendar = { latest: () => undefined, next: () => undefined };

const plan = (
  name: string,
  rest: Partial<WindowPlan> & { hour?: number; hours?: number; calendar?: Calendar },
): WindowPlan => {
  const { hour = 3, hours = 1, calendar = daily(hour), ...others } = rest;
  return {
    name,
    cron: "",
    timezone: undefined,
    allow: [],
    deny: [],
    isSilent: false,
    times: { calendar, durationMs: hours * hourMs, delayMs: 0 },
    ...others,
  };
};

const apply: Need = { scope: "updates:apply", resource: undefined };
const restart = (resource: string): Need => ({ scope: "services:restart", resource });
const at = (day: number, hour: number): number => day * dayMs + hour * hourMs;

const gateAt = (now: number, ...windows: WindowPlan[]) =>
  createWindowGate({ windows, clock: { now: () => now }, hostName: () => "web-1.example.org" });

describe("change windows", () => {
  it("allow what they name only inside one of them, and hold back nothing else", () => {
    const night = plan("night", { hour: 3, allow: ["updates:apply"] });
    const noon = plan("noon", { hour: 12, allow: ["updates:apply", "services:restart"] });
    expect(gateAt(at(9, 3), night, noon).held(apply)).toBeUndefined();
    expect(gateAt(at(9, 12), night, noon).held(apply)).toBeUndefined();
    expect(gateAt(at(9, 5), night, noon).held(apply)).toEqual({
      window: "noon",
      need: apply,
      way: "outside",
      nextAt: at(9, 12),
    });
    expect(gateAt(at(9, 14), night, noon).held(apply)).toMatchObject({ window: "night", nextAt: at(10, 3) });
    expect(gateAt(at(9, 3), night, noon).held(restart("a.service"))).toMatchObject({ window: "noon" });
    expect(gateAt(0).held(apply)).toBeUndefined();
    expect(gateAt(0, plan("a", { allow: ["system:reboot"] })).held(apply)).toBeUndefined();
  });

  it("that deny take precedence over those that allow", () => {
    const freeze = plan("freeze", { hour: 2, hours: 3, deny: ["updates:apply"] });
    const night = plan("night", { hour: 3, hours: 4, allow: ["updates:apply"] });
    expect(gateAt(at(9, 3), freeze, night).held(apply)).toMatchObject({
      window: "freeze",
      way: "forbidden",
      nextAt: at(9, 5),
    });
    expect(gateAt(at(9, 5), freeze, night).held(apply)).toBeUndefined();
    // Inside neither.
    expect(gateAt(at(9, 8), freeze, night).held(apply)).toMatchObject({ window: "night", nextAt: at(10, 5) });
  });

  it("name no next time where none comes", () => {
    const never1 = plan("never", { calendar: never, allow: ["updates:apply"] });
    expect(gateAt(5, never1).held(apply)).toMatchObject({ nextAt: null });
    const always = plan("always", { hours: 48, deny: ["updates:apply"] });
    expect(gateAt(at(9, 5), always).held(apply)).toMatchObject({ way: "forbidden", nextAt: null });
    const shut = [plan("in", { allow: ["updates:apply"] }), plan("out", { deny: ["updates:apply"] })];
    expect(gateAt(at(9, 5), ...shut).held(apply)).toMatchObject({ nextAt: null });
  });

  it("are narrowed by resource and host as keys are", () => {
    const window = plan("night", { allow: ["services:restart:nginx", "services:stop:db-*@web-*", "system:reboot@db"] });
    const gate = gateAt(at(9, 5), window);
    expect(gate.held(restart("nginx.service"))).toBeDefined();
    expect(gate.held(restart("cron.service"))).toBeUndefined();
    expect(gate.held({ scope: "system:reboot", resource: undefined })).toBeUndefined();
    // All services: nginx is among them. Known later: the handler asks for each.
    expect(gate.held({ scope: "services:restart", resource: undefined })).toBeDefined();
    expect(gate.held({ scope: "services:restart", resource: undefined, isRefinedLater: true })).toBeUndefined();
    expect(gateAt(at(9, 5), plan("a", { deny: ["system:reboot@db"], hours: 24 })).held(apply)).toBeUndefined();
  });

  it("take sets and roles, without their reads", () => {
    const gate = gateAt(at(9, 5), plan("night", { allow: ["services:control:nginx", "operator"] }));
    expect(gate.held({ scope: "services:mask", resource: "nginx.service" })).toBeDefined();
    expect(gate.held({ scope: "health:fix", resource: "disk_space" })).toBeDefined();
    expect(gate.held({ scope: "system:read", resource: undefined })).toBeUndefined();
    expect(gate.held({ scope: "updates:read", resource: undefined })).toBeUndefined();
  });

  it("refuse with the window and the next time", () => {
    const night = plan("night", { allow: ["services:restart"] });
    const held = gateAt(at(9, 5), night).held(restart("nginx.service"));
    if (held === undefined) throw new Error("it is not held back");
    expect(heldMessage(held)).toBe(
      "cannot use services:restart:nginx.service outside the window night: it is allowed from 1970-01-11T03:00:00.000Z on (a key with windows:override may say why it is needed now, in X-Window-Override)",
    );
    expect(windowRefusal(held)).toMatchObject({
      code: "CONFLICT",
      details: { reason: "outside_window", window: "night", next_window: "1970-01-11T03:00:00.000Z" },
    });
    expect(heldMessage({ ...held, way: "forbidden", nextAt: null })).toContain(
      "inside the window night, which forbids it: no time at which it is allowed is in sight",
    );
  });

  it("follow a clock that is set back, and reloaded settings", () => {
    let now = at(9, 3);
    const windows = [plan("night", { allow: ["updates:apply"] })];
    const gate = createWindowGate({ windows, clock: { now: () => now }, hostName: () => "h" });
    expect(gate.held(apply)).toBeUndefined();
    now = at(9, 2);
    expect(gate.held(apply)).toMatchObject({ nextAt: at(9, 3) });
    now = at(400, 3);
    expect(gate.held(apply)).toBeUndefined();
    now = at(1, 4);
    expect(gate.held(apply)).toMatchObject({ nextAt: at(2, 3) });
    gate.replace([plan("night", { hour: 5, allow: ["updates:apply"] })]);
    expect(gate.held(apply)).toMatchObject({ nextAt: at(1, 5) });
    gate.replace([]);
    expect(gate.held(apply)).toBeUndefined();
  });

  const hours = fc.integer({ min: 0, max: 23 });
  const someWindow = fc
    .record({ hour: hours, hours: fc.integer({ min: 1, max: 30 }), way: fc.constantFrom("allow", "deny") })
    .map(({ hour, hours: length, way }) =>
      plan(`${way}-${hour}-${length}`, { hour, hours: length, [way]: ["updates:apply"] }),
    );

  it("name the first time at which the call is allowed, for any windows", () => {
    fc.assert(
      fc.property(fc.array(someWindow, { maxLength: 4 }), hours, (windows, hour) => {
        const isHeld = (time: number): boolean => gateAt(time, ...windows).held(apply) !== undefined;
        const now = at(50, hour) + 1;
        const held = gateAt(now, ...windows).held(apply);
        // All of them begin and end at full hours, and repeat each day.
        const later = Array.from({ length: 49 }, (_, step) => at(50, hour + step)).find(
          (time) => time > now && !isHeld(time),
        );
        if (held !== undefined) expect(held.nextAt).toBe(later ?? null);
      }),
      { numRuns: 500 },
    );
  });
});
