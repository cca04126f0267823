import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createOfflineDetails, createOfflineUnits } from "#adapters/systemd/offline.ts";
import { type Units, UnitsUnavailable } from "#domain/ports/units.ts";
import { createFakeUnits } from "../fakes/units.ts";
import { directoryWith } from "./support/directories.ts";
import { failedUnitsSuite, unitsSuite } from "./units.suite.ts";

describe("units of the fake", () => {
  unitsSuite(() =>
    Promise.resolve({
      units: createFakeUnits([
        { name: "running.service", activeState: "active", subState: "running", mainPid: 5 },
        { name: "failing.service", jobResult: "failed", after: { activeState: "failed", result: "exit-code" } },
        { name: "masked.service", loadState: "masked" },
        { name: "refused.service", refusal: "Operation refused" },
      ]),
      ...{ running: "running.service", failing: "failing.service", masked: "masked.service" },
      refused: "refused.service",
      dispose: () => Promise.resolve(),
    }),
  );

  it("fail as the real ones do when systemd does not answer", async () => {
    const units = createFakeUnits();
    units.available = false;
    const restarted = units.restart("a.service", new AbortController().signal);
    for (const call of [units.list(), units.read("a.service"), restarted])
      await expect(call).rejects.toThrow(UnitsUnavailable);
  });
});

const failed = { activeState: "failed", subState: "failed", result: "exit-code" };

describe("failed units of the fake", () => {
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
  ["the fake", createFakeUnits([{ name: "a.service", loadState: "" }])],
  ["unit files", createOfflineUnits()],
])("units without systemd, of %s,", (_, units: Units) => {
  it("are listed, but neither as loaded nor as failed, and nothing is known of their states", async () => {
    const listed = await units.list();
    expect(listed.filter(({ loadState, activeState }) => loadState !== "" || activeState === "failed")).toEqual([]);
    const unknown = [await units.states(["a.service"]), await units.failed(), await units.loaded()];
    expect(unknown).toEqual([undefined, undefined, undefined]);
  });
});

describe("unit files", () => {
  const root = directoryWith({
    "etc/systemd/system/a.timer": "[Unit]\nDescription=A\n[Install]\nWantedBy=timers.target\n",
    "etc/systemd/system/a.service": "[Unit]\nDescription=A\n",
    "etc/systemd/system/timers.target.wants/.keep": "",
  });
  symlinkSync("../a.timer", join(root, "etc/systemd/system/timers.target.wants/a.timer"));

  it("can be listed and not acted on", async () => {
    const units = createOfflineUnits("/nonexistent");
    expect(await units.list()).toEqual([]);
    const refused = { details: { retryable: false } };
    const restarted = units.restart("a.service", new AbortController().signal);
    for (const work of [
      units.read("a.service"),
      restarted,
      units.resetFailed("a.service"),
      units.restartDetached("a.service"),
    ])
      await expect(work).rejects.toMatchObject(refused);
  });

  it("of each kind are listed with what they say and no more, and not inspected", async () => {
    const details = createOfflineDetails(root);
    const { units, total } = await details.list({ kinds: ["timer", "service"], activeState: undefined, limit: 1 });
    expect([units.map(({ name }) => name), total]).toEqual([["a.service"], 2]);
    const timers = await details.list({ kinds: ["timer"], activeState: undefined, limit: 9 });
    expect(timers.units).toEqual([
      {
        ...{ name: "a.timer", kind: "timer", description: "A", loadState: "", activeState: "inactive" },
        ...{ subState: "dead", unitFileState: "enabled", since: null, result: "" },
      },
    ]);
    expect((await details.list({ kinds: ["timer"], activeState: "active", limit: 9 })).total).toBe(0);
    await expect(details.inspect("a.service")).rejects.toThrow(UnitsUnavailable);
  });
});
