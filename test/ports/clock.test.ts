import { describe, expect, it } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import type { Clock } from "#kernel/clock.ts";
import { createFakeClock } from "../fakes/clock.ts";

function realClock(): { clock: Clock; pass: (ms: number) => Promise<void> } {
  return { clock: systemClock, pass: (ms) => systemClock.sleep(ms + 30) };
}

function fakeClock() {
  const clock = createFakeClock();
  return { clock, pass: clock.advance };
}

describe.each([
  ["fake", fakeClock],
  ["system", realClock],
] as const)("clock: %s", (_, make: () => { clock: Clock; pass: (ms: number) => Promise<void> }) => {
  it("goes on, and never back", async () => {
    const { clock, pass } = make();
    const [now, mono] = [clock.now(), clock.monotonicMs()];
    await pass(20);
    expect(clock.monotonicMs() - mono).toBeGreaterThanOrEqual(20);
    expect(clock.now()).toBeGreaterThan(now);
  });

  it("does not take a wait that is longer than a timer for none", async () => {
    const { clock, pass } = make();
    const over = new AbortController();
    let isOver = false;
    const wait = clock.sleep(2 ** 40, over.signal).then(() => {
      isOver = true;
    });
    await pass(25);
    expect(isOver).toBe(false);
    over.abort();
    await wait;
  });

  it("repeats a task until told to stop", async () => {
    const { clock, pass } = make();
    let runs = 0;
    const stop = clock.every(10, () => {
      runs += 1;
    });
    while (runs < 2) await pass(25);
    stop();
    const seen = runs;
    await pass(25);
    expect(runs).toBe(seen);
  });

  it("wakes a sleeper early on request", async () => {
    const { clock, pass } = make();
    const abort = new AbortController();
    const sleeping = clock.sleep(60_000, abort.signal);
    await pass(1);
    abort.abort();
    await sleeping;
    await clock.sleep(60_000, abort.signal);
  });
});
