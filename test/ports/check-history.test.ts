import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openCheckHistory, type SqliteCheckHistory } from "#adapters/check-history/index.ts";
import { createRunHistory } from "#domain/health/history/history.ts";
import type { HourPoint, StoredHour, StoredRun, StoredSeries, StoredState } from "#domain/ports/check-history.ts";
import { checks, dayMs, hourMs, simulateHistory } from "./support/check-history-days.ts";
import { directoryPerTest } from "./support/directories.ts";
import { runUntilKilled, sourceOf } from "./support/programs.ts";

const run = (checkedAt: number, changes: Partial<StoredRun> = {}): StoredRun => ({
  ...{ checkedAt, status: "pass", message: `run at ${checkedAt} "ü"`, durationMs: 3 },
  ...changes,
});
const runsOf = (checkId: string, ...runs: readonly StoredRun[]) => new Map([[checkId, runs]]);
const state = (changes: Partial<StoredState> = {}): StoredState => ({
  ...{ status: "pass", since: 1, consecutiveFailures: 0 },
  ...changes,
});
const hour = (at: number, changes: Partial<StoredHour> = {}): StoredHour => ({
  ...{ hour: at * hourMs, runs: 2, changes: 1, minMs: 3, maxMs: 9, totalMs: 12 },
  inStatus: { pass: 50, warn: 0, fail: 7, skip: 0 },
  ...changes,
});
const series = (id: number, changes: Partial<StoredSeries> = {}): StoredSeries => ({
  ...{ id, checkId: "memory", name: `figure_${id}`, unit: "", seenAt: 0 },
  ...changes,
});
const ids = new Set([1, 2]);

const at = directoryPerTest();
const open = (): SqliteCheckHistory =>
  openCheckHistory({ stateDir: at(), onTrouble: (error) => expect.unreachable(error.message) });

describe("the store of the history of checks", () => {
  let store: SqliteCheckHistory;
  beforeEach(() => {
    store = open();
  });
  afterEach(() => store.dispose());

  it("starts empty", () => {
    expect([store.aliveUntil(), store.state("memory"), store.series()]).toEqual([undefined, undefined, []]);
    expect([store.runs("memory", 0), store.transitions("memory"), store.hours("memory", 0)]).toEqual([[], [], []]);
    expect([store.minutes(ids, 0, hourMs), store.pointHours(ids, 0, hourMs)]).toEqual([[], []]);
  });

  it("gives runs since a time in the order of their times, those of one time in their own", () => {
    store.apply({ runs: runsOf("memory", run(50), run(10), run(30)) });
    store.apply({ runs: runsOf("memory", run(30, { message: "second" })) });
    store.apply({ runs: runsOf("swap_usage", run(35)) });
    expect(store.runs("memory", 20)).toEqual([run(30), run(30, { message: "second" }), run(50)]);
    expect(store.runs("swap_usage", 0)).toEqual([run(35)]);
    store.apply({ runsSince: 35 });
    expect([store.runs("memory", 0), store.runs("swap_usage", 0)]).toEqual([[run(50)], [run(35)]]);
  });

  it("gives transitions in the order in which they happened, and earlier ones before them", () => {
    const times = () => store.transitions("memory").map(({ checkedAt }) => checkedAt);
    const add = (list: readonly number[], areEarlier = false): void =>
      store.apply({ transitions: new Map([["memory", list.map((each) => run(each))]]), areEarlier });
    add([50, 40]);
    add([1, 2], true);
    add([45]);
    expect(times()).toEqual([1, 2, 50, 40, 45]);
    store.forget({ transitions: 45 });
    expect(times()).toEqual([50, 45]);
    store.forget({ transitions: 1000 });
    expect(store.transitions("memory")).toEqual([run(45)]);
    add([46, 47]);
    store.forget({ transitionsPerCheck: 2 });
    expect(times()).toEqual([46, 47]);
  });

  it("adds to hours what is new", () => {
    const add = (checkId: string, ...hours: readonly StoredHour[]): void =>
      store.apply({ hours: new Map([[checkId, hours]]) });
    add("memory", hour(5), hour(4));
    const idle = hour(5, { runs: 0, changes: 0, minMs: 0, maxMs: 0, totalMs: 0 });
    for (const checkId of ["memory", "swap_usage"]) add(checkId, idle);
    add("swap_usage", hour(5));
    const inStatus = { pass: 100, warn: 0, fail: 14, skip: 0 };
    expect(store.hours("memory", 5 * hourMs)).toEqual([hour(5, { inStatus })]);
    expect(store.hours("swap_usage", 0)).toEqual([hour(5, { inStatus })]);
    add("memory", hour(4, { minMs: 1, maxMs: 5, totalMs: 6 }));
    const both = hour(4, { runs: 4, changes: 2, minMs: 1, maxMs: 9, totalMs: 18, inStatus });
    expect(store.hours("memory", 0)).toEqual([both, hour(5, { inStatus })]);
    store.forget({ hours: 5 * hourMs });
    expect(store.hours("memory", 0)).toEqual([hour(5, { inStatus })]);
  });

  it("has the last state of each check, and until when the service ran", () => {
    store.apply({ states: new Map([["memory", state()]]), aliveUntil: 7 });
    store.apply({ states: new Map([["memory", state({ status: "fail", consecutiveFailures: 7 })]]), aliveUntil: 9 });
    store.apply({ states: new Map([["swap_usage", state({ status: "skip" })]]) });
    expect(store.state("memory")).toEqual(state({ status: "fail", consecutiveFailures: 7 }));
    expect([store.state("swap_usage"), store.aliveUntil()]).toEqual([state({ status: "skip" }), 9]);
  });

  it("has series and their points, of a minute the last and of an hour all together", () => {
    const points = (at: number, ...values: readonly (readonly [number, number])[]) => [at, new Map(values)] as const;
    const point: HourPoint = { count: 1, mean: 4, min: 4, max: 4 };
    store.apply({
      series: [series(1), series(2, { unit: "%" })],
      minutes: new Map([points(60_000, [1, 1.5], [2, 123_456_789.125])]),
      pointHours: new Map([[hourMs, new Map([[1, point]])]]),
    });
    store.apply({
      series: [series(1, { seenAt: 86_400_000 })],
      minutes: new Map([points(60_000, [1, -0.3]), points(180_000, [1, 9])]),
      pointHours: new Map([[hourMs, new Map([[1, { count: 3, mean: 8, min: 2, max: 11 }]])]]),
    });
    expect(store.series()).toEqual([series(1, { seenAt: 86_400_000 }), series(2, { unit: "%" })]);
    const minutes = store.minutes(ids, 60_000, 180_000).map(([at, values]) => [at, Object.fromEntries(values)]);
    expect(minutes).toEqual([
      [60_000, { 1: -0.3, 2: 123_456_789.125 }],
      [180_000, { 1: 9 }],
    ]);
    expect(store.minutes(ids, 60_001, 179_999)).toEqual([]);
    expect(store.minutes(new Set([2]), 60_000, 60_000)).toEqual([points(60_000, [2, 123_456_789.125])]);
    const together = { count: 4, mean: 7, min: 2, max: 11 };
    expect(store.pointHours(ids, 0, hourMs)).toEqual([[hourMs, new Map([[1, together]])]]);
    store.forget({ minutes: 180_000, pointHours: 2 * hourMs, series: 1 });
    expect(store.minutes(ids, 0, hourMs).map(([at]) => at)).toEqual([180_000]);
    expect([store.pointHours(ids, 0, hourMs), store.series().map(({ id }) => id)]).toEqual([[], [1]]);
  });
});

it("the history of checks has all transitions and states of a killed process, and of the rest what was flushed", async () => {
  const program = `
    const { openCheckHistory } = await import(${sourceOf("adapters/check-history/index.ts")});
    const { createRunHistory } = await import(${sourceOf("domain/health/history/history.ts")});
    const store = openCheckHistory({ stateDir: process.argv[1], onTrouble: (error) => { throw error; } });
    const history = createRunHistory(store);
    for (let at = 1; at <= 200; at += 1) {
      const status = at % 2 === 0 ? "fail" : "pass";
      history.record("memory", { checkedAt: at, status, message: "m", durationMs: 1 },
        { status, since: at, consecutiveFailures: 0 });
      if (at === 150) history.flush(at);
    }
    process.kill(process.pid, "SIGKILL");`;
  await runUntilKilled(program, at());
  const store = open();
  const all = Array.from({ length: 200 }, (_, index) => index + 1);
  expect(store.transitions("memory").map(({ checkedAt }) => checkedAt)).toEqual(all);
  expect([store.state("memory"), store.aliveUntil()]).toEqual([state({ status: "fail", since: 200 }), 150]);
  expect(store.runs("memory", 0)).toHaveLength(150);
  expect(createRunHistory(store).transitions("memory", 0, 1)).toMatchObject({ total: 200 });
  store.dispose();
});

it("days of 40 checks take a row for a run only in the last hour, and hours of figures of two days", async () => {
  const { bytes, rows, history, now, dispose } = await simulateHistory(at(), 1);
  expect(bytes).toBeLessThan(3e6);
  expect(rows.runs).toBeLessThanOrEqual(checks * 62);
  expect(rows.transitions).toBeLessThanOrEqual(3 * 1060 + 37 * 10);
  expect(rows.hours).toBeLessThanOrEqual(checks * 24);
  expect(rows.series).toBe(50);
  expect(rows.minutes).toBeLessThanOrEqual(24 * 60);
  expect(rows.point_hours).toBeLessThanOrEqual(24);
  const [day] = history.uptime("check_0", now);
  expect(day?.timeMs.unknown).toBeLessThan(hourMs / 4);
  const changes = history.days("check_5", now - dayMs, now)[0]?.changes ?? 0;
  // The first run, and the first after ten minutes without the service.
  expect(history.transitions("check_5", now - dayMs, 100).total - changes).toBe(2);
  dispose();
});
