import { execFileSync } from "node:child_process";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createCalendar } from "#adapters/calendar/index.ts";
import { phaseAt } from "#domain/access/windows.ts";

const at = (text: string): number => Date.parse(text);
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The next times by systemd, which skips what the change to summer time skips. */
function bySystemd(calendar: string, base: number, iterations: number): readonly number[] {
  const words = ["calendar", `--iterations=${iterations}`, `--base-time=@${Math.floor(base / 1000)}`, calendar];
  const text = execFileSync("systemd-analyze", words, { env: { ...process.env, TZ: "UTC", LC_ALL: "C" } }).toString();
  const times = text.matchAll(/(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC/g);
  return [...new Set([...times].map(([, day, time]) => at(`${day}T${time}Z`)))];
}

describe("a cron expression", () => {
  it("has a latest time, from its first millisecond on, and a next one", () => {
    const hourly = createCalendar({ cron: "0 * * * *", timezone: "UTC" });
    const [noon, one] = [at("2026-05-01T12:00:00Z"), at("2026-05-01T13:00:00Z")];
    for (const now of [noon, noon + 1, one - 1]) expect([hourly.latest(now), hourly.next(now)]).toEqual([noon, one]);
    expect([hourly.latest(noon - 1), hourly.next(noon - 1)]).toEqual([noon - hourMs, noon]);
  });

  it("comes right after the gap when the change to summer time skips it", () => {
    const berlin = createCalendar({ cron: "30 2 * * *", timezone: "Europe/Berlin" });
    expect(berlin.next(at("2026-03-28T12:00:00Z"))).toBe(at("2026-03-29T01:00:00Z"));
    expect(berlin.latest(at("2026-03-29T12:00:00Z"))).toBe(at("2026-03-29T01:00:00Z"));
  });

  it("comes once when the change back has its hour twice", () => {
    const berlin = createCalendar({ cron: "30 2 * * *", timezone: "Europe/Berlin" });
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

  it.each(["every day", "0 0 3 * * *"])("is refused where it is %j", (cron) => {
    expect(() => createCalendar({ cron })).toThrow();
  });

  it("has the times of systemd where it repeats within an hour", () => {
    const base = at("2026-06-10T12:34:56Z");
    const calendar = createCalendar({ cron: "*/20 * * * *", timezone: "UTC" });
    let now = base;
    const times = Array.from({ length: 5 }, () => {
      now = calendar.next(now) ?? Number.NaN;
      return now;
    });
    expect(times).toEqual(bySystemd("*-*-* *:00/20:00 UTC", base, 5).filter((time) => time > base));
  });
});

const windowOf = (cron: string, timezone: string, durationMs: number) => ({
  calendar: createCalendar({ cron, timezone }),
  durationMs,
  delayMs: 0,
});

/** Whether a time zone puts its clock forward in a day around a time: there the two differ, on purpose. */
function hasGap(timezone: string, time: number): boolean {
  const format = new Intl.DateTimeFormat("en", { timeZone: timezone, timeZoneName: "longOffset" });
  const offset = (timestamp: number): number => {
    const name = format.formatToParts(timestamp).find(({ type }) => type === "timeZoneName")?.value ?? "";
    const [, sign = "+", hours = "0", minutes = "0"] = /GMT(?:([+-])(\d\d):(\d\d))?/.exec(name) ?? [];
    return (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -1 : 1);
  };
  return offset(time + 24 * hourMs) > offset(time - 24 * hourMs);
}

describe("a window by local time", () => {
  const night = windowOf("30 2 * * *", "Europe/Berlin", 2 * hourMs);

  it("does not vanish on the day whose clock skips its opening, and lasts as long as always", () => {
    const changesAt = at("2026-03-29T03:00:00Z");
    expect(phaseAt(night, at("2026-03-29T00:59:59Z")).isOpen).toBe(false);
    expect(phaseAt(night, at("2026-03-29T01:00:00Z"))).toMatchObject({ isOpen: true, changesAt });
  });

  it("opens once where the clock has its hour twice, and does not last longer", () => {
    const [opensAt, endsAt, nextAt] = [
      at("2026-10-25T00:30:00Z"),
      at("2026-10-25T02:30:00Z"),
      at("2026-10-26T01:30:00Z"),
    ];
    expect(phaseAt(night, opensAt)).toMatchObject({ isOpen: true, changesAt: endsAt });
    expect(phaseAt(night, endsAt)).toMatchObject({ isOpen: false, changesAt: nextAt });
  });

  it.each([
    ["30 2 * * *", "Europe/Berlin"],
    ["15 2 * * 0", "America/New_York"],
    ["0 0 * * *", "America/Santiago"],
    ["45 1 * * *", "Australia/Lord_Howe"],
  ])("%s in %s opens every day that it should, all year", (cron, timezone) => {
    const window = windowOf(cron, timezone, 10 * minuteMs);
    let openings = 0;
    let time = at("2026-01-01T00:00:00Z");
    for (;;) {
      const { isOpen, changesAt = Number.NaN } = phaseAt(window, time);
      if (Number.isNaN(changesAt) || changesAt >= at("2027-01-01T00:00:00Z")) break;
      if (!isOpen) openings += 1;
      else expect(changesAt - time).toBe(10 * minuteMs);
      time = changesAt;
    }
    expect(openings).toBe(cron.endsWith("0") ? 52 : 365);
  });

  it("opens when systemd's calendar says, on all days but those with a gap", () => {
    const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"] as const;
    const two = (value: number): string => String(value).padStart(2, "0");
    const shown = (time: number): string => new Date(time).toISOString();
    fc.assert(
      fc.property(
        fc.record({
          minute: fc.integer({ min: 0, max: 59 }),
          hour: fc.integer({ min: 0, max: 23 }),
          day: fc.option(fc.integer({ min: 1, max: 31 })),
          weekday: fc.option(fc.integer({ min: 0, max: 6 })),
          timezone: fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"),
          base: fc.integer({ min: at("2025-01-01T00:00:00Z"), max: at("2029-01-01T00:00:00Z") }),
        }),
        ({ minute, hour, day, weekday, timezone, base }) => {
          // Cron takes either of two days that are given, systemd both.
          const on = day === null || weekday === null ? weekday : null;
          const cron = `${minute} ${hour} ${day ?? "*"} * ${on ?? "*"}`;
          const date = `${on === null ? "" : `${days[on] ?? ""} `}*-*-${day === null ? "*" : two(day)}`;
          const calendar = `${date} ${two(hour)}:${two(minute)}:00 ${timezone}`;
          const [expected] = bySystemd(calendar, base, 3).filter((time) => time > base);
          if (expected === undefined) throw new Error(`systemd has no time for ${calendar}`);
          const window = windowOf(cron, timezone, minuteMs);
          const { isOpen, changesAt } = phaseAt(window, base);
          const opensAt = isOpen ? phaseAt(window, changesAt ?? Number.NaN).changesAt : changesAt;
          if (opensAt === undefined) throw new Error(`${cron} never opens`);
          if (hasGap(timezone, opensAt) || hasGap(timezone, base)) return;
          expect([cron, timezone, shown(base), shown(opensAt)]).toEqual([cron, timezone, shown(base), shown(expected)]);
        },
      ),
      { numRuns: 60 },
    );
  });
});
