import { describe, expect, it } from "vitest";
import { DomainError } from "#domain/common/error.ts";
import type { LiveEntry } from "#domain/ports/journal.ts";
import { changeFilter, createLogMatcher, noFilter, readFilterMessage, type Sight } from "./stream-filter.ts";

const lackOf = (unit: string) => new DomainError("FORBIDDEN", unit);
const all: Sight = { units: "all", lackOf };
const some: Sight = { units: ["app-*", "nginx.service"], lackOf };

const live = (units: readonly string[], priority: number | null, namespace = ""): LiveEntry => ({
  units,
  namespace,
  priority,
  entry: {
    timestamp: "2026-01-01T00:00:00.000000Z",
    unit: units[0] ?? "",
    priority: priority ?? 6,
    message: "",
    cursor: "",
    identifier: "",
    pid: null,
    hostname: "",
    boot_id: "",
  },
});

const codeOf = (work: () => unknown): unknown => {
  try {
    work();
  } catch (error) {
    return error instanceof DomainError ? [error.code, error.details?.["field"]] : error;
  }
  return undefined;
};

describe("a change of a stream's filter", () => {
  it("sets the given members, clears those that are null and keeps the rest", () => {
    const first = changeFilter(noFilter, { unit: "nginx", priority: "warn", grep: "x" }, all);
    expect(first).toEqual({ unit: "nginx.service", priority: 4, grep: "x" });
    expect(changeFilter(first, { priority: null }, all)).toEqual({
      unit: "nginx.service",
      priority: undefined,
      grep: "x",
    });
    expect(changeFilter(first, { unit: null, priority: 7 }, all)).toEqual({
      unit: undefined,
      priority: undefined,
      grep: "x",
    });
    expect(changeFilter(first, {}, all)).toEqual(first);
  });

  it("is forbidden for units outside the key's scopes", () => {
    for (const unit of ["nginx", "app-1", "app-*", "app-[12]", "app-?-*"]) {
      expect([unit, codeOf(() => changeFilter(noFilter, { unit }, some))]).toEqual([unit, undefined]);
    }
    for (const unit of ["cron", "*", "app*", "[a]pp-1.service", "kernel"]) {
      expect([unit, codeOf(() => changeFilter(noFilter, { unit }, some))]).toEqual([unit, ["FORBIDDEN", undefined]]);
    }
  });

  it.each([{ priority: "7.0" }, { priority: -1 }, { priority: 3.5 }, { priority: "ERR" }, { priority: true }])(
    "is refused: %j",
    (change) => {
      expect(codeOf(() => changeFilter(noFilter, change, all))).toEqual(["VALIDATION_ERROR", "priority"]);
    },
  );
});

it("a change of a stream's filter is read from messages of its type alone", () => {
  expect(readFilterMessage({ type: "filter", unit: null, more: 1 })).toEqual({ unit: null });
  for (const message of [undefined, null, 1, "filter", [], {}, { type: "Filter" }, { type: ["filter"] }]) {
    expect([message, codeOf(() => readFilterMessage(message))]).toEqual([
      message,
      ["VALIDATION_ERROR", expect.any(String)],
    ]);
  }
});

describe("the filter of a log stream", () => {
  it("needs a unit of the entry that is asked for and one in the key's scopes", () => {
    const matches = createLogMatcher({ ...noFilter, unit: "cron.service" }, ["app-*"]);
    expect(matches(live(["cron.service", "app-1.service"], 6))).toBe(true);
    expect(matches(live(["cron.service"], 6))).toBe(false);
    expect(matches(live(["app-1.service"], 6))).toBe(false);
    expect(matches(live([], 6))).toBe(false);
  });

  it("gives the same answers however many units there are", () => {
    const matches = createLogMatcher({ ...noFilter, unit: "*7.service" }, "all");
    for (const round of [0, 1]) {
      for (let at = 0; at < 10_000; at += 1) {
        expect([round, at, matches(live([`u${at}.service`], 6))]).toEqual([round, at, at % 10 === 7]);
      }
    }
  });

  it("passes an entry without a severity only where none is asked for", () => {
    expect(createLogMatcher({ ...noFilter, priority: 6 }, "all")(live([], null))).toBe(false);
    expect(createLogMatcher(noFilter, "all")(live([], null))).toBe(true);
  });

  it.each([
    { namespace: undefined, unit: undefined, seen: "all", passed: ["default"] },
    { namespace: undefined, unit: "app-1.service", seen: "all", passed: ["default", "tenant", "other"] },
    { namespace: undefined, unit: undefined, seen: ["app-*"], passed: ["default", "tenant", "other"] },
    { namespace: "tenant", unit: undefined, seen: "all", passed: ["tenant"] },
    { namespace: "+tenant", unit: undefined, seen: "all", passed: ["default", "tenant"] },
    { namespace: "", unit: "app-1.service", seen: "all", passed: ["default"] },
    { namespace: "*", unit: undefined, seen: ["nginx.service"], passed: [] },
  ] as const)("passes entries of $passed where $namespace, $unit and $seen are asked for", (asked) => {
    const { namespace, unit, seen, passed } = asked;
    const matches = createLogMatcher({ ...noFilter, namespace, unit }, seen);
    const names = { default: "", tenant: "tenant", other: "other" };
    const found = Object.entries(names).filter(([, name]) => matches(live(["app-1.service"], 6, name)));
    expect(found.map(([name]) => name)).toEqual(passed);
  });
});
