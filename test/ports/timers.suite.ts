import { expect, it } from "vitest";
import type { Timers } from "#domain/ports/units.ts";

/** @param open timers, with `failing.timer` among them, which runs hourly since boot and whose first run has just failed. */
export function timersSuite(open: () => Promise<Timers>): void {
  it("reports each timer what it starts, when, and how that ended", async () => {
    const timers = (await (await open()).list()) ?? [];
    expect(timers.map(({ name }) => name)).toEqual(timers.map(({ name }) => name).toSorted());
    const failing = timers.find(({ name }) => name === "failing.timer");
    expect(failing).toMatchObject({ unit: "failing.service", unitActiveState: "failed", unitResult: "exit-code" });
    const { lastStartAt = 0, nextStartAt = 0 } = failing ?? {};
    expect(Math.abs(Date.now() - Number(lastStartAt))).toBeLessThan(10 * 60_000);
    expect(Number(nextStartAt) - Date.now()).toBeGreaterThan(30 * 60_000);
    expect(Number(nextStartAt) - Date.now()).toBeLessThanOrEqual(61 * 60_000);
  });
}
