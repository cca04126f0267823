import { describe, expect, it } from "vitest";
import { automaticFaults, automaticPlan } from "./automatic.ts";
import type { Settings } from "./settings.ts";

type Updates = NonNullable<Settings["updates"]>;
const automatic = { what: "security", window: { cron: "0 3 * * *" } } as const;
const faultsOf = (updates: Updates, windows: Settings["windows"] = []): readonly string[] =>
  automaticFaults({ updates, windows }, (path, message) => ({ source: "test", path: path.join("."), message })).map(
    ({ path, message }) => `${path}: ${message}`,
  );

describe("settings of automatic updates", () => {
  it("are off by default, and have defaults when given", () => {
    expect(automaticPlan({})).toBeUndefined();
    expect(faultsOf({})).toEqual([]);
    expect(faultsOf({ automatic })).toEqual([]);
    expect(automaticPlan({ updates: { automatic } })).toEqual({
      what: "security",
      isGuarded: true,
      reboot: "never",
      notify: "changes",
      durationMs: 3_600_000,
      times: { cron: "0 3 * * *" },
    });
  });

  it.each([
    ["every day", /^updates\.automatic\.window\.cron: must be five fields such as 0 3 \* \* \* \(.+\)$/],
    ["0 0 3 * * *", /window\.cron: must be five fields/],
    ["0 25 * * *", /window\.cron: must be five fields/],
    ["0 0 30 2 *", /window\.cron: never matches$/],
  ])("are refused with %j", (cron, message) => {
    expect(faultsOf({ automatic: { ...automatic, window: { cron } } })).toEqual([expect.stringMatching(message)]);
  });

  it("may have one of the windows, by its name", () => {
    const windows = [{ name: "nightly", cron: "0 3 * * *", duration: "2h", timezone: "Europe/Berlin", silence: true }];
    const named = { ...automatic, window: "nightly" };
    expect(automaticPlan({ updates: { automatic: named }, windows })).toMatchObject({
      durationMs: 7_200_000,
      times: { cron: "0 3 * * *", timezone: "Europe/Berlin" },
    });
    expect(faultsOf({ automatic: named }, windows)).toEqual([]);
    expect(faultsOf({ automatic: { ...automatic, window: "nigthly" } }, windows)).toEqual([
      "updates.automatic.window: there is no window nigthly in windows (did you mean nightly?)",
    ]);
  });

  it("are refused with a time zone that does not exist, and where they contradict other settings", () => {
    const window = { cron: "0 3 * * *", timezone: "Europe/Nowhere" };
    expect(faultsOf({ automatic: { ...automatic, window } })).toEqual([
      "updates.automatic.window.timezone: must be a time zone such as Europe/Berlin",
    ]);
    expect(faultsOf({ automatic, enabled: false })).toEqual([
      "updates.automatic: cannot be given while updates.enabled is false",
    ]);
    expect(faultsOf({ automatic, snapshot: false })).toEqual([
      "updates.automatic.guard: needs snapshots: set it to false, or updates.snapshot to true",
    ]);
    expect(faultsOf({ automatic: { ...automatic, guard: false }, snapshot: false })).toEqual([]);
  });
});
