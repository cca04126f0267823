import { expect, it } from "vitest";
import { createFakeClock } from "../../../../test/fakes/clock.ts";
import { createFakeUnitMemories, fakeUnitMemory } from "../../../../test/fakes/unit-memories.ts";
import type { CheckSettings } from "../check.ts";
import { unitMemoryCheck } from "./unit-memory.ts";

const { signal } = new AbortController();
const gibibyte = 2 ** 30;

function watch(units: Parameters<typeof createFakeUnitMemories>[0]) {
  const clock = createFakeClock();
  const unitMemories = createFakeUnitMemories(units);
  const check = unitMemoryCheck({ unitMemories, clock });
  const run = (settings: Partial<CheckSettings> = {}) => check.run({ ignore: [], ...settings }, signal);
  return { clock, unitMemories, run };
}

it("unit_memory grades the memory of units within their limits, and skips without accounting", async () => {
  const { run } = watch([fakeUnitMemory(), fakeUnitMemory({ name: "cron.service", limitBytes: null, oomKills: 3 })]);
  expect(await run()).toEqual({
    status: "pass",
    message: "No unit is short of memory",
    details: { units: [], units_with_limit_count: 1 },
  });
  const using = (share: number) => watch([fakeUnitMemory({ usedBytes: share * gibibyte })]);
  expect(await using(0.89).run()).toMatchObject({ status: "pass" });
  expect(await using(0.9).run()).toMatchObject({
    status: "warn",
    message: "app.service uses 90 % of its limit of 1.0 GiB (MemoryMax=)",
    details: { units: [{ name: "app.service", limit_bytes: gibibyte, oom_kills_in_24_h: 0 }] },
  });
  expect(await using(0.97).run()).toMatchObject({ status: "fail" });
  expect(await using(0.5).run({ warn: 20, fail: 40 })).toMatchObject({ status: "fail" });
  expect(await using(0.97).run({ ignore: ["app.*"] })).toMatchObject({ status: "pass" });
  expect(await watch(undefined).run()).toMatchObject({ status: "skip" });
});

it("unit_memory warns for a day of an OOM kill since the last run", async () => {
  const { run, unitMemories, clock } = watch([fakeUnitMemory({ oomKills: 2 })]);
  expect(await run()).toMatchObject({ status: "pass" });
  unitMemories.units = [fakeUnitMemory({ oomKills: 3 })];
  const killed = { status: "warn", message: "the OOM killer killed 1 process of app.service" };
  expect(await run()).toMatchObject(killed);
  await clock.advance(23 * 3_600_000);
  expect(await run()).toMatchObject(killed);
  await clock.advance(3_600_000);
  expect(await run()).toMatchObject({ status: "pass" });
});

it("unit_memory counts OOM kills anew after a restart of the unit", async () => {
  const { run, unitMemories } = watch([fakeUnitMemory({ oomKills: 2 })]);
  await run();
  unitMemories.units = [fakeUnitMemory({ oomKills: 0 })];
  expect(await run()).toMatchObject({ status: "pass" });
  unitMemories.units = [fakeUnitMemory({ oomKills: 1 }), fakeUnitMemory({ name: "new.service", oomKills: 2 })];
  expect(await run()).toMatchObject({
    status: "warn",
    message: "the OOM killer killed 1 process of app.service; the OOM killer killed 2 processes of new.service",
  });
});
