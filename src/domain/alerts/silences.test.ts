import { beforeEach, describe, expect, it } from "vitest";
import { createFakeAlertStore, type FakeAlertStore } from "../../../test/fakes/alert-store.ts";
import { createFakeClock, type FakeClock } from "../../../test/fakes/clock.ts";
import { createSilences } from "./silences.ts";

let clock: FakeClock;
let store: FakeAlertStore;
let ids: number;
beforeEach(() => {
  clock = createFakeClock();
  store = createFakeAlertStore();
  ids = 0;
});
const open = (onTrouble: (error: unknown) => void = () => undefined) =>
  createSilences({
    store,
    clock,
    createId() {
      ids += 1;
      return `s${ids}`;
    },
    onTrouble,
  });
const wanted = (forMs: number) => ({
  alert: "DiskSpaceLow" as const,
  until: clock.now() + forMs,
  comment: "moving data",
  createdBy: "admin",
});

describe("a silence", () => {
  it("of a check does not hold for alerts and other checks", () => {
    const silences = open();
    const { alert, ...rest } = wanted(60_000);
    silences.add({ ...rest, check: "disk_space" });
    expect(
      [{ check: "disk_space" }, { check: "memory" }, { alert }, { alert: "HighCPUUsage" as const }].map(
        silences.isSilenced,
      ),
    ).toEqual([true, false, false, false]);
    expect(open().list()).toEqual(silences.list());
  });

  it("made while the clock was years ahead ends once it is right, and one of 30 days outlives a small step", () => {
    const silences = open();
    const dayMs = 24 * 60 * 60_000;
    silences.add(wanted(30 * dayMs));
    clock.set(clock.now() - 60 * 60_000);
    expect(silences.isSilenced({ alert: "DiskSpaceLow" })).toBe(true);
    clock.set(clock.now() - 365 * dayMs);
    expect(silences.isSilenced({ alert: "DiskSpaceLow" })).toBe(false);
    expect([silences.list(), store.silences()]).toEqual([[], []]);
  });

  it("outlives the process, and can be removed by the next one", () => {
    const { id } = open().add(wanted(60_000));
    const next = open();
    expect(next.list()).toMatchObject([{ id, comment: "moving data", createdBy: "admin", createdAt: clock.now() }]);
    next.remove(id);
    expect([next.isSilenced({ alert: "DiskSpaceLow" }), open().list()]).toEqual([false, []]);
  });

  it("that cannot be stored is refused, and does not hold", () => {
    const silences = open();
    store.fault = new Error("disk full");
    expect(() => silences.add(wanted(60_000))).toThrow("disk full");
    expect(silences.isSilenced({ alert: "DiskSpaceLow" })).toBe(false);
  });

  it("that cannot be removed from the store ends all the same, and the error is logged once", async () => {
    const troubles: unknown[] = [];
    const silences = open((error) => void troubles.push(error));
    silences.add(wanted(60_000));
    store.fault = new Error("disk full");
    await clock.advance(60_000);
    expect([silences.isSilenced({ alert: "DiskSpaceLow" }), silences.isSilenced({ alert: "DiskSpaceLow" })]).toEqual([
      false,
      false,
    ]);
    expect(troubles).toHaveLength(1);
  });
});
