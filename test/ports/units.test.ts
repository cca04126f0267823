import { describe, expect, it } from "vitest";
import { createOfflineUnits } from "#adapters/systemd/offline.ts";
import { type Units, UnitsUnavailable } from "#domain/ports/units.ts";
import { createFakeUnits } from "../fakes/units.ts";
import { failedUnitsSuite, unitsSuite } from "./units.suite.ts";

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

const failed = { activeState: "failed", subState: "failed", result: "exit-code" };

describe("failed units: fake", () => {
  failedUnitsSuite(() =>
    Promise.resolve({
      units: createFakeUnits([
        { name: "good.service", ...failed },
        { name: "mnt-good.mount", ...failed },
        { name: "bad.service", ...failed, jobResult: "failed", after: failed },
      ]),
      recovering: ["good.service", "mnt-good.mount"],
      failing: "bad.service",
      dispose: () => Promise.resolve(),
    }),
  );
});

describe.each([
  ["fake", createFakeUnits([{ name: "a.service", loadState: "" }])],
  ["unit files", createOfflineUnits()],
])("units without systemd: %s", (_, units: Units) => {
  it("knows no states", async () => {
    expect(await units.states(["a.service"])).toBeUndefined();
  });

  it("lists nothing as loaded or failed", async () => {
    const listed = await units.list();
    expect(listed.filter(({ loadState }) => loadState !== "")).toEqual([]);
    expect(listed.filter(({ activeState }) => activeState === "failed")).toEqual([]);
  });

  it("does not say that nothing has failed", async () => {
    expect(await units.failed()).toBeUndefined();
    expect(await units.loaded()).toBeUndefined();
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
