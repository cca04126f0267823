import { expect, it } from "vitest";
import { createFakeClock } from "../../../../test/fakes/clock.ts";
import { createFakeUnits, runningUnit } from "../../../../test/fakes/units.ts";
import { unitRestartLoopsCheck } from "./unit-restart-loops.ts";

const signal = new AbortController().signal;

function setUp() {
  const units = createFakeUnits([runningUnit("loop.service")]);
  const clock = createFakeClock();
  const check = unitRestartLoopsCheck({ units, clock });
  return {
    units,
    clock,
    look: async (
      restarts: number,
      subState = "running",
      settings: { warn?: number; ignore?: readonly string[] } = {},
    ) => {
      units.become("loop.service", { restarts, subState });
      return (await check.run({ ignore: [], ...settings }, signal)).status;
    },
  };
}

it("unit_restart_loops counts restarts of the last ten minutes", async () => {
  const { look, clock } = setUp();
  expect(await look(50)).toBe("pass");
  await clock.advance(60_000);
  expect(await look(52)).toBe("pass");
  await clock.advance(60_000);
  expect(await look(53)).toBe("warn");
  await clock.advance(60_000);
  expect(await look(60)).toBe("fail");
  await clock.advance(10 * 60_000 + 1);
  expect(await look(60)).toBe("pass");
});

it("unit_restart_loops starts again when the count is reset", async () => {
  const { look } = setUp();
  await look(50);
  expect(await look(0)).toBe("pass");
  expect(await look(2, "running", { warn: 2 })).toBe("warn");
});

it("unit_restart_loops counts all restarts of a unit that waits for the next, and skips without systemd", async () => {
  const { look } = setUp();
  expect(await look(2, "auto-restart")).toBe("pass");
  expect(await look(4, "auto-restart")).toBe("warn");
  expect(await look(10, "auto-restart")).toBe("fail");
  expect(await look(10, "auto-restart", { ignore: ["loop.*"] })).toBe("pass");
  const units = createFakeUnits([runningUnit("a.service", { loadState: "" })]);
  const clock = createFakeClock();
  expect(await unitRestartLoopsCheck({ units, clock }).run({ ignore: [] }, signal)).toMatchObject({ status: "skip" });
});
