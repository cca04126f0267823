import { afterAll, beforeAll, expect, it } from "vitest";
import type { UnitRepair } from "#domain/ports/units.ts";

/** Units that the suite needs to find, all of them failed. */
export interface UnitsToRepair {
  readonly units: UnitRepair;
  /** A service and a mount that start well by now. */
  readonly recovering: readonly string[];
  /** One that fails again. */
  readonly failing: string;
  readonly dispose: () => Promise<void>;
}

/** What every implementation of the port does; run on the fake here, and on real systemd in the test host. */
export function unitRepairSuite(make: () => Promise<UnitsToRepair>): void {
  let under: UnitsToRepair;
  const { signal } = new AbortController();
  beforeAll(async () => {
    under = await make();
  });
  afterAll(() => under.dispose());

  it("reads failed units of several kinds", async () => {
    for (const name of [...under.recovering, under.failing]) {
      expect(await under.units.read(name)).toMatchObject({ name, loadState: "loaded", activeState: "failed" });
      expect((await under.units.read(name)).result).not.toBe("success");
    }
  });

  it("starts them again", async () => {
    for (const name of under.recovering) {
      await under.units.resetFailed(name);
      expect(await under.units.restart(name, signal)).toBe("done");
      await under.units.settled(name, 10);
      expect(await under.units.read(name)).toMatchObject({ activeState: "active", result: "success" });
    }
  });

  it("says that the job of one failed", async () => {
    const before = await under.units.read(under.failing);
    expect(await under.units.restart(under.failing, signal)).toBe("failed");
    const after = await under.units.read(under.failing);
    expect(after.activeState).toBe("failed");
    expect(after.since).not.toBe(before.since);
  });

  it("tells an unknown one by its load state, whatever its kind", async () => {
    for (const name of ["no-such.service", "no-such.socket", "no-such.target"])
      expect(await under.units.read(name)).toMatchObject({ name, loadState: "not-found" });
  });
}
