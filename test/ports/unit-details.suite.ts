import { afterAll, beforeAll, expect, it } from "vitest";
import type { UnitDetails } from "#domain/ports/unit-details.ts";

interface Under {
  readonly details: UnitDetails;
  /** Puts the file of a timer where systemd finds it, without starting the timer. */
  readonly install: (name: string) => Promise<void>;
  readonly dispose: () => void;
}

/** @param open details of units among which `suite-told` is a running service, a socket and a timer of it. */
export function unitDetailsSuite(open: () => Promise<Under>): void {
  let under: Under;
  beforeAll(async () => {
    under = await open();
  });
  afterAll(() => under.dispose());
  const all = { activeState: undefined, limit: 1000 } as const;

  it("describe a service that runs, and of one that does not exist", async () => {
    const reported = await under.details.inspect("suite-told.service");
    expect(reported).toMatchObject({
      name: "suite-told.service",
      names: ["suite-told.service"],
      activeState: "active",
    });
    expect(await under.details.inspect("suite-none.service")).toMatchObject({ loadState: "not-found" });
  });

  it("list units of the kinds that are wanted, by name, each with what its kind reports", async () => {
    const { units, total } = await under.details.list({ kinds: ["timer", "socket", "service"], ...all });
    const names = units.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)].toSorted());
    expect(total).toBe(units.length);
    const found = (name: string) => units.find((each) => each.name === name);
    expect(found("suite-told.service")).toMatchObject({ kind: "service", activeState: "active" });
    expect(found("suite-told.socket")).toMatchObject({
      kind: "socket",
      socket: { units: ["suite-told.service"], listens: [{ type: "Stream", address: "/run/suite-told.sock" }] },
    });
    const timer = found("suite-told.timer")?.timer;
    expect(timer?.unit).toBe("suite-told.service");
    expect(Number(timer?.nextAt)).toBeGreaterThan(Date.now());
    const mounts = await under.details.list({ kinds: ["mount"], ...all });
    expect(mounts.units.every(({ kind }) => kind === "mount")).toBe(true);
  });

  it("count what matches before the limit", async () => {
    const query = { kinds: ["timer", "socket"], activeState: "active" } as const;
    const { units, total } = await under.details.list({ ...query, limit: 1 });
    expect(units).toHaveLength(1);
    expect(total).toBeGreaterThan(1);
    const none = { kinds: ["timer"], activeState: "no-such-state", limit: 9 } as const;
    expect(await under.details.list(none)).toEqual({ units: [], total: 0 });
  });

  it("list a unit as soon as its file is there", async () => {
    const timers = { kinds: ["timer"], ...all } as const;
    const before = await under.details.list(timers);
    for (const name of ["suite-first.timer", "suite-second.timer"]) {
      await under.install(name);
      const { units } = await under.details.list(timers);
      expect(units.find((each) => each.name === name)).toMatchObject({ kind: "timer", activeState: "inactive" });
    }
    expect((await under.details.list(timers)).total).toBe(before.total + 2);
  });
}
