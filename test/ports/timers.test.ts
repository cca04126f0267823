import { describe } from "vitest";
import { createFakeTimers, fakeTimer } from "../fakes/timers.ts";
import { timersSuite } from "./timers.suite.ts";

describe("timers: fake", () => {
  const failing = fakeTimer("failing", {
    unitActiveState: "failed",
    unitResult: "exit-code",
    lastStartAt: Date.now(),
    nextStartAt: Date.now() + 3_600_000,
  });
  timersSuite(() => Promise.resolve(createFakeTimers([failing])));
});
