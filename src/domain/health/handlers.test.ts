import { expect, it } from "vitest";
import type { HealthCheckList, HealthCheckResult } from "#contract/checks.ts";
import { Versioned } from "#contract/operation.ts";
import { summarize } from "./check-states.ts";
import { checkHandlers } from "./handlers.ts";

const resultOf = (id: string, details: object, durationMs: number): HealthCheckResult => ({
  check_id: id,
  name: id,
  status: "fail",
  message: id,
  details,
  duration_ms: durationMs,
  category: "packages",
  severity: "high",
  checked_at: "2026-01-01T00:00:00.000Z",
  fixable: false,
  since: "2026-01-01T00:00:00.000Z",
  consecutive_failures: 1,
});

const names = Array.from({ length: 83 }, (_, at) => `package-${at}`);
const results = [
  resultOf("many", { updates: names, few: ["a"], pending: 83 }, 120),
  resultOf("few", { paths: names.slice(0, 20) }, 30),
];
const unused = (): never => {
  throw new Error("not used");
};
const { listChecks, getCheck } = checkHandlers({
  runner: {
    ids: ["many", "few"],
    list: () => Promise.resolve({ summary: summarize(results), results }),
    run: (id) => Promise.resolve(results.find((each) => each.check_id === id) ?? unused()),
  },
  fixer: { fix: unused },
  history: { transitions: unused, runs: unused, days: unused, metrics: unused } as never,
  clock: { now: () => 0 },
});

it("the list of checks has the first entries of long lists in details, and names the lists that were cut", async () => {
  const answer = await listChecks({}, {} as never);
  const list = (answer instanceof Versioned ? answer.make() : answer) as HealthCheckList;
  expect(list.results.map(({ details, details_cut: cut }) => ({ details, cut }))).toEqual([
    { details: { updates: names.slice(0, 20), few: ["a"], pending: 83 }, cut: ["updates"] },
    { details: { paths: names.slice(0, 20) }, cut: undefined },
  ]);
  expect(list.summary).toMatchObject({ total: 2, failed: 2, duration_ms: 150 });
});

it("one check by itself has all entries of its details", async () => {
  expect(await getCheck({ params: { check_id: "many" } }, {} as never)).toEqual(results[0]);
});
