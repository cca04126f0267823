import { expect, it } from "vitest";
import { createFakeTimeSync } from "../../../../test/fakes/time-sync.ts";
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
  ["skip", "that nothing tells of", undefined],
] as const)("says %s of a clock %s", async (status, _, state) => {
  const check = timeSyncCheck({ time: createFakeTimeSync(state) });
  expect(await check.run({ ignore: [] }, new AbortController().signal)).toMatchObject({ status });
});

it("has a fix where it is off, and none where no server is in reach or nothing is installed", async () => {
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

it("says nothing of a clock that nobody can set on a host that is meant to be isolated, and passes where somebody does", async () => {
  const run = (state: Parameters<typeof createFakeTimeSync>[0]) =>
    timeSyncCheck({ time: createFakeTimeSync(state) }).run(
      { ignore: [], isIsolated: true },
      new AbortController().signal,
    );
  for (const state of [{ ...good, isSynchronised: false }, off, { ...off, isSynchronised: false }])
    expect(await run(state)).toMatchObject({
      status: "skip",
      message: "The clock is set by nobody, as on a host that is meant to have no way out (isolated)",
      fixId: null,
      details: { synchronised: state.isSynchronised },
    });
  expect(await run(good)).toMatchObject({ status: "pass" });
});
