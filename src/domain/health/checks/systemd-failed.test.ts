import { expect, it } from "vitest";
import { createFakeUnits, type FakeUnit, runningUnit } from "../../../../test/fakes/units.ts";
import { systemdFailedCheck } from "./systemd-failed.ts";

const signal = new AbortController().signal;
const failed = (name: string) => runningUnit(name, { activeState: "failed", subState: "failed", result: "exit-code" });
const run = (units: readonly FakeUnit[], ignore: readonly string[] = []) =>
  systemdFailedCheck({ units: createFakeUnits(units) }).run({ ignore }, signal);

it("systemd_failed names failed units of every type with their reason, without ignored ones", async () => {
  expect(await run([runningUnit("a.service"), failed("b.service")])).toEqual({
    status: "fail",
    message: "1 unit failed: b.service (exit-code)",
    details: { units: [{ name: "b.service", result: "exit-code" }] },
  });
  const slice = runningUnit("a.target", { activeState: "failed", result: "" });
  expect(await run([slice, failed("mnt-x.mount")])).toMatchObject({
    message: "2 units failed: a.target, mnt-x.mount (exit-code)",
  });
  const units = [failed("b.service"), failed("job@1.service"), failed("job@2.service")];
  expect(await run(units, ["b.service", "job@*.service"])).toMatchObject({ status: "pass", details: { units: [] } });
  expect(await run(units, ["bXservice", "job@?"])).toMatchObject({ status: "fail" });
});

it("systemd_failed skips where systemd does not run", async () => {
  expect(await run([runningUnit("a.service", { loadState: "", activeState: "inactive" })])).toMatchObject({
    status: "skip",
  });
});
