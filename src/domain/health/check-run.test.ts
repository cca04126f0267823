import { describe, expect, it } from "vitest";
import { defined } from "#kernel/values.ts";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import type { Outcome } from "./check.ts";
import { createFixability } from "./check-run.ts";
import type { FixPlan } from "./fix.ts";

const never = new AbortController().signal;
const ill: Outcome = { status: "fail", message: "", details: {} };
const step = { action: "repair it", run: () => Promise.resolve("repaired") };

function rig(plan: (signal: AbortSignal) => Promise<FixPlan>, mayFindNothing = true) {
  const clock = createFakeClock();
  const fix = { id: "repair", mayFindNothing, plan: (_: Outcome, signal: AbortSignal) => plan(signal) };
  const canFix = createFixability({ fixes: [fix], clock });
  return { clock, ask: (fixId = "repair") => canFix({ checkId: "disk", fixId }, ill, never) };
}

describe("whether a fix has something to do", () => {
  it.each([
    ["has steps", [step], true],
    ["has none", [], false],
  ])("is known from its plan, which %s", async (_, steps, expected) => {
    expect(await rig(() => Promise.resolve({ steps })).ask()).toBe(expected);
  });

  it.each([
    ["has steps", { steps: [step] }, true],
    ["has none", { steps: [] }, false],
    ["is not there, since it found nothing to fix", undefined, false],
  ])("is known from the plan of another process, which %s, and that is ended", async (_, plan, expected) => {
    const events: string[] = [];
    const canFix = createFixability({
      fixes: [{ id: "repair", mayFindNothing: true, plan: () => Promise.reject(new Error("planned in this process")) }],
      openElsewhere(checkId) {
        events.push(`open ${checkId}`);
        const close = () => Promise.resolve(void events.push("close"));
        const proceed = () => Promise.reject(new Error("carried out"));
        return Promise.resolve({ found: ill, proceed, close, ...defined({ plan }) });
      },
      clock: createFakeClock(),
    });
    expect(await canFix({ checkId: "disk", fixId: "repair" }, ill, never)).toBe(expected);
    expect(events).toEqual(["open disk", "close"]);
  });

  it("is assumed when its plan fails or takes too long", async () => {
    expect(await rig(() => Promise.reject(new Error("the lock is held"))).ask()).toBe(true);
    const reported: boolean[] = [];
    const slow = rig(
      (signal) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            reported.push(true);
            resolve({ steps: [] });
          });
        }),
    );
    const asked = slow.ask();
    await slow.clock.advance(30_000);
    expect(await asked).toBe(true);
    expect(reported).toEqual([true]);
  });

  it("is assumed without a plan for a fix that always has", async () => {
    expect(await rig(() => Promise.resolve({ steps: [] }), false).ask()).toBe(true);
    expect(await rig(() => Promise.resolve({ steps: [] })).ask("other")).toBe(true);
  });
});
