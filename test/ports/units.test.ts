import { describe, expect, it } from "vitest";
import { createOfflineUnits } from "#adapters/systemd/offline.ts";
import { UnitsUnavailable } from "#domain/ports/units.ts";
import { createFakeUnits } from "../fakes/units.ts";
import { unitsSuite } from "./units.suite.ts";

describe("units: fake", () => {
  unitsSuite(() =>
    Promise.resolve({
      units: createFakeUnits([
        { name: "running.service", activeState: "active", subState: "running", mainPid: 5 },
        { name: "failing.service", jobResult: "failed", after: { activeState: "failed", result: "exit-code" } },
        { name: "masked.service", loadState: "masked" },
        { name: "refused.service", refusal: "Operation refused" },
      ]),
      running: "running.service",
      failing: "failing.service",
      masked: "masked.service",
      refused: "refused.service",
      dispose: () => Promise.resolve(),
    }),
  );

  it("fails as the real one does when systemd does not answer", async () => {
    const units = createFakeUnits();
    units.available = false;
    for (const call of [
      units.list(),
      units.read("a.service"),
      units.restart("a.service", new AbortController().signal),
    ]) {
      await expect(call).rejects.toThrow(UnitsUnavailable);
    }
  });
});

describe("units: without systemd", () => {
  it("can be listed and not acted on", async () => {
    const units = createOfflineUnits("/nonexistent");
    expect(await units.list()).toEqual([]);
    const refused = { details: { retryable: false } };
    await expect(units.read("a.service")).rejects.toMatchObject(refused);
    await expect(units.restart("a.service", new AbortController().signal)).rejects.toMatchObject(refused);
    await expect(units.resetFailed("a.service")).rejects.toMatchObject(refused);
    await expect(units.restartDetached("a.service")).rejects.toMatchObject(refused);
  });
});
