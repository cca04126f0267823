import { describe, expect, it } from "vitest";
import { createOfflineUnits } from "#adapters/systemd/offline.ts";
import type { UnitStates } from "#domain/ports/units.ts";
import { createFakeUnitStates, unitState } from "../fakes/unit-states.ts";

const installed: UnitStates = createOfflineUnits();
const offline = createFakeUnitStates([unitState("a.service", { loadState: "", activeState: "inactive" })]);

// On systemd itself this port is tried in test/host/checks-services.host.test.ts and unit-repair.host.test.ts.
describe.each([
  ["fake", offline],
  ["unit files", installed],
])("unit states without systemd: %s", (_, units: UnitStates) => {
  it("lists nothing as loaded or failed", async () => {
    const listed = await units.list();
    expect(listed.filter(({ loadState }) => loadState !== "")).toEqual([]);
    expect(listed.filter(({ activeState }) => activeState === "failed")).toEqual([]);
  });

  it("does not say that nothing has failed", async () => {
    expect(await units.failed()).toBeUndefined();
  });
});
