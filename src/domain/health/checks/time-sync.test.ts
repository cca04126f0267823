import { expect, it } from "vitest";
import { createFakeClock } from "../../../../test/fakes/clock.ts";
import { createFakeTimeSync } from "../../../../test/fakes/time-sync.ts";
import { enableTimeSyncFix } from "../fixes/enable-time-sync.ts";
import { timeSyncCheck } from "./time-sync.ts";

const good = { canSync: true, isEnabled: true, isSynchronised: true, isContainer: false };
const off = { ...good, isEnabled: false };

it.each([
  ["pass", "in order", good],
  ["warn", "on without a server in reach", { ...good, isSynchronised: false }],
  ["fail", "off, though the clock is still right", off],
  ["fail", "off", { ...off, isSynchronised: false }],
  ["pass", "kept right by a service that systemd does not know", { ...off, canSync: false }],
  ["skip", "without such a service", { ...off, canSync: false, isSynchronised: false }],
  ["pass", "in a container on a machine in order", { ...off, isContainer: true }],
  ["pass", "set by another daemon than systemd's, which is off", { ...off, otherDaemon: "chronyd" }],
  ["warn", "set by another daemon without a server in reach", { ...off, isSynchronised: false, otherDaemon: "ntpd" }],
  ["skip", "that nothing reports", undefined],
] as const)("time_sync is %s for a clock %s", async (status, _, state) => {
  const check = timeSyncCheck({ time: createFakeTimeSync(state) });
  expect(await check.run({ ignore: [] }, new AbortController().signal)).toMatchObject({ status });
});

it("time_sync is fixable only where synchronization is off", async () => {
  const run = (state: Parameters<typeof createFakeTimeSync>[0]) =>
    timeSyncCheck({ time: createFakeTimeSync(state) }).run({ ignore: [] }, new AbortController().signal);
  expect((await run(off)).fixId).toBeUndefined();
  for (const state of [
    { ...good, isSynchronised: false },
    { ...off, canSync: false, isSynchronised: false },
    undefined,
  ])
    expect((await run(state)).fixId).toBeNull();
});

it("time_sync skips an unsynchronized clock on an isolated host", async () => {
  const run = (state: Parameters<typeof createFakeTimeSync>[0]) =>
    timeSyncCheck({ time: createFakeTimeSync(state) }).run(
      { ignore: [], isIsolated: true },
      new AbortController().signal,
    );
  for (const state of [{ ...good, isSynchronised: false }, off, { ...off, isSynchronised: false }])
    expect(await run(state)).toMatchObject({
      status: "skip",
      message: "Nothing sets the clock, as expected on an isolated host",
      fixId: null,
      details: { synchronised: state.isSynchronised },
    });
  expect(await run(good)).toMatchObject({ status: "pass" });
});

it("the fix of time synchronisation starts no second service beside another that sets the clock", async () => {
  const fix = enableTimeSyncFix({
    time: createFakeTimeSync({ ...off, isSynchronised: false, otherDaemon: "chronyd" }, good),
    clock: createFakeClock(),
  });
  expect(await fix.plan({ status: "warn", message: "", details: {} }, new AbortController().signal)).toEqual({
    steps: [],
    reason: "chronyd sets the clock, and a second service would work against it",
  });
});
