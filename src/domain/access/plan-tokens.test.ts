import { describe, expect, it } from "vitest";
import { createPlan, type GroundedPlan } from "#domain/common/plan.ts";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import { createFakePlanSeals } from "../../../test/fakes/plan-seals.ts";
import { createPlanTokens, planChanged } from "./plan-tokens.ts";

const call = { keyId: "key", operation: "fixCheck", input: {} };
const setUp = () => {
  const tokens = createPlanTokens({ seals: createFakePlanSeals(), clock: createFakeClock() });
  const present = (plan: GroundedPlan) => tokens.read(tokens.issue(plan, call).plan_token ?? "", call, "request");
  return { ...tokens, present };
};
const files = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `remove /tmp/${from + at}`);
/** Of a step that only counts what it removes. */
const cleanup = (digested: readonly string[], rest = {}) =>
  createPlan([`remove ${digested.length} files`], rest, { digested });

describe("a plan that has changed", () => {
  it("is refused with the steps that came and went, also if its steps read the same", () => {
    const { present, differenceSince } = setUp();
    const presented = present(
      cleanup(["remove web 1.0", "remove /tmp/a"], { requires_reboot: true, packages: ["web"] }),
    );
    const difference = differenceSince(presented, cleanup(["remove web 1.1", "remove /tmp/a"], { packages: ["web"] }));
    expect(difference).toEqual({ added: ["remove web 1.1"], missing: ["remove web 1.0", "need a reboot afterwards"] });
    expect(planChanged({}, difference)).toMatchObject({
      message: expect.stringContaining(
        "it would now also remove web 1.1, not remove web 1.0, not need a reboot afterwards (",
      ),
      details: { reason: "plan_changed", ...difference },
    });
  });

  it.each([
    ["many files", 30, files(5000)],
    ["long paths", 10, files(60).map((path) => `${path}/${"x".repeat(4000)}`)],
  ])("is refused without its difference when plans of %s have displaced it", (_, plans, paths) => {
    const { present, differenceSince } = setUp();
    const oldest = present(cleanup(files(1)));
    for (let at = 0; at < plans; at += 1) present(cleanup(paths));
    expect(differenceSince(oldest, cleanup(files(2)))).toBeUndefined();
    const { message, details } = planChanged({}, undefined);
    expect(message).toMatch(/^cannot carry out the plan: something has changed since it was made/);
    expect(details).not.toHaveProperty("added");
  });

  it("is refused with a bounded list of differences", () => {
    const { present, differenceSince } = setUp();
    const difference = differenceSince(present(cleanup(files(300))), cleanup(files(300, 150)));
    const { message, details } = planChanged({}, difference);
    expect(message).toContain("also remove /tmp/304 and 295 more (");
    const { added } = details as { readonly added: readonly string[] };
    expect(added.slice(-2)).toEqual(["remove /tmp/399", "and 50 more"]);
  });
});
