import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Units } from "#domain/ports/units.ts";
import { UnitRefused } from "#domain/ports/units.ts";

/** Units that the suite needs to find: what each is called, and how it behaves. */
export interface UnitsUnderTest {
  readonly units: Units;
  /** A unit that is running and starts again well. */
  readonly running: string;
  /** A unit whose start fails. */
  readonly failing: string;
  readonly masked: string;
  /** A unit that systemd refuses to start by hand. */
  readonly refused: string;
  readonly dispose: () => Promise<void>;
}

/** What every implementation of the Units port does; run on the fake here, and on real systemd in the test host. */
export function unitsSuite(make: () => Promise<UnitsUnderTest>): void {
  let under: UnitsUnderTest;
  const signal = new AbortController().signal;
  beforeAll(async () => {
    under = await make();
  });
  afterAll(() => under.dispose());

  it("lists units by name, each once", async () => {
    const names = (await under.units.list()).map(({ name }) => name);
    expect(names).toContain(under.running);
    expect(names).toContain(under.masked);
    expect(names).toEqual([...new Set(names)].sort());
  });

  it("says which are loaded", async () => {
    const loadedNames = async () => ((await under.units.loaded()) ?? []).map(({ name }) => name).sort();
    const listedNames = async () =>
      (await under.units.list()).filter(({ loadState }) => loadState !== "").map(({ name }) => name);
    expect(await loadedNames()).toContain(under.running);
    // Until no unit comes or goes between the two.
    await expect
      .poll(async () => ({ loaded: await loadedNames(), listed: await listedNames() }))
      .toSatisfy(({ loaded, listed }) => isDeepStrictEqual(loaded, listed));
  });

  it("reads a unit as it is listed", async () => {
    const listed = (await under.units.list()).find(({ name }) => name === under.running);
    const { name, activeState, subState, mainPid, loadState, result } = await under.units.read(under.running);
    expect({ name, activeState, subState, mainPid, loadState, result }).toMatchObject({
      ...(listed && { mainPid: listed.mainPid }),
      name: under.running,
    });
    expect([activeState, subState, loadState, result]).toEqual(["active", "running", "loaded", "success"]);
    expect(mainPid).toBeGreaterThan(0);
  });

  it("reports the states of units of every kind, and of those named", async () => {
    const states = await under.units.states(["no-such-thing.service"]);
    const stateOf = (name: string) => states?.find((each) => each.name === name);
    expect(stateOf(under.running)).toMatchObject({
      activeState: "active",
      subState: "running",
      staysActive: true,
      hasFile: true,
    });
    expect(stateOf("no-such-thing.service")).toMatchObject({ loadState: "not-found", staysActive: false });
    expect(new Set(states?.map(({ name }) => name)).size).toBe(states?.length);
  });

  it("reports unknown and masked units by their load state", async () => {
    expect(await under.units.read("no-such-thing.service")).toMatchObject({
      name: "no-such-thing.service",
      loadState: "not-found",
    });
    expect(await under.units.read(under.masked)).toMatchObject({ loadState: "masked" });
  });

  it("restarts a unit and waits for its job", async () => {
    const before = await under.units.read(under.running);
    expect(await under.units.restart(under.running, signal)).toBe("done");
    const after = await under.units.read(under.running);
    expect(after.activeState).toBe("active");
    expect(after.mainPid).not.toBe(before.mainPid);
  });

  it("gives the result of a job that fails, and forgets the failure when asked to", async () => {
    expect(await under.units.restart(under.failing, signal)).toBe("failed");
    expect(await under.units.read(under.failing)).toMatchObject({ activeState: "failed", result: "exit-code" });
    await under.units.resetFailed(under.failing);
    expect(await under.units.read(under.failing)).toMatchObject({ activeState: "inactive", result: "success" });
  });

  it("passes on what systemd refuses", async () => {
    await expect(under.units.restart(under.refused, signal)).rejects.toThrow(UnitRefused);
  });

  it("settles", async () => {
    expect(await under.units.settled(under.running, 10)).toMatchObject({ name: under.running, activeState: "active" });
  });
}

/** Units that the suite needs to find, all of them failed. */
export interface FailedUnits {
  readonly units: Units;
  /** A service and a mount that start well by now. */
  readonly recovering: readonly string[];
  /** One that fails again. */
  readonly failing: string;
  readonly dispose: () => Promise<void>;
}

/** What every implementation does with units that have failed, whatever their kind. */
export function failedUnitsSuite(make: () => Promise<FailedUnits>): void {
  let under: FailedUnits;
  const { signal } = new AbortController();
  beforeAll(async () => {
    under = await make();
  });
  afterAll(() => under.dispose());

  it("lists and reads failed units of several kinds", async () => {
    const listed = (await under.units.failed())?.map(({ name }) => name);
    for (const name of [...under.recovering, under.failing]) {
      expect(listed).toContain(name);
      expect(await under.units.read(name)).toMatchObject({ name, loadState: "loaded", activeState: "failed" });
      expect((await under.units.read(name)).result).not.toBe("success");
    }
  });

  it("starts them again", async () => {
    for (const name of under.recovering) {
      await under.units.resetFailed(name);
      expect(await under.units.restart(name, signal)).toBe("done");
      expect(await under.units.settled(name, 10)).toMatchObject({ activeState: "active", result: "success" });
    }
  });

  it("says that the job of one failed", async () => {
    const before = await under.units.read(under.failing);
    expect(await under.units.restart(under.failing, signal)).toBe("failed");
    const after = await under.units.read(under.failing);
    expect(after.activeState).toBe("failed");
    expect(after.since).not.toBe(before.since);
  });

  it("reports an unknown one by its load state, whatever its kind", async () => {
    for (const name of ["no-such.service", "no-such.socket", "no-such.target"])
      expect(await under.units.read(name)).toMatchObject({ name, loadState: "not-found" });
  });
}
