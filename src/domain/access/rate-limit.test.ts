import { expect, it } from "vitest";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import { createFakeWindowStore } from "../../../test/fakes/window-store.ts";
import { createRateLimiter, type Decision, type RateLimiter, type Window } from "./rate-limit.ts";

const windows: readonly [Window, Window] = [
  { name: "permin", quota: 100, seconds: 60 },
  { name: "perhour", quota: 1000, seconds: 3600, isStored: true },
];
const minute = 60_000;

function start() {
  const clock = createFakeClock();
  const store = createFakeWindowStore(clock);
  return { clock, store, make: () => createRateLimiter({ clock, windows, store }) };
}

function take(limiter: RateLimiter, count: number, subject = "key"): Decision {
  let decision = limiter.take(subject);
  for (let taken = 1; taken < count; taken += 1) decision = limiter.take(subject);
  return decision;
}
const leftOfHour = ({ windows: states }: Decision): number | undefined => states[1]?.remaining;

it("a rate limit keeps the count of the hour over a restart, and not that of the minute", async () => {
  const { clock, store, make } = start();
  const first = make();
  for (let minutes = 0; minutes < 3; minutes += 1) {
    expect(take(first, 100).allowed).toBe(true);
    await clock.advance(minute);
  }
  first.flush();
  const saves = store.saves();
  expect(saves).toBeLessThanOrEqual(300 / 20 + 1);
  const second = make();
  await clock.advance(10 * minute);
  expect(take(second, 100, "other").allowed).toBe(true);
  for (let minutes = 0; minutes < 7; minutes += 1) {
    expect(take(second, 100).allowed).toBe(true);
    await clock.advance(minute);
  }
  const refused = take(second, 1);
  expect(refused).toMatchObject({ allowed: false, tightest: { window: { name: "perhour" }, remaining: 0 } });
  expect(refused.tightest.endsInMs).toBe(40 * minute);
  await clock.advance(40 * minute);
  expect(take(second, 1).allowed).toBe(true);
});

it("a crash gives a key no requests back, and costs it at most 40", () => {
  const { store, make } = start();
  for (const taken of [1, 20, 21, 22, 60]) {
    const before = take(make(), 1, `key-${taken}`);
    expect(leftOfHour(before)).toBe(999);
    const crashed = make();
    take(crashed, taken, `crashed-${taken}`);
    const after = leftOfHour(take(make(), 1, `crashed-${taken}`)) ?? NaN;
    expect(after).toBeLessThanOrEqual(1000 - taken - 1);
    expect(after).toBeGreaterThanOrEqual(1000 - taken - 1 - 40);
  }
  expect(store.load().every(({ name }) => name === "perhour")).toBe(true);
});

it("a high rate limit is stored seldom, and a crash costs no larger share of it", () => {
  const { clock, store } = start();
  const hour: Window = { name: "perhour", quota: 100_000, seconds: 3600, isStored: true };
  const make = () => createRateLimiter({ clock, windows: [hour], store });
  take(make(), 50_001);
  expect(store.saves()).toBeLessThanOrEqual(26);
  const { remaining } = take(make(), 1).tightest;
  expect(remaining).toBeLessThan(100_000 - 50_001);
  expect(remaining).toBeGreaterThanOrEqual(100_000 - 50_001 - 2 * 2000);
});

it("a rate limit stores nothing for requests that it refuses", async () => {
  const { clock, store, make } = start();
  const limiter = make();
  for (let minutes = 0; minutes < 10; minutes += 1) {
    take(limiter, 100);
    await clock.advance(minute);
  }
  const saves = store.saves();
  expect(take(limiter, 500).allowed).toBe(false);
  expect([store.saves(), store.load()]).toMatchObject([saves, [{ used: 1000 }]]);
});

it("a stored rate limit ends with its window, and stored counts of other windows are ignored", () => {
  const { clock } = start();
  const limiter = createRateLimiter({
    clock,
    windows,
    store: {
      load: () => [
        { subject: "key", name: "perhour", used: 1000, endsInMs: 1e12 },
        { subject: "key", name: "permin", used: 100, endsInMs: 1000 },
        { subject: "key", name: "perday", used: 100, endsInMs: 1000 },
      ],
      save: () => undefined,
    },
  });
  expect(limiter.take("key")).toMatchObject({ allowed: false, tightest: { endsInMs: 60 * minute } });
  expect(limiter.take("other").allowed).toBe(true);
});

it("a rate limiter remembers a bounded number of subjects, and forgets none that has used its budget up", async () => {
  const clock = createFakeClock();
  const limiter = createRateLimiter({ clock, windows: [windows[0]], maxSubjects: 50 });
  expect(take(limiter, 101, "first").allowed).toBe(false);
  for (let subject = 0; subject < 1000; subject += 1) limiter.take(`address-${subject}`);
  expect(limiter.take("first").allowed).toBe(false);
  // Those for whom there is no space share one budget.
  expect(limiter.take("yet another").allowed).toBe(false);
  await clock.advance(minute);
  expect([limiter.take("first"), limiter.take("yet another")]).toMatchObject([{ allowed: true }, { allowed: true }]);
});
