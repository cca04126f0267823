import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSnapshotId } from "#domain/updates/snapshot-id.ts";
import { nameEntries } from "./names.ts";
import type { SnapperEntry } from "./parse.ts";

const at = (number: number, second: number, id?: string): SnapperEntry => ({
  number,
  type: "single",
  createdAt: Date.UTC(2026, 0, 31, 23, 59, second),
  description: "",
  userdata: id === undefined ? {} : { steward_id: id },
  usedSpace: null,
});

/** What the entries are once the ids that have to be written down are. */
const writtenDown = (entries: readonly SnapperEntry[]): readonly SnapperEntry[] =>
  nameEntries(entries).map(({ entry, id, isFresh }) => (isFresh ? { ...entry, userdata: { steward_id: id } } : entry));

const idsOf = (entries: readonly SnapperEntry[]): ReadonlyMap<number, string> =>
  new Map(nameEntries(entries).map(({ entry, id }) => [entry.number, id]));

describe("ids of snapper's snapshots", () => {
  it("are those that were written down, or come from the moment", () => {
    expect([...idsOf([at(2, 7), at(1, 5, "20250101-000000")])]).toEqual([
      [1, "20250101-000000"],
      [2, "20260131-235907"],
    ]);
  });

  it("of one second are told apart, and those that were written down come first", () => {
    const entries = [at(1, 5), at(2, 5), at(3, 9, "20260131-235906")];
    expect(nameEntries(entries).map(({ id, isFresh }) => [id, isFresh])).toEqual([
      ["20260131-235905", false],
      ["20260131-235907", true],
      ["20260131-235906", false],
    ]);
  });

  it.each(["", "../../etc", "20260131-23595", "20260131-235959,x=y"])("are never %j, whoever wrote it", (id) => {
    expect([...idsOf([at(1, 5, id)]).values()]).toEqual(["20260131-235905"]);
  });

  it("that somebody wrote down twice are given once", () => {
    expect([...idsOf([at(1, 5, "20260101-000000"), at(2, 6, "20260101-000000")]).values()]).toEqual([
      "20260101-000000",
      "20260131-235906",
    ]);
  });

  it("are all different, and stay when others come and go", () => {
    const ids = fc.option(fc.integer({ min: 0, max: 6 }), { nil: undefined });
    const some = fc.array(fc.tuple(fc.integer({ min: 0, max: 6 }), ids), { maxLength: 8 });
    fc.assert(
      fc.property(some, some, fc.infiniteStream(fc.boolean()), (before, later, stays) => {
        const make = ([second, id]: readonly [number, number | undefined], number: number): SnapperEntry =>
          at(number, second, id === undefined ? undefined : `20260131-23590${id}`);
        const first = writtenDown(before.map(make));
        const known = idsOf(first);
        expect(new Set(known.values()).size).toBe(first.length);
        expect([...known.values()].every(isSnapshotId)).toBe(true);
        // Newer ones never have an id that is taken: it is asked for one before.
        const next = later.map(([second], index) => at(100 + index, second));
        const left = first.filter(() => stays.next().value);
        const now = idsOf([...left, ...next]);
        for (const { number, userdata } of left) {
          // A duplicate of what went takes its place.
          if (userdata["steward_id"] === known.get(number) || userdata["steward_id"] === undefined) {
            expect(now.get(number)).toBe(known.get(number));
          }
        }
      }),
    );
  });
});
