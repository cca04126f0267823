import { expect, it } from "vitest";
import { healthy, type Probe, unhealthy } from "#domain/ports/probe.ts";
import { createFakeClock } from "../../../../test/fakes/clock.ts";
import type { CheckSettings } from "../check.ts";
import { endpointsCheck } from "./endpoints.ts";

const { signal } = new AbortController();

/** @param given how long each address takes, and how it answers. */
async function run(
  given: Readonly<Record<string, readonly [ms: number, answer: Probe]>>,
  settings: Partial<CheckSettings> = {},
) {
  const clock = createFakeClock();
  const endpoints = Object.entries(given).map(([name, [ms, answer]]) => ({
    name,
    probe: async (over: AbortSignal) => {
      await clock.sleep(ms, over);
      return answer(over);
    },
  }));
  const outcome = endpointsCheck({ endpoints, clock }).run({ ignore: [], ...settings }, signal);
  await clock.advance(10_000);
  return outcome;
}
const good: Probe = () => Promise.resolve(healthy);

it("endpoints passes while all answer, grades latency by settings, and skips without addresses", async () => {
  expect(await run({ website: [900, good], database: [3, good] })).toEqual({
    status: "pass",
    message: "2 addresses answering as expected",
    details: {
      endpoints: [
        { name: "website", status: "pass", latency_ms: 900 },
        { name: "database", status: "pass", latency_ms: 3 },
      ],
    },
  });
  const limits = { warn: 200, fail: 1000 };
  expect(await run({ website: [199, good] }, limits)).toMatchObject({ status: "pass" });
  expect(await run({ website: [200, good] }, limits)).toMatchObject({
    status: "warn",
    message: "website took 200 ms to answer",
  });
  expect(await run({ website: [1000, good] }, limits)).toMatchObject({ status: "fail" });
  expect(await run({})).toMatchObject({ status: "skip" });
  expect(await run({ website: [1, good] }, { ignore: ["web*"] })).toMatchObject({ status: "skip" });
});

it("endpoints fails with the reason when one does not answer", async () => {
  const refused: Probe = () => Promise.reject(new Error("connect ECONNREFUSED 127.0.0.1:5432"));
  const ends: Probe = () => Promise.resolve(unhealthy("its certificate ends on 2026-01-09"));
  expect(await run({ website: [5, ends], database: [5, refused], other: [5, good] })).toMatchObject({
    status: "fail",
    message: "website: its certificate ends on 2026-01-09; database: connect ECONNREFUSED 127.0.0.1:5432",
  });
});
