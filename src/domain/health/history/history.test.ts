import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CheckStatus, checkStatuses } from "#contract/checks.ts";
import type { StoredRun, StoredState } from "#domain/ports/check-history.ts";
import { createFakeCheckHistoryStore } from "../../../../test/fakes/check-history.ts";
import { createRunHistory } from "./history.ts";
import { figuresOf } from "./series.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const start = Date.parse("2026-01-31T00:00:00Z");

const state = (status: CheckStatus, since = 0): StoredState => ({ status, since, consecutiveFailures: 0 });
const run = (checkedAt: number, status: CheckStatus, durationMs = 5): StoredRun => ({
  checkedAt,
  status,
  message: status,
  durationMs,
});

function rig(store = createFakeCheckHistoryStore()) {
  let history = createRunHistory(store);
  const record = (at: number, status: CheckStatus, checkId = "a"): void =>
    history.record(checkId, run(at, status), state(status));
  /** A run each minute, and what the service does each minute. */
  const runs = (from: number, until: number, status: CheckStatus): void => {
    for (let at = from; at < until; at += minuteMs) {
      record(at, status);
      history.flush(at);
    }
  };
  return {
    store,
    record,
    runs,
    get history() {
      return history;
    },
    restart(): void {
      history = createRunHistory(store);
    },
  };
}

const times = (runs: readonly StoredRun[]): readonly number[] => runs.map(({ checkedAt }) => checkedAt);

describe("entries of the history of checks", () => {
  it("are all runs of the last hour, and transitions before it", () => {
    const { history, runs } = rig();
    runs(start, start + hourMs, "pass");
    runs(start + hourMs, start + 2 * hourMs, "fail");
    runs(start + 2 * hourMs, start + 4 * hourMs, "pass");
    const last = start + 4 * hourMs - minuteMs;
    const { runs: found, total } = history.runs("a", 0, 10_000);
    expect(times(found).slice(0, 4)).toEqual([start, start + hourMs, start + 2 * hourMs, last - hourMs]);
    expect([total, found.length]).toEqual([3 + 61, 3 + 61]);
    expect(times(history.transitions("a", 0, 2).runs)).toEqual([start + hourMs, start + 2 * hourMs]);
    expect(history.transitions("a", start + 1, 10).total).toBe(2);
    expect(history.recentRuns("a", 0, 10_000).total).toBe(61);
  });

  it("include the first run after downtime, but not after a short restart", () => {
    const all = rig();
    all.runs(start, start + 10 * minuteMs, "pass");
    all.restart();
    all.runs(start + 11 * minuteMs, start + 12 * minuteMs, "pass");
    expect(all.history.transitions("a", 0, 10).total).toBe(1);
    all.restart();
    all.runs(start + 30 * minuteMs, start + 31 * minuteMs, "pass");
    expect(times(all.history.transitions("a", 0, 10).runs)).toEqual([start, start + 30 * minuteMs]);
  });
});

describe("time in each state of a check", () => {
  it("is unknown without the service, and continues between rare runs", () => {
    const all = rig();
    all.runs(start, start + 60 * minuteMs, "pass");
    all.runs(start + 60 * minuteMs, start + 90 * minuteMs, "warn");
    all.history.flush(start + 90 * minuteMs);
    all.restart();
    all.record(start + 120 * minuteMs, "pass");
    const [day] = all.history.uptime("a", start + 121 * minuteMs);
    expect(day?.timeMs).toEqual({
      pass: 61 * minuteMs,
      warn: 30 * minuteMs,
      fail: 0,
      skip: 0,
      unknown: dayMs + minuteMs - 91 * minuteMs,
    });
    const days = all.history.days("a", start, start + 121 * minuteMs);
    expect(days).toMatchObject([{ runs: 91, changes: 2, minMs: 5, maxMs: 5, totalMs: 91 * 5 }]);
    expect(days[0]?.timeMs.unknown).toBe(30 * minuteMs);
    const { history, record } = rig();
    record(start, "pass", "rare");
    for (let at = start; at <= start + 5 * hourMs; at += minuteMs) history.flush(at);
    expect(history.uptime("rare", start + 5 * hourMs)[0]?.timeMs.pass).toBe(5 * hourMs);
    history.suspend("rare", start + 5 * hourMs);
    for (let at = start + 5 * hourMs; at <= start + 6 * hourMs; at += minuteMs) history.flush(at);
    expect(history.uptime("rare", start + 6 * hourMs)[0]?.timeMs.pass).toBe(5 * hourMs);
  });

  it("is unknown while the host sleeps", () => {
    const { history, runs } = rig();
    runs(start, start + 10 * minuteMs, "pass");
    runs(start + 5 * hourMs, start + 5 * hourMs + 10 * minuteMs, "pass");
    expect(history.uptime("a", start + 6 * hourMs)[0]?.timeMs.pass).toBe(19 * minuteMs - minuteMs);
  });
});

type Step =
  | { readonly kind: "run"; readonly check: string; readonly status: CheckStatus; readonly durationMs: number }
  | { readonly kind: "wait" | "set"; readonly ms: number }
  | { readonly kind: "restart" | "kill" | "flush" | "forget" | "fault" | "suspend" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("run" as const),
      check: fc.constantFrom("a", "b"),
      status: fc.constantFrom(...checkStatuses),
      durationMs: fc.integer({ min: -5, max: 40_000 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 100_000 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("set" as const),
      ms: fc.oneof(
        fc.integer({ min: -40 * dayMs, max: 40 * dayMs }),
        fc.integer({ min: -2 * hourMs, max: 2 * hourMs }),
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom("restart", "kill", "flush", "flush", "forget", "fault", "suspend" as const),
    }),
  },
);

describe("the history of checks over any runs, restarts, kills, full disks and set clocks", () => {
  it("adds up to each window and replays to the state", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const all = rig();
        let now = start;
        const last = new Map<string, CheckStatus>();
        for (const each of steps) {
          if (each.kind === "run") {
            const { check, status, durationMs } = each;
            try {
              all.history.record(check, run(now, status, durationMs), state(status, now));
            } catch (error) {
              expect(error).toBe(all.store.fault);
            }
            last.set(check, status);
          } else if (each.kind === "wait" || each.kind === "set") now += each.ms;
          else if (each.kind === "suspend") all.history.suspend("a", now);
          else if (each.kind === "fault") {
            all.store.fault = new Error("disk is full");
            expect(() => all.history.flush(now)).toThrow("disk is full");
            all.store.fault = undefined;
          } else if (each.kind === "forget") all.history.forget(now);
          else {
            if (each.kind !== "kill") all.history.flush(now);
            if (each.kind !== "flush") all.restart();
          }
        }
        for (const [check, status] of last) {
          expect(all.history.transitions(check, Number.NEGATIVE_INFINITY, 10_000).runs.at(-1)?.status).toBe(status);
          expect(all.history.state(check)?.status).toBe(status);
          const windows = [...all.history.uptime(check, now), ...all.history.days(check, now - 30 * dayMs, now)];
          expect(windows).toHaveLength(3 + 30);
          for (const { since, until, timeMs } of windows) {
            const parts = Object.values(timeMs);
            expect(parts.reduce((sum, part) => sum + part, 0)).toBe(until - since);
            expect(Math.min(...parts)).toBeGreaterThanOrEqual(0);
          }
          for (const day of all.history.days(check, now - 30 * dayMs, now))
            expect([day.minMs, day.maxMs - day.minMs, day.totalMs - day.maxMs].every((ms) => ms >= 0)).toBe(true);
        }
      }),
      { numRuns: 400 },
    );
  });
});

describe("figures of a check", () => {
  const follow = (history: ReturnType<typeof rig>["history"], at: number, figures: Readonly<Record<string, unknown>>) =>
    history.record("a", run(at, "pass"), state("pass"), figuresOf(figures));
  const all = { checkId: "a", since: 0, until: start + 100 * dayMs };

  it("are the numbers of the details or performance data", () => {
    const details = { path: "/", percent_used: 17.2, list: [{ percent_used: 3 }], none: Number.NaN, huge: 1e300 };
    expect(figuresOf(details)).toEqual([{ name: "percent_used", value: 17.2, unit: "" }]);
    const perfdata = [
      { label: "time", value: 0.2, unit: "s" },
      { label: "unknown", value: null, unit: "" },
    ];
    expect(figuresOf({ exit_code: 0, perfdata })).toEqual([{ name: "time", value: 0.2, unit: "s" }]);
  });

  it("have the last value of a minute, and mean, minimum and maximum of an hour", () => {
    const parts = rig();
    follow(parts.history, start + 1_000, { load: 1 });
    follow(parts.history, start + 59_000, { load: 2 });
    parts.history.flush(start + minuteMs);
    parts.restart();
    follow(parts.history, start + minuteMs + 1, { load: 6, other: 1 });
    const [load, other] = parts.history.minutes(all);
    expect(load?.points).toEqual([
      [start, 2],
      [start + minuteMs, 6],
    ]);
    expect(other?.series).toMatchObject({ name: "other", checkId: "a" });
    expect(parts.history.hours({ ...all, name: "load" })).toMatchObject([
      { points: [[start, { count: 3, mean: 3, min: 1, max: 6 }]] },
    ]);
  });

  it("are bounded per check and in all, and expire after a week", () => {
    const { history } = rig();
    const named = (prefix: string, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at}`, at]));
    follow(history, start, named("first", 20));
    expect(history.minutes(all)).toHaveLength(16);
    follow(history, start + 9 * dayMs, named("second", 20));
    expect(history.minutes(all)).toHaveLength(32);
    for (let check = 0; check < 30; check += 1)
      history.record(`check_${check}`, run(start + 9 * dayMs, "pass"), state("pass"), figuresOf(named("", 10)));
    const count = Array.from({ length: 30 }, (_, at) => history.minutes({ ...all, checkId: `check_${at}` }).length);
    expect(count.reduce((sum, each) => sum + each, 0)).toBe(200 - 16);
  });
});
