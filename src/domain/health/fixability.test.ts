import { describe, expect, it } from "vitest";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import type { Outcome } from "./check.ts";
import type { FixPlan } from "./fix.ts";
import { createFixability } from "./fixability.ts";

const never = new AbortController().signal;
const ill = (status: Outcome["status"] = "fail"): Outcome => ({ status, message: "", details: {} });
const step = { action: "mend it", run: () => Promise.resolve("mended") };

function rig(plan: (signal: AbortSignal) => Promise<FixPlan>) {
  const clock = createFakeClock();
  let plans = 0;
  const fix = {
    id: "mend",
    mayFindNothing: true,
    plan: (_: Outcome, signal: AbortSignal) => {
      plans += 1;
      return plan(signal);
    },
  };
  return { ...createFixability({ fixes: [fix], clock }), clock, plans: () => plans };
}

describe("whether a fix can do anything", () => {
  it.each([
    ["has steps", [step], true],
    ["has none", [], false],
  ])("is found out by its plan, which %s", async (_, steps, expected) => {
    const { canFix } = rig(() => Promise.resolve({ steps }));
    expect(await canFix("vital", "mend", ill(), never)).toBe(expected);
  });

  it("is remembered for ten minutes, for the same finding, until a fix has run", async () => {
    const { canFix, forget, clock, plans } = rig(() => Promise.resolve({ steps: [] }));
    const ask = (found: Outcome, check = "vital") => canFix(check, "mend", found, never);
    await ask(ill());
    await clock.advance(599_000);
    await ask(ill());
    expect(plans()).toBe(1);
    await ask(ill("warn"));
    await ask(ill("warn"), "other");
    expect(plans()).toBe(3);
    await clock.advance(600_000);
    await ask(ill("warn"));
    expect(plans()).toBe(4);
    forget("vital");
    await ask(ill("warn"));
    expect(plans()).toBe(5);
  });

  it("is not ruled out by a plan that fails or takes too long, which is tried again", async () => {
    const failing = rig(() => Promise.reject(new Error("the lock is held")));
    expect(await failing.canFix("vital", "mend", ill(), never)).toBe(true);
    expect(await failing.canFix("vital", "mend", ill(), never)).toBe(true);
    expect(failing.plans()).toBe(2);

    const told: boolean[] = [];
    const slow = rig(
      (signal) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            told.push(true);
            resolve({ steps: [] });
          });
        }),
    );
    const asked = slow.canFix("vital", "mend", ill(), never);
    await slow.clock.advance(30_000);
    expect(await asked).toBe(true);
    expect(told).toEqual([true]);
  });

  it("is not asked of a fix that always has something to do: its plan may be dear", async () => {
    const plan = (): Promise<FixPlan> => Promise.reject(new Error("planned"));
    const { canFix } = createFixability({ fixes: [{ id: "mend", plan }], clock: createFakeClock() });
    expect(await canFix("vital", "mend", ill(), never)).toBe(true);
  });

  it("is not ruled out for a fix that is done elsewhere", async () => {
    expect(await rig(() => Promise.resolve({ steps: [] })).canFix("vital", "other", ill(), never)).toBe(true);
  });
});
