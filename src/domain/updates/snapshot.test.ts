import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StoredSnapshot } from "#domain/ports/snapshots.ts";
import { expired } from "./snapshot.ts";

const day = 86_400_000;
const now = 1_000 * day;
const taken = (daysAgo: number, isProtected = false): StoredSnapshot => ({
  id: `20260101-${String(999_999 - daysAgo)}`,
  description: "",
  createdAt: now - daysAgo * day,
  sizeBytes: 1,
  kind: "manual",
  isProtected,
  packagesCount: 1,
  lacks: [],
});
const ages = (snapshots: readonly StoredSnapshot[]): readonly number[] =>
  snapshots.map(({ createdAt }) => (now - createdAt) / day);

describe("retention", () => {
  it.each([
    ["those beyond the count, oldest first", [4, 1, 3, 2], { count: 2, days: 100 }, [4, 3]],
    ["those that are too old", [1, 8, 9], { count: 10, days: 7 }, [9, 8]],
    ["none that is as old as it may be", [1, 7], { count: 10, days: 7 }, []],
    ["never the newest", [50, 60], { count: 0, days: 7 }, [60]],
    ["nothing of nothing", [], { count: 0, days: 0 }, []],
  ])("removes %s", (_, days, { count, days: most }, gone) => {
    const found = expired(
      days.map((each) => taken(each)),
      { count, ageMs: most * day, nowMs: now },
    );
    expect(ages(found)).toEqual(gone);
  });

  it("ignores protected snapshots", () => {
    const all = [taken(1), taken(2, true), taken(3, true), taken(4), taken(5), taken(500, true)];
    expect(ages(expired(all, { count: 2, ageMs: 100 * day, nowMs: now }))).toEqual([5]);
  });

  it("keeps the newest, the protected, and at most the count of others", () => {
    const snapshots = fc.uniqueArray(fc.tuple(fc.nat(100), fc.boolean()), {
      selector: ([days]) => days,
      maxLength: 30,
    });
    fc.assert(
      fc.property(snapshots, fc.nat(10), fc.nat(100), (given, count, days) => {
        const all = given.map(([each, isProtected]) => taken(each, isProtected));
        const gone = new Set(expired(all, { count, ageMs: days * day, nowMs: now }));
        const kept = all.filter((each) => !gone.has(each));
        const newest = all.toSorted((one, other) => other.createdAt - one.createdAt)[0];
        expect([...gone].filter(({ isProtected }) => isProtected)).toEqual([]);
        expect(newest === undefined || kept.includes(newest)).toBe(true);
        expect(kept.filter(({ isProtected }) => !isProtected).length).toBeLessThanOrEqual(Math.max(count, 1));
        expect(
          kept.filter((each) => each !== newest && !each.isProtected && now - each.createdAt > days * day),
        ).toEqual([]);
      }),
    );
  });
});
