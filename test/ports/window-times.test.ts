import { execFileSync } from "node:child_process";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createCalendar } from "#adapters/calendar/index.ts";
import { phaseAt } from "#domain/access/windows.ts";

const at = (text: string): number => Date.parse(text);
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const shown = (time: number | undefined): string | undefined =>
  time === undefined ? undefined : new Date(time).toISOString();

const windowOf = (cron: string, timezone: string, durationMs: number) => ({
  calendar: createCalendar({ cron, timezone }),
  durationMs,
  delayMs: 0,
});

describe("a window by local time", () => {
  const night = windowOf("30 2 * * *", "Europe/Berlin", 2 * hourMs);

  it("does not vanish on the day whose clock skips its opening, and lasts as long as always", () => {
    expect(shown(phaseAt(night, at("2026-03-28T12:00:00Z")).changesAt)).toBe("2026-03-29T01:00:00.000Z");
    expect(phaseAt(night, at("2026-03-29T00:59:59Z")).isOpen).toBe(false);
    expect(phaseAt(night, at("2026-03-29T01:00:00Z"))).toMatchObject({
      isOpen: true,
      changesAt: at("2026-03-29T03:00:00Z"),
    });
  });

  it("opens once where the clock has its hour twice, and does not last longer", () => {
    expect(phaseAt(night, at("2026-10-25T00:30:00Z"))).toMatchObject({
      isOpen: true,
      changesAt: at("2026-10-25T02:30:00Z"),
    });
    expect(phaseAt(night, at("2026-10-25T02:30:00Z"))).toMatchObject({
      isOpen: false,
      changesAt: at("2026-10-26T01:30:00Z"),
    });
  });

  it("is another moment in another time zone", () => {
    expect(
      shown(phaseAt(windowOf("0 3 * * *", "Pacific/Auckland", hourMs), at("2026-07-01T00:00:00Z")).changesAt),
    ).toBe("2026-07-01T15:00:00.000Z");
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
});

/** The next times by systemd, which skips what the change to summer time skips. */
function bySystemd(calendar: string, timezone: string, base: number): readonly number[] {
  const words = ["calendar", "--iterations=3", `--base-time=@${Math.floor(base / 1000)}`, `${calendar} ${timezone}`];
  const text = execFileSync("systemd-analyze", words, { env: { ...process.env, TZ: "UTC", LC_ALL: "C" } }).toString();
  return [...text.matchAll(/(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC/g)].map(([, day, time]) => at(`${day}T${time}Z`));
}

/** Whether a time zone puts its clock forward in a day around a time: there the two differ, on purpose. */
function hasGap(timezone: string, time: number): boolean {
  const format = new Intl.DateTimeFormat("en", { timeZone: timezone, timeZoneName: "longOffset" });
  const offset = (moment: number): number => {
    const name = format.formatToParts(moment).find(({ type }) => type === "timeZoneName")?.value ?? "";
    const [, sign = "+", hours = "0", minutes = "0"] = /GMT(?:([+-])(\d\d):(\d\d))?/.exec(name) ?? [];
    return (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -1 : 1);
  };
  return offset(time + 24 * hourMs) > offset(time - 24 * hourMs);
}

const two = (value: number): string => String(value).padStart(2, "0");

it("opens when systemd's calendar says, on all days but those with a gap", () => {
  const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"] as const;
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
        const isOneDay = day === null || weekday === null;
        const on = isOneDay ? weekday : null;
        const cron = `${minute} ${hour} ${day ?? "*"} * ${on ?? "*"}`;
        const calendar = `${on === null ? "" : `${days[on] ?? ""} `}*-*-${day === null ? "*" : two(day)} ${two(hour)}:${two(minute)}:00`;
        const [expected] = bySystemd(calendar, timezone, base).filter((time) => time > base);
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
