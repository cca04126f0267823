import { describe, expect, it } from "vitest";
import type { Settings } from "./settings.ts";
import { windowFaults, windowSettings } from "./windows.ts";

type Entry = NonNullable<Settings["windows"]>[number];
const night: Entry = { name: "night", cron: "0 3 * * *", duration: "2h", allow: ["updates:apply"] };
const faultsOf = (...windows: readonly Partial<Entry>[]): readonly string[] =>
  windowFaults({ windows: windows.map((each) => ({ ...night, ...each })) }, (path, message) => ({
    source: "test",
    path: path.join("."),
    message,
  })).map(({ path, message }) => `${path}: ${message}`);

describe("settings of change windows", () => {
  it("have their defaults", () => {
    expect(windowSettings({})).toEqual([]);
    expect(faultsOf()).toEqual([]);
    expect(faultsOf({})).toEqual([]);
    expect(windowSettings({ windows: [{ ...night, timezone: "Europe/Berlin", jitter: "15m" }] })).toEqual([
      {
        name: "night",
        cron: "0 3 * * *",
        timezone: "Europe/Berlin",
        durationMs: 7_200_000,
        jitterMs: 900_000,
        times: { cron: "0 3 * * *", timezone: "Europe/Berlin" },
        allow: ["updates:apply"],
        deny: [],
        isSilent: false,
      },
    ]);
  });

  it.each([
    [["updates:apply", "services:restart:nginx.service@web-*", "services:control:nginx", "operator", "admin@db"], []],
    [
      ["updates:aply"],
      ["windows.0.allow.0: must be a scope such as updates:apply, not updates:aply (did you mean updates:apply?)"],
    ],
    [
      ["services:restrat:nginx.service"],
      [
        "windows.0.allow.0: must be a scope such as updates:apply, not services:restrat:nginx.service (did you mean services:restart?)",
      ],
    ],
    [["operater"], ["windows.0.allow.0: must be a scope such as updates:apply, not operater (did you mean operator?)"]],
    [["updates:apply:x"], ["windows.0.allow.0: must be a scope: updates:apply cannot be narrowed like this"]],
    [["services:restart:a b"], ["windows.0.allow.0: must be a scope: services:restart cannot be narrowed like this"]],
    [["system:reboot@"], ["windows.0.allow.0: must be a scope: system:reboot cannot be narrowed like this"]],
    [["*"], ["windows.0.allow.0: must be a scope such as updates:apply, not *"]],
    [["logs:read"], ["windows.0.allow.0: cannot be restricted: logs:read changes nothing (reads are always allowed)"]],
    [["viewer"], ["windows.0.allow.0: cannot be restricted: viewer changes nothing (reads are always allowed)"]],
    [
      ["windows:override"],
      ["windows.0.allow.0: cannot be restricted: windows:override changes nothing (reads are always allowed)"],
    ],
  ] as const)("with allow %j have the faults %j", (allow, faults) => {
    expect(faultsOf({ allow: [...allow] })).toEqual(faults);
  });

  it("are refused with impossible times", () => {
    expect(faultsOf({ cron: "0 0 30 2 *" })).toEqual(["windows.0.cron: never matches"]);
    expect(faultsOf({ cron: "0 25 * * *" })).toEqual([expect.stringMatching(/^windows\.0\.cron: must be five fields/)]);
    expect(faultsOf({ timezone: "Europe/Nowhere" })).toEqual([
      "windows.0.timezone: must be a time zone such as Europe/Berlin",
    ]);
    expect(faultsOf({ duration: "367d", jitter: "25h" })).toEqual([
      "windows.0.duration: must be at most 366d",
      "windows.0.jitter: must be at most 24h",
    ]);
    expect(faultsOf({ duration: "999ms" })).toEqual(["windows.0.duration: must be at least 1s"]);
    expect(faultsOf({ duration: "366d", jitter: "24h", cron: "0 0 29 2 *" })).toEqual([]);
  });

  it("are refused with a duplicate name, without an effect, or with a contradiction", () => {
    expect(faultsOf({}, {}, { name: "day" })).toEqual(["windows.1.name: there is another window night"]);
    expect(faultsOf({ allow: [] })).toEqual(["windows.0: does nothing: give allow, deny or silence: true"]);
    expect(faultsOf({ allow: [], silence: true })).toEqual([]);
    expect(faultsOf({ deny: ["updates:apply"] })).toEqual([
      "windows.0.deny.0: is also in allow: it would never be allowed",
    ]);
  });
});
