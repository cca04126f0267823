import { expect, it } from "vitest";
import { logWindow } from "#domain/logs/window.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import { isRepeated } from "./query.ts";

const nowMs = Date.parse("2026-01-31T12:00:00.000Z");
const unfiltered = {
  units: undefined,
  priority: undefined,
  identifier: undefined,
  boot: undefined,
  grep: undefined,
  cursor: undefined,
  order: "desc",
  limit: 100,
} as const satisfies Partial<LogQuery>;
const until = (time: string): LogQuery => ({
  ...unfiltered,
  ...logWindow({ since: "2025-01-01T00:00:00Z", until: time }, nowMs),
});

it("entries are kept as they are written where the newest of all are asked for, as a page does that names no end", () => {
  const newest: LogQuery = { ...unfiltered, ...logWindow({}, nowMs) };
  expect([isRepeated(newest, nowMs), isRepeated(newest, nowMs + 30_000)]).toEqual([true, true]);
  expect(isRepeated({ ...newest, until: Infinity }, nowMs)).toBe(true);
  expect(isRepeated(until("2026-01-31T12:00:00Z"), nowMs)).toBe(true);
});

it("entries are not kept as they are written for windows that are over and for pages after the first, but for those of a filter", () => {
  const over = until("2026-01-31T11:58:59Z");
  expect(isRepeated(over, nowMs)).toBe(false);
  expect(isRepeated({ ...over, priority: 3 }, nowMs)).toBe(true);
  expect(isRepeated({ ...unfiltered, ...logWindow({}, nowMs), cursor: "s=0" }, nowMs)).toBe(false);
});
