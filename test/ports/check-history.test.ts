import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openCheckHistory, type SqliteCheckHistory } from "#adapters/check-history/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { createRunHistory } from "#domain/health/history/history.ts";
import type {
  CheckHistory,
  HourPoint,
  StoredHour,
  StoredRun,
  StoredSeries,
  StoredState,
} from "#domain/ports/check-history.ts";
import { createFakeCheckHistoryStore } from "../fakes/check-history.ts";

const hourMs = 3_600_000;

const run = (checkedAt: number, changes: Partial<StoredRun> = {}): StoredRun => ({
  checkedAt,
  status: "pass",
  message: `run at ${checkedAt} "ü"`,
  durationMs: 3,
  ...changes,
});
const runsOf = (checkId: string, ...runs: readonly StoredRun[]) => new Map([[checkId, runs]]);
const state = (changes: Partial<StoredState> = {}): StoredState => ({
  status: "pass",
  since: 1,
  consecutiveFailures: 0,
  ...changes,
});
const hour = (at: number, changes: Partial<StoredHour> = {}): StoredHour => ({
  hour: at * hourMs,
  runs: 2,
  changes: 1,
  minMs: 3,
  maxMs: 9,
  totalMs: 12,
  inStatus: { pass: 50, warn: 0, fail: 7, skip: 0 },
  ...changes,
});
const series = (id: number, changes: Partial<StoredSeries> = {}): StoredSeries => ({
  id,
  checkId: "memory",
  name: `figure_${id}`,
  unit: "",
  seenAt: 0,
  ...changes,
});

const ids = new Set([1, 2]);

let stateDir: string;
let open: SqliteCheckHistory | undefined;
let troubles: (string | undefined)[];
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "steward-checks-"));
  troubles = [];
});
afterEach(() => {
  open?.dispose();
  open = undefined;
  rmSync(stateDir, { recursive: true, force: true });
});
const openReal = (): SqliteCheckHistory => {
  open?.dispose();
  open = openCheckHistory({ stateDir, onTrouble: (_, aside) => void troubles.push(aside) });
  return open;
};
const file = (): string => join(stateDir, "check-history.db");

describe.each([
  ["fake", createFakeCheckHistoryStore],
  ["sqlite", openReal],
] as const)("store of the history of checks: %s", (_, make: () => CheckHistory) => {
  it("starts empty", () => {
    const store = make();
    expect([store.aliveUntil(), store.state("memory"), store.series()]).toEqual([undefined, undefined, []]);
    expect([store.runs("memory", 0), store.transitions("memory"), store.hours("memory", 0)]).toEqual([[], [], []]);
    expect([store.minutes(ids, 0, hourMs), store.pointHours(ids, 0, hourMs)]).toEqual([[], []]);
  });

  it("gives runs since a time in the order of their times, those of one time in their own", () => {
    const store = make();
    store.apply({ runs: runsOf("memory", run(50), run(10), run(30)) });
    store.apply({ runs: runsOf("memory", run(30, { message: "second" })) });
    store.apply({ runs: runsOf("swap_usage", run(35)) });
    expect(store.runs("memory", 20)).toEqual([run(30), run(30, { message: "second" }), run(50)]);
    expect(store.runs("swap_usage", 0)).toEqual([run(35)]);
    store.apply({ runsSince: 35 });
    expect([store.runs("memory", 0), store.runs("swap_usage", 0)]).toEqual([[run(50)], [run(35)]]);
  });

  it("gives transitions in the order in which they happened, and earlier ones before them", () => {
    const store = make();
    const stored = (...times: readonly number[]) => new Map([["memory", times.map((at) => run(at))]]);
    store.apply({ transitions: stored(50, 40) });
    store.apply({ transitions: stored(1, 2), areEarlier: true });
    store.apply({ transitions: stored(45) });
    expect(store.transitions("memory").map(({ checkedAt }) => checkedAt)).toEqual([1, 2, 50, 40, 45]);
    store.forget({ transitions: 45 });
    expect(store.transitions("memory").map(({ checkedAt }) => checkedAt)).toEqual([50, 45]);
    store.forget({ transitions: 1000 });
    expect(store.transitions("memory")).toEqual([run(45)]);
  });

  it("keeps so many transitions of a check, the newest", () => {
    const store = make();
    const many = [1, 2, 3, 4, 5].map((at) => run(at));
    store.apply({
      transitions: new Map([
        ["memory", many],
        ["swap_usage", many.slice(0, 2)],
      ]),
    });
    store.forget({ transitionsPerCheck: 3 });
    expect([store.transitions("memory"), store.transitions("swap_usage")]).toEqual([many.slice(2), many.slice(0, 2)]);
  });

  it("adds to hours what is new", () => {
    const store = make();
    store.apply({ hours: new Map([["memory", [hour(5), hour(4)]]]) });
    const idle = hour(5, { runs: 0, changes: 0, minMs: 0, maxMs: 0, totalMs: 0 });
    store.apply({
      hours: new Map([
        ["memory", [idle]],
        ["swap_usage", [idle]],
      ]),
    });
    store.apply({ hours: new Map([["swap_usage", [hour(5)]]]) });
    const inStatus = { pass: 100, warn: 0, fail: 14, skip: 0 };
    expect(store.hours("memory", 5 * hourMs)).toEqual([hour(5, { inStatus })]);
    expect(store.hours("swap_usage", 0)).toEqual([hour(5, { inStatus })]);
    store.apply({ hours: new Map([["memory", [hour(4, { minMs: 1, maxMs: 5, totalMs: 6 })]]]) });
    const both = hour(4, { runs: 4, changes: 2, minMs: 1, maxMs: 9, totalMs: 18, inStatus });
    expect(store.hours("memory", 0)).toEqual([both, hour(5, { inStatus })]);
    store.forget({ hours: 5 * hourMs });
    expect(store.hours("memory", 0)).toEqual([hour(5, { inStatus })]);
  });

  it("keeps the last state of each check, and until when the service ran", () => {
    const store = make();
    store.apply({ states: new Map([["memory", state()]]), aliveUntil: 7 });
    store.apply({ states: new Map([["memory", state({ status: "fail", consecutiveFailures: 7 })]]), aliveUntil: 9 });
    store.apply({ states: new Map([["swap_usage", state({ status: "skip" })]]) });
    expect(store.state("memory")).toEqual(state({ status: "fail", consecutiveFailures: 7 }));
    expect([store.state("swap_usage"), store.aliveUntil()]).toEqual([state({ status: "skip" }), 9]);
  });

  it("keeps series and their points, of a minute the last and of an hour all together", () => {
    const store = make();
    const point: HourPoint = { count: 1, mean: 4, min: 4, max: 4 };
    store.apply({
      series: [series(1), series(2, { unit: "%" })],
      minutes: new Map([
        [
          60_000,
          new Map([
            [1, 1.5],
            [2, 123_456_789.125],
          ]),
        ],
      ]),
      pointHours: new Map([[hourMs, new Map([[1, point]])]]),
    });
    store.apply({
      series: [series(1, { seenAt: 86_400_000 })],
      minutes: new Map([
        [60_000, new Map([[1, -0.3]])],
        [180_000, new Map([[1, 9]])],
      ]),
      pointHours: new Map([[hourMs, new Map([[1, { count: 3, mean: 8, min: 2, max: 11 }]])]]),
    });
    expect(store.series()).toEqual([series(1, { seenAt: 86_400_000 }), series(2, { unit: "%" })]);
    const minutes = store.minutes(ids, 60_000, 180_000).map(([at, points]) => [at, Object.fromEntries(points)]);
    expect(minutes).toEqual([
      [60_000, { 1: -0.3, 2: 123_456_789.125 }],
      [180_000, { 1: 9 }],
    ]);
    expect(store.minutes(ids, 60_001, 179_999)).toEqual([]);
    expect(store.minutes(new Set([2]), 60_000, 60_000)).toEqual([[60_000, new Map([[2, 123_456_789.125]])]]);
    expect(store.pointHours(ids, 0, hourMs)).toEqual([
      [hourMs, new Map([[1, { count: 4, mean: 7, min: 2, max: 11 }]])],
    ]);
    store.forget({ minutes: 180_000, pointHours: 2 * hourMs, series: 1 });
    expect(store.minutes(ids, 0, hourMs).map(([at]) => at)).toEqual([180_000]);
    expect([store.pointHours(ids, 0, hourMs), store.series().map(({ id }) => id)]).toEqual([[], [1]]);
  });
});

describe("history of checks on disk", () => {
  const record = (store: CheckHistory, at: number, message = "m"): void =>
    store.apply({ runs: runsOf("memory", run(at, { message })), states: new Map([["memory", state()]]) });

  it("is private, and there again when it is opened again", () => {
    record(openReal(), 1);
    for (const path of [file(), `${file()}-wal`]) expect(statSync(path).mode & 0o777).toBe(0o600);
    const again = openReal();
    expect([again.state("memory"), again.runs("memory", 0).length]).toEqual([state(), 1]);
    expect(troubles).toEqual([]);
  });

  it("has all transitions and states when its process is killed, and of the rest what was flushed", async () => {
    const module = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
    const program = `
      const { openCheckHistory } = await import(${module("adapters/check-history/index.ts")});
      const { createRunHistory } = await import(${module("domain/health/history/history.ts")});
      const store = openCheckHistory({ stateDir: process.argv[1], onTrouble: (error) => { throw error; } });
      const history = createRunHistory(store);
      for (let at = 1; at <= 200; at += 1) {
        const status = at % 2 === 0 ? "fail" : "pass";
        history.record("memory", { checkedAt: at, status, message: "m", durationMs: 1 },
          { status, since: at, consecutiveFailures: 0 });
        if (at === 150) history.flush(at);
      }
      process.kill(process.pid, "SIGKILL");`;
    await exec([process.execPath, "--input-type=module", "-e", program, stateDir], { timeoutMs: 60_000 }).catch(
      () => undefined,
    );
    const store = openReal();
    expect(store.transitions("memory").map(({ checkedAt }) => checkedAt)).toEqual(
      Array.from({ length: 200 }, (_, at) => at + 1),
    );
    expect([store.state("memory"), store.aliveUntil()]).toEqual([state({ status: "fail", since: 200 }), 150]);
    expect(store.runs("memory", 0)).toHaveLength(150);
    expect(createRunHistory(store).transitions("memory", 0, 1)).toMatchObject({ total: 200 });
    expect(troubles).toEqual([]);
  });

  it.each([
    ["text", "this is no database, and was never one"],
    ["a cut off header", "SQLite format 3\0"],
    ["noise behind the header", `SQLite format 3\0${"\x7f".repeat(8000)}`],
  ])("moves a damaged file aside and starts again: %s", (_, content) => {
    writeFileSync(file(), content);
    record(openReal(), 1);
    expect(troubles).toEqual([`${file()}.damaged`]);
    expect(readFileSync(`${file()}.damaged`, "latin1")).toBe(content);
    expect(openReal().state("memory")).toEqual(state());
  });

  it("sets aside what is of another version, or is no file of its own", () => {
    const foreign = new DatabaseSync(file());
    foreign.exec("PRAGMA user_version = 99");
    foreign.close();
    record(openReal(), 1);
    open?.dispose();
    open = undefined;
    rmSync(file());
    symlinkSync("/etc/hostname", file());
    record(openReal(), 1);
    expect(troubles).toEqual([`${file()}.damaged`, `${file()}.damaged`]);
    expect(readFileSync("/etc/hostname", "utf8")).not.toContain("SQLite");
  });

  it("meets damage that shows while it runs in the same way", () => {
    const store = openReal();
    for (let at = 0; at < 2000; at += 1) record(store, at, "x".repeat(500));
    open?.dispose();
    open = undefined;
    const bytes = readFileSync(file());
    // All but the schema, a page for each table and index, and the first rows.
    bytes.fill(0xa5, 16 * 4096);
    writeFileSync(file(), bytes);
    const damaged = openReal();
    for (let at = 0; at < 50; at += 1) record(damaged, 9000 + at);
    expect(damaged.runs("memory", 0).at(-1)).toEqual(run(9049, { message: "m" }));
    expect(troubles).toEqual([`${file()}.damaged`]);
  });

  it("works without a file where none can be made", () => {
    open = openCheckHistory({
      stateDir: join(stateDir, "nowhere"),
      onTrouble: (_, aside) => void troubles.push(aside ?? "memory"),
    });
    record(open, 1);
    expect(open.runs("memory", 0)).toHaveLength(1);
    expect(troubles).toEqual(["memory"]);
  });
});
