import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { createCalendar } from "#adapters/calendar/index.ts";
import { createFakeCalendar } from "../fakes/calendar.ts";

const at = (text: string): number => Date.parse(text);
const hourMs = 3_600_000;

describe.each([
  ["fake", () => createFakeCalendar(hourMs)],
  ["cron", () => createCalendar({ cron: "0 * * * *", timezone: "UTC" })],
])("a calendar: %s", (_, make) => {
  it("reports the latest time and the next one", () => {
    const calendar = make();
    const half = at("2026-05-01T12:30:00Z");
    expect(calendar.latest(half)).toBe(at("2026-05-01T12:00:00Z"));
    expect(calendar.next(half)).toBe(at("2026-05-01T13:00:00Z"));
  });

  it("counts a time as the latest from its first millisecond on", () => {
    const calendar = make();
    const whole = at("2026-05-01T12:00:00Z");
    expect(calendar.latest(whole)).toBe(whole);
    expect(calendar.latest(whole - 1)).toBe(whole - hourMs);
    expect(calendar.next(whole)).toBe(whole + hourMs);
    expect(calendar.next(whole - 1)).toBe(whole);
  });
});

describe("a cron expression", () => {
  const berlin = createCalendar({ cron: "30 2 * * *", timezone: "Europe/Berlin" });

  it("comes right after the gap when the change to summer time skips it", () => {
    expect(berlin.next(at("2026-03-28T12:00:00Z"))).toBe(at("2026-03-29T01:00:00Z"));
    expect(berlin.latest(at("2026-03-29T12:00:00Z"))).toBe(at("2026-03-29T01:00:00Z"));
  });

  it("comes once when the change back has its hour twice", () => {
    const first = berlin.next(at("2026-10-24T12:00:00Z"));
    expect(first).toBe(at("2026-10-25T00:30:00Z"));
    expect(berlin.next(first ?? 0)).toBe(at("2026-10-26T01:30:00Z"));
    expect(berlin.latest(at("2026-10-25T12:00:00Z"))).toBe(first);
  });

  it.each([
    ["30 2 * * *", "Europe/Berlin"],
    ["30 2 * * *", "America/New_York"],
    ["0 0 * * *", "America/Santiago"],
    ["15 1 * * 0", "Australia/Lord_Howe"],
  ])("%s in %s has the same times forwards and backwards, all year", (cron, timezone) => {
    const calendar = createCalendar({ cron, timezone });
    for (let time = calendar.next(at("2026-01-01T00:00:00Z")); time && time < at("2026-12-31T00:00:00Z"); ) {
      const following = calendar.next(time);
      expect([calendar.latest(time), calendar.latest((following ?? 0) - 1)]).toEqual([time, time]);
      time = following;
    }
  });

  it("is refused when it is invalid", () => {
    expect(() => createCalendar({ cron: "every day" })).toThrow();
    expect(() => createCalendar({ cron: "0 0 3 * * *" })).toThrow();
  });

  it.each([
    ["*-*-* 03:00:00", "0 3 * * *"],
    ["Mon *-*-* 04:15:00", "15 4 * * 1"],
    ["*-*-01 00:00:00", "0 0 1 * *"],
    ["*-*-* *:00/20:00", "*/20 * * * *"],
  ])("has the times of systemd's %s", (systemd, cron) => {
    const words = ["calendar", "--iterations=5", "--base-time=2026-06-10 12:34:56 UTC", `${systemd} UTC`];
    const told = execFileSync("systemd-analyze", words, { env: { ...process.env, TZ: "UTC", LC_ALL: "C" } }).toString();
    const wanted = [...told.matchAll(/(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC/g)].map(
      ([, day, time]) => `${day}T${time}.000Z`,
    );
    const calendar = createCalendar({ cron, timezone: "UTC" });
    let now = at("2026-06-10T12:34:56Z");
    const times = Array.from({ length: 5 }, () => {
      now = calendar.next(now) ?? Number.NaN;
      return new Date(now).toISOString();
    });
    expect(times).toEqual([...new Set(wanted)].slice(-5));
    expect(calendar.latest(now)).toBe(now);
  });
});
