import { expect, it } from "vitest";
import { createFakeClockOffsets } from "../../../../test/fakes/clock-offsets.ts";
import { clockOffsetCheck } from "./clock-offset.ts";

const { signal } = new AbortController();
const run = (offsetMs: number, settings: { readonly warn?: number; readonly fail?: number } = {}) =>
  clockOffsetCheck({
    clockOffsets: createFakeClockOffsets({ program: "chrony", server: "192.0.2.1", offsetMs, stratum: 3 }),
  }).run({ ignore: [], ...settings }, signal);

it("grades how far the clock is away, in either direction", async () => {
  expect(await run(-0.0123)).toEqual({
    status: "pass",
    message: "The clock is 0.012 ms ahead of 192.0.2.1",
    details: { offset_ms: -0.012, program: "chrony", server: "192.0.2.1", stratum: 3 },
  });
  expect(await run(99)).toMatchObject({ status: "pass" });
  expect(await run(100)).toMatchObject({
    status: "warn",
    message: "The clock is 100 ms behind 192.0.2.1 (look at chrony and its source)",
  });
  expect(await run(-1000)).toMatchObject({ status: "fail" });
  expect(await run(5, { warn: 1, fail: 5 })).toMatchObject({ status: "fail" });
});

it("skips without a program that knows", async () => {
  const check = clockOffsetCheck({ clockOffsets: createFakeClockOffsets() });
  expect(await check.absent?.()).toMatchObject({ status: "skip" });
  expect(await check.run({ ignore: [] }, signal)).toMatchObject({ status: "skip" });
});
