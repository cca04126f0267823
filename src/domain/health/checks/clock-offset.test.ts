import { describe, expect, it } from "vitest";
import { createFakeClock } from "../../../../test/fakes/clock.ts";
import { createFakeClockOffsets } from "../../../../test/fakes/clock-offsets.ts";
import type { CheckSettings, Outcome } from "../check.ts";
import { clockOffsetCheck } from "./clock-offset.ts";

const { signal } = new AbortController();
const clock = createFakeClock();
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** @param agoMs how long ago the source answered last; below zero in the future. */
const run = (offsetMs: number, settings: Partial<CheckSettings> = {}, agoMs = minuteMs) =>
  clockOffsetCheck({
    clockOffsets: createFakeClockOffsets({
      program: "chrony",
      server: "192.0.2.1",
      offsetMs,
      stratum: 3,
      answeredAt: clock.now() - agoMs,
    }),
    clock,
  }).run({ ignore: [], ...settings }, signal);

it("clock_offset grades the offset in either direction, up to decades, and fails without a number", async () => {
  expect(await run(-0.0123)).toEqual({
    status: "pass",
    message: "The clock is 0.012 ms ahead of 192.0.2.1",
    details: {
      offset_ms: -0.012,
      program: "chrony",
      server: "192.0.2.1",
      stratum: 3,
      last_answer_at: "2025-12-31T23:59:00.000Z",
    },
    thresholds: { offset_ms: { warn: -100, fail: -1000 } },
  });
  expect(await run(99)).toMatchObject({ status: "pass" });
  expect(await run(100)).toMatchObject({
    status: "warn",
    message: "The clock is 100 ms behind 192.0.2.1 (look at chrony and its source)",
  });
  expect(await run(-1000)).toMatchObject({ status: "fail" });
  expect(await run(5, { warn: 1, fail: 5 })).toMatchObject({ status: "fail" });
  for (const offsetMs of [0, -0, -0.0001])
    expect(await run(offsetMs)).toMatchObject({
      status: "pass",
      message: "The clock agrees with 192.0.2.1",
      details: { offset_ms: 0 },
    });
  for (const offsetMs of [3 * hourMs, -3 * hourMs, 56 * 365 * 24 * hourMs])
    expect(await run(offsetMs)).toMatchObject({ status: "fail", details: { offset_ms: offsetMs } });
  await expect(run(Number.NaN)).rejects.toThrow("not a number");
});

it("clock_offset skips without a time daemon", async () => {
  const check = clockOffsetCheck({ clockOffsets: createFakeClockOffsets(), clock });
  expect(await check.absent?.()).toMatchObject({ status: "skip" });
  expect(await check.run({ ignore: [] }, signal)).toMatchObject({ status: "skip" });
});

it("clock_offset keeps its grade while a clock swings around the threshold", async () => {
  let found: Outcome = await run(120);
  for (const offsetMs of [-120, 99, -98, 99]) {
    found = await run(offsetMs, {
      previous: { status: found.status, ...(found.graded && { objects: found.graded }) },
    });
    expect([offsetMs, found.status]).toEqual([offsetMs, "warn"]);
  }
  expect(found.message).toBe(
    "The clock is 99 ms behind 192.0.2.1 (look at chrony and its source) (this check stays at warn until below 97.5 ms)",
  );
});

describe("clock_offset after the clock was set back since the last answer", () => {
  it.each([
    ["that found it right", 0.2],
    ["that found it away a little", 150],
    // The program that found it may have set it back itself.
    ["that found it ahead by as much", -3 * hourMs],
  ])("%s, warns that the offset is not known", async (_, offsetMs) => {
    const found = await run(offsetMs, {}, -3 * hourMs);
    expect(found).toEqual({
      status: "warn",
      message:
        "The clock was set back after the last answer of 192.0.2.1, which is now 180 min in the future: the offset is unknown (look at chrony and its source)",
      details: expect.objectContaining({ offset_ms: offsetMs, last_answer_at: "2026-01-01T03:00:00.000Z" }),
      graded: {},
      thresholds: { offset_ms: { warn: expect.any(Number), fail: expect.any(Number) } },
    });
  });

  it("that found it too far behind, fails", async () => {
    expect(await run(2000, {}, -3 * hourMs)).toMatchObject({
      status: "fail",
      message: "The clock is 2000 ms behind 192.0.2.1 (look at chrony and its source)",
    });
  });

  it("passes once there is a new answer", async () => {
    const { status, graded = {} } = await run(0.2, {}, -3 * hourMs);
    expect(await run(99, { previous: { status, objects: graded } }, 0)).toMatchObject({ status: "pass" });
  });

  it("by less than a minute, passes; so it does without a time of the answer", async () => {
    expect(await run(0.2, {}, -minuteMs)).toMatchObject({ status: "pass" });
    const check = clockOffsetCheck({
      clockOffsets: createFakeClockOffsets({
        program: "ntpd",
        server: "",
        offsetMs: 1,
        stratum: 2,
        answeredAt: undefined,
      }),
      clock,
    });
    expect(await check.run({ ignore: [] }, signal)).toMatchObject({
      status: "pass",
      message: "The clock is 1 ms behind its source",
      details: { last_answer_at: null },
    });
  });
});
