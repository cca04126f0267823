import { rmSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openPlanSeals } from "#adapters/plan-seals/index.ts";
import { createPlanTokens } from "#domain/access/plan-tokens.ts";
import { DomainError } from "#domain/common/error.ts";
import { createPlan } from "#domain/common/plan.ts";
import { createFakeClock, type FakeClock } from "../fakes/clock.ts";
import { directoryPerTest } from "./support/directories.ts";

const at = directoryPerTest();
let clock: FakeClock;
let opened: { readonly dispose: () => void } | undefined;
const close = (): void => {
  opened?.dispose();
  opened = undefined;
};
beforeEach(() => {
  clock = createFakeClock();
});
afterEach(close);

function openSeals(stateDir = at()) {
  close();
  const seals = openPlanSeals({ stateDir, clock, onTrouble: () => undefined });
  opened = seals;
  return seals;
}

/** As a service that is started again. */
const open = (stateDir = at()) => createPlanTokens({ seals: openSeals(stateDir), clock });

describe("plan seals", () => {
  it("sign what no other host can", () => {
    const seals = openSeals();
    const code = seals.sign("a text");
    expect(code).toMatch(/^[\w-]{43}$/);
    expect([seals.isSigned("a text", code), seals.isSigned("another", code)]).toEqual([true, false]);
    expect([seals.isSigned("a text", `${code}A`), seals.isSigned("a text", "")]).toEqual([false, false]);
    expect(openSeals(at("nowhere")).isSigned("a text", code)).toBe(false);
  });

  it("have ids and digests of one form, and record one user of each plan", () => {
    const seals = openSeals();
    const ids = Array.from({ length: 100 }, seals.newId);
    expect(new Set(ids).size).toBe(100);
    for (const id of ids) expect(id).toMatch(/^[\w-]{16}$/);
    expect(seals.digest("a")).toMatch(/^[\w-]{43}$/);
    expect(seals.digest("b")).not.toBe(seals.digest("a"));
    expect([seals.use("one", "first", clock.now()), seals.use("one", "second", clock.now())]).toEqual([true, false]);
    expect([seals.userOf("one"), seals.use("two", "second", clock.now())]).toEqual(["first", true]);
  });
});

describe("a plan token", () => {
  const call = { keyId: "key", operation: "restartService", input: { params: { name: "web.service" } } };
  const plan = createPlan(["restart web.service"]);
  const tokenOf = (tokens: ReturnType<typeof open>): string => tokens.issue(plan, call).plan_token ?? "";
  /** The reason of the conflict that it ends with. */
  function refusalOf(work: () => unknown): unknown {
    try {
      work();
    } catch (error) {
      if (error instanceof DomainError && error.code === "CONFLICT") return error.details?.["reason"];
      throw error;
    }
    return undefined;
  }
  const useNew = (tokens: ReturnType<typeof open>): string => {
    const token = tokenOf(tokens);
    tokens.use(tokens.read(token, call, "request 1"), "request 1");
    return token;
  };

  it("stays good, and a used one used, over a restart", () => {
    const token = tokenOf(open());
    const after = open();
    const presented = after.read(token, call, "request 1");
    expect(presented.digest).toBe(after.digestOf(plan));
    after.use(presented, "request 1");
    const later = open();
    expect(refusalOf(() => later.read(token, call, "request 2"))).toBe("plan_used");
    expect(later.read(token, call, "request 1")).toMatchObject({ isRepeated: true });
    expect(refusalOf(() => later.use(presented, "request 2"))).toBe("plan_used");
  });

  it.each<[string, () => void]>([
    ["corrupt", () => writeFileSync(at("plans.db"), "damaged".repeat(1000))],
    ["lost", () => rmSync(at("plans.db"))],
  ])("is worthless once the file of the seals is %s, and never good again", (_, spoil) => {
    const token = useNew(open());
    close();
    spoil();
    expect(refusalOf(() => open().read(token, call, "request 1"))).toBe("plan_mismatch");
  });

  it("is used once also where no file can be written", () => {
    const inMemory = open(at("missing"));
    const token = useNew(inMemory);
    expect(refusalOf(() => inMemory.read(token, call, "request 2"))).toBe("plan_used");
  });

  it("stays used for days of the clock that does not stand still, and is forgotten once it has expired", async () => {
    const token = useNew(open());
    await clock.advance(24 * 60 * 60_000);
    expect(refusalOf(() => open().read(token, call, "request 2"))).toBe("plan_used");
    await clock.advance(7 * 24 * 60 * 60_000);
    expect(refusalOf(() => open().read(token, call, "request 2"))).toBe("plan_expired");
  });
});
