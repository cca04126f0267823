import { afterEach, expect, it } from "vitest";
import { bar } from "./progress.ts";
import { formatAge, formatSpan, formatTime, withLocalTimes, wrapText } from "./text.ts";

it.each([
  [0, "0 s"],
  [-5, "0 s"],
  [59.4, "59 s"],
  [61, "1 min 1 s"],
  [3600, "1 h"],
  [3605, "1 h"],
  [90_000, "1 d 1 h"],
])("%d seconds are %s", (seconds, text) => expect(formatSpan(seconds)).toBe(text));

it("ages, bars and wrapped lines have their text", () => {
  expect(formatAge("2026-01-01T00:00:00Z", Date.parse("2026-01-01T00:02:00Z"))).toBe("2 min ago");
  expect([bar(0, 4), bar(50, 4), bar(140, 4)]).toEqual(["░░░░", "██░░", "████"]);
  expect(wrapText("one two three", 7, 3)).toEqual(["one two", "three"]);
  expect(wrapText("one two three four", 7, 2)).toEqual(["one two", "three …"]);
  expect(wrapText("unbreakable", 7, 2)).toEqual(["unbrea…"]);
  expect(wrapText("", 7, 2)).toEqual([""]);
  expect(wrapText("as it is", Number.POSITIVE_INFINITY, 3)).toEqual(["as it is"]);
});

const ownZone = process.env["TZ"];
afterEach(() => {
  if (ownZone === undefined) delete process.env["TZ"];
  else process.env["TZ"] = ownZone;
});

it.each([
  ["UTC", "2026-01-31 23:30:05+00:00"],
  ["Europe/Berlin", "2026-02-01 00:30:05+01:00"],
  ["Asia/Kolkata", "2026-02-01 05:00:05+05:30"],
  ["America/St_Johns", "2026-01-31 20:00:05-03:30"],
])("times are local, with the offset of their zone: %s", (zone, text) => {
  process.env["TZ"] = zone;
  expect(formatTime("2026-01-31T23:30:05.250Z")).toBe(text);
  expect(withLocalTimes("closed until 2026-01-31T23:30:05Z, by 2026-01-31")).toBe(
    `closed until ${text}, by 2026-01-31`,
  );
});
