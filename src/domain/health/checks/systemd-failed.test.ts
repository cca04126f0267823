import { expect, it } from "vitest";
import { createFakeUnits, type FakeUnit, runningUnit } from "../../../../test/fakes/units.ts";
import { systemdFailedCheck } from "./systemd-failed.ts";

const signal = new AbortController().signal;
const failed = (name: string) => runningUnit(name, { activeState: "failed", subState: "failed", result: "exit-code" });
const run = (units: readonly FakeUnit[], ignore: readonly string[] = []) =>
  systemdFailedCheck({ units: createFakeUnits(units) }).run({ ignore }, signal);

it("names what failed and why", async () => {
  expect(await run([runningUnit("a.service"), failed("b.service")])).toEqual({
    status: "fail",
    message: "1 unit failed: b.service (exit-code)",
    details: { units: [{ name: "b.service", result: "exit-code" }] },
  });
});

it("names units of every kind, with the reason where they give one", async () => {
  const slice = runningUnit("a.target", { activeState: "failed", result: "" });
  expect(await run([slice, failed("mnt-x.mount")])).toMatchObject({
    message: "2 units failed: a.target, mnt-x.mount (exit-code)",
  });
});

it("leaves out what settings name, by pattern too", async () => {
  const units = [failed("b.service"), failed("job@1.service"), failed("job@2.service")];
  expect(await run(units, ["b.service", "job@*.service"])).toMatchObject({ status: "pass", details: { units: [] } });
  expect(await run(units, ["bXservice", "job@?"])).toMatchObject({ status: "fail" });
});

it("is skipped where systemd does not run: unit files alone are not loaded", async () => {
  expect(await run([runningUnit("a.service", { loadState: "", activeState: "inactive" })])).toMatchObject({
    status: "skip",
  });
});
