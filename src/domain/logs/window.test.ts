import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { logWindow } from "./window.ts";

const nowMs = Date.parse("2026-01-01T12:00:00Z");
const at = (text: string): number => Date.parse(text) * 1000;
const hour = 3_600_000_000;

describe("the time window of a query", () => {
  it("is the last hour; after a cursor or in a boot, everything up to now", () => {
    const until = nowMs * 1000 + 999;
    expect(logWindow({}, nowMs)).toEqual({ since: nowMs * 1000 - hour, until });
    expect(logWindow({ cursor: "x" }, nowMs)).toEqual({ since: 0, until });
    expect(logWindow({ boot: "0" }, nowMs)).toEqual({ since: 0, until });
  });

  it("keeps microseconds, and is rounded inwards beyond them", () => {
    const window = (since: string, until: string) => logWindow({ since, until }, nowMs);
    const second = at("2025-06-01T00:00:00Z");
    expect(window("2025-06-01T00:00:00.123456Z", "2025-06-01T00:00:00.123456Z")).toEqual({
      since: second + 123_456,
      until: second + 123_456,
    });
    expect(window("2025-06-01T00:00:00.1234561Z", "2025-06-01T00:00:00.9999999Z")).toEqual({
      since: second + 123_457,
      until: second + 999_999,
    });
    expect(window("2025-06-01T02:00:00.5+02:00", "2025-06-01T00:00:00.5z")).toEqual({
      since: second + 500_000,
      until: second + 500_000,
    });
    expect(window("2025-05-31T23:59:60.25Z", "2025-06-01T00:00:01Z")).toMatchObject({ since: second + 250_000 });
    // Nothing lies between two times of one microsecond.
    expect(window("2025-06-01T00:00:00.0000001Z", "2025-06-01T00:00:00.0000002Z")).toEqual({
      since: second + 1,
      until: second,
    });
  });

  it("reaches from the epoch to the last time that systemd takes", () => {
    expect(logWindow({ since: "1910-01-01T00:00:00Z", until: "9999-12-31T23:59:59Z" }, nowMs)).toEqual({
      since: 0,
      until: 2 ** 55,
    });
  });

  it.each([
    [{ since: "2026-01-01T11:00:00Z", until: "2026-01-01T10:00:00Z" }, "Must not be later than until"],
    [{ since: "2026-01-01T11:00:00.0000002Z", until: "2026-01-01T11:00:00.0000001Z" }, "Must not be later than until"],
    [{ since: "2026-01-01T12:00:01Z" }, "Must not be later than until"],
    [{ until: "2026-01-01T10:00:00Z" }, "Must be given: its default, one hour ago, is later than until"],
  ])("is refused: %j", (query, issue) => {
    expect(() => logWindow(query, nowMs)).toThrow(
      expect.objectContaining({ code: "VALIDATION_ERROR", details: { field: "since", issue } }),
    );
  });

  it("reads timestamps as the contract writes them", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: nowMs * 1000 }), (micros) => {
        const seconds = new Date(Math.floor(micros / 1_000_000) * 1000).toISOString().slice(0, 19);
        const text = `${seconds}.${String(micros % 1_000_000).padStart(6, "0")}Z`;
        expect(logWindow({ since: text, until: text }, nowMs)).toEqual({ since: micros, until: micros });
      }),
    );
  });
});
