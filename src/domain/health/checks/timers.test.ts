import { expect, it } from "vitest";
import { createFakeClock } from "../../../../test/fakes/clock.ts";
import { createFakeTimers, fakeTimer } from "../../../../test/fakes/timers.ts";
import type { CheckSettings } from "../check.ts";
import { timersCheck } from "./timers.ts";

const { signal } = new AbortController();
const hourMs = 3_600_000;
const clock = createFakeClock(Date.parse("2026-01-02T12:00:00Z"));
const hoursAgo = (hours: number): number => clock.now() - hours * hourMs;
const run = (timers: Parameters<typeof createFakeTimers>[0], settings: Partial<CheckSettings> = {}) =>
  timersCheck({ timers: createFakeTimers(timers), clock }).run({ ignore: [], ...settings }, signal);

it("timers passes while runs succeed, and fails where the last one failed", async () => {
  expect(await run([fakeTimer("backup"), fakeTimer("fstrim", { lastStartAt: null })])).toEqual({
    status: "pass",
    message: "The timers ran when they should, and their runs succeeded",
    details: { timers: [], active_count: 2 },
  });
  const failed = fakeTimer("backup", { unitActiveState: "failed", unitResult: "exit-code" });
  expect(await run([fakeTimer("fstrim"), failed])).toMatchObject({
    status: "fail",
    message:
      "the last run of backup.service, started by backup.timer, failed (exit-code; journalctl -u backup.service)",
    details: {
      timers: [
        {
          name: "backup.timer",
          unit: "backup.service",
          last_start_at: "2026-01-02T11:00:00.000Z",
          next_start_at: "2026-01-02T13:00:00.000Z",
          result: "exit-code",
        },
      ],
    },
  });
});

it("timers warns of endless runs and overdue timers, not of services that stay active", async () => {
  const running = (hours: number) =>
    fakeTimer("backup", { unitActiveState: "activating", unitSince: hoursAgo(hours), nextStartAt: null });
  expect(await run([running(23)])).toMatchObject({ status: "pass" });
  expect(await run([running(24)])).toMatchObject({
    status: "warn",
    message: "the run of backup.service, started by backup.timer, has not ended after 24 h",
  });
  expect(await run([running(3)], { warn: 1, fail: 3 })).toMatchObject({ status: "fail" });
  expect(await run([fakeTimer("backup", { nextStartAt: hoursAgo(23) })])).toMatchObject({ status: "pass" });
  expect(await run([fakeTimer("backup", { nextStartAt: hoursAgo(30) })])).toMatchObject({
    status: "warn",
    message: "backup.timer is overdue by 30 h",
  });
  const stays = fakeTimer("agent", { unitActiveState: "active", unitSince: hoursAgo(500), nextStartAt: null });
  expect(await run([stays])).toMatchObject({ status: "pass" });
});

it("timers leaves out ignored timers, and skips without any", async () => {
  const failed = fakeTimer("backup", { unitActiveState: "failed" });
  expect(await run([fakeTimer("fstrim"), failed], { ignore: ["backup.*"] })).toMatchObject({ status: "pass" });
  expect(await run([failed], { ignore: ["backup.timer"] })).toMatchObject({ status: "skip" });
  expect(await run([])).toMatchObject({ status: "skip", message: "No timer is active" });
  expect(await run(undefined)).toMatchObject({ status: "skip" });
});
