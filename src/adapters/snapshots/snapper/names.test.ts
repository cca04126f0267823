import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSnapshotId } from "#domain/updates/snapshot.ts";
import { nameEntries, snapshotKey } from "./names.ts";
import type { SnapperEntry } from "./parse.ts";
import type { GivenIds } from "./records.ts";

const at = (number: number, second: number, id?: string): SnapperEntry => ({
  number,
  type: "single",
  createdAt: Date.UTC(2026, 0, 31, 23, 59, second),
  description: "",
  userdata: id === undefined ? {} : { steward_id: id },
  usedSpace: null,
});

const none: GivenIds = new Map();

/** The ids that have to be written down. */
const writtenDown = (entries: readonly SnapperEntry[]): GivenIds =>
  new Map(nameEntries(entries, none).flatMap(({ entry, id, isFresh }) => (isFresh ? [[snapshotKey(entry), id]] : [])));

const idsOf = (entries: readonly SnapperEntry[], given = none): ReadonlyMap<number, string> =>
  new Map(nameEntries(entries, given).map(({ entry, id }) => [entry.number, id]));

describe("ids of snapper's snapshots", () => {
  it("are those that were written down, or come from the moment", () => {
    expect([...idsOf([at(2, 7), at(1, 5, "20250101-000000")])]).toEqual([
      [1, "20250101-000000"],
      [2, "20260131-235907"],
    ]);
  });

  it("of one second are told apart, and those that were written down come first", () => {
    const entries = [at(1, 5), at(2, 5), at(3, 9, "20260131-235906")];
    expect(nameEntries(entries, none).map(({ id, isFresh }) => [id, isFresh])).toEqual([
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

  it("that were given to another moment, or are no ids, do not count, and neither does one that is taken", () => {
    const entries = [at(1, 5), at(2, 5), at(3, 7), at(4, 9, "20260131-235908")];
    const second = (number: number): string => snapshotKey(at(number, number === 3 ? 7 : 5));
    const given = new Map([
      [second(2), "20260131-235908"],
      [second(3), "../../etc"],
      [snapshotKey(at(1, 6)), "20260131-235901"],
    ]);
    expect([...idsOf(entries, given).values()]).toEqual([
      "20260131-235905",
      "20260131-235906",
      "20260131-235907",
      "20260131-235908",
    ]);
  });

  it("are all different, and stay when others come and go", () => {
    const ids = fc.option(fc.integer({ min: 0, max: 6 }), { nil: undefined });
    const some = fc.array(fc.tuple(fc.integer({ min: 0, max: 6 }), ids), { maxLength: 8 });
    fc.assert(
      fc.property(some, some, fc.infiniteStream(fc.boolean()), (before, later, stays) => {
        const make = ([second, id]: readonly [number, number | undefined], number: number): SnapperEntry =>
          at(number, second, id === undefined ? undefined : `20260131-23590${id}`);
        const first = before.map(make);
        const given = writtenDown(first);
        const known = idsOf(first);
        expect(new Set(known.values()).size).toBe(first.length);
        expect([...known.values()].every(isSnapshotId)).toBe(true);
        // Newer ones never have an id that is taken: it is asked for one before.
        const next = later.map(([second], index) => at(100 + index, second));
        const left = first.filter(() => stays.next().value);
        const now = idsOf([...left, ...next], given);
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
