import { expect, it } from "vitest";
import type { TimeSyncState } from "#domain/ports/host.ts";
import { createFakeClock } from "../../../../test/fakes/clock.ts";
import { createFakeTimeSync } from "../../../../test/fakes/time-sync.ts";
import { enableTimeSyncFix } from "./enable-time-sync.ts";

const { signal } = new AbortController();
const off: TimeSyncState = { canSync: true, isEnabled: false, isSynchronised: false, isContainer: false };
const on = { ...off, isEnabled: true };
const right = { ...on, isSynchronised: true };
const found = { status: "fail" as const, message: "", details: {} };

const start = async (afterwards: TimeSyncState | undefined) => {
  const clock = createFakeClock();
  const time = createFakeTimeSync(off, afterwards);
  const { steps } = await enableTimeSyncFix({ time, clock }).plan(found, signal);
  expect(time.now).toEqual(off);
  const controller = new AbortController();
  const done = Promise.all(steps.map(({ run }) => run(controller.signal))).then(
    ([message]) => message,
    (error: Error) => `failed: ${error.message}`,
  );
  // Until it waits.
  await clock.advance(0);
  return { clock, time, done, controller };
};

const synchronized = "Time synchronisation is on, and the clock is synchronised";

it("enable_time_sync waits up to 20 s for the clock", async () => {
  expect(await (await start(right)).done).toBe(synchronized);
  const { clock, time, done } = await start(on);
  await clock.advance(3_000);
  time.now = right;
  await clock.advance(500);
  expect(await done).toBe(synchronized);
  expect(clock.monotonicMs()).toBe(3_500);
  const never = await start(on);
  await never.clock.advance(20_000);
  expect(await never.done).toBe("Time synchronisation is on; the clock is not synchronised yet");
});

it("enable_time_sync fails when the service does not run, and ends with its signal", async () => {
  const failing = await start(off);
  await failing.clock.advance(20_000);
  expect(await failing.done).toMatch(/^failed: it was switched on, but its service does not run after 20 s/);
  const { clock, done, controller } = await start(on);
  await clock.advance(1_000);
  controller.abort(new Error("the service is stopping"));
  expect(await done).toBe("failed: the service is stopping");
});

it.each([
  ["no service that sets the clock is installed", { ...off, canSync: false }],
  ["no service that sets the clock is installed", undefined],
  ["time synchronisation is on already", on],
] as const)("enable_time_sync has nothing to do: %s", async (reason, state) => {
  const fix = enableTimeSyncFix({ time: createFakeTimeSync(state, right), clock: createFakeClock() });
  expect(await fix.plan(found, signal)).toEqual({ steps: [], reason });
});
