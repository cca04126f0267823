import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openPlanSeals } from "#adapters/plan-seals/index.ts";
import { createPlanTokens } from "#domain/access/plan-tokens.ts";
import { DomainError } from "#domain/common/error.ts";
import { createPlan } from "#domain/common/plan.ts";
import type { PlanSeals } from "#domain/ports/plans.ts";
import { createFakeClock, type FakeClock } from "../fakes/clock.ts";
import { createFakePlanSeals } from "../fakes/plan-seals.ts";

let stateDir: string;
let clock: FakeClock;
let troubles: string[];
let close: () => void = () => undefined;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "steward-plans-"));
  clock = createFakeClock();
  troubles = [];
});
afterEach(() => {
  close();
  close = () => undefined;
  rmSync(stateDir, { recursive: true, force: true });
});

function openSeals(folder = stateDir): PlanSeals {
  close();
  const onTrouble = (_: Error, aside?: string): void => void troubles.push(aside ?? "memory");
  const seals = openPlanSeals({ stateDir: folder, clock, onTrouble });
  close = seals.dispose;
  return seals;
}

/** As a service that is started anew. */
const open = (folder = stateDir) => createPlanTokens({ seals: openSeals(folder), clock });

describe.each([
  ["fake", createFakePlanSeals],
  ["sqlite", () => openSeals()],
] as const)("plan seals: %s", (_, make: () => PlanSeals) => {
  it("sign what no other host can", () => {
    const seals = make();
    const code = seals.sign("a text");
    expect(code).toMatch(/^[\w-]{43}$/);
    expect([seals.isSigned("a text", code), seals.isSigned("another", code)]).toEqual([true, false]);
    expect([seals.isSigned("a text", `${code}A`), seals.isSigned("a text", "")]).toEqual([false, false]);
    expect(createFakePlanSeals().isSigned("a text", code)).toBe(false);
  });

  it("have ids and digests of one form", () => {
    const seals = make();
    const ids = Array.from({ length: 100 }, seals.newId);
    expect(new Set(ids).size).toBe(100);
    for (const id of ids) expect(id).toMatch(/^[\w-]{16}$/);
    expect([seals.digest("a"), seals.digest("a") === seals.digest("b")]).toEqual([
      expect.stringMatching(/^[\w-]{43}$/),
      false,
    ]);
  });

  it("record one user of each plan", () => {
    const seals = make();
    expect(seals.userOf("one")).toBeUndefined();
    expect([seals.use("one", "first", clock.now()), seals.use("one", "second", clock.now())]).toEqual([true, false]);
    expect([seals.userOf("one"), seals.use("two", "second", clock.now())]).toEqual(["first", true]);
  });
});

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

it("keeps tokens good, and used ones used, over a restart", () => {
  const token = tokenOf(open());
  const after = open();
  const presented = after.read(token, call, "request 1");
  expect(presented.digest).toBe(after.digestOf(plan));
  after.use(presented, "request 1");
  const later = open();
  expect(refusalOf(() => later.read(token, call, "request 2"))).toBe("plan_used");
  expect(later.read(token, call, "request 1")).toMatchObject({ isRepeated: true });
  expect(refusalOf(() => later.use(presented, "request 2"))).toBe("plan_used");
  expect(statSync(join(stateDir, "plans.db")).mode & 0o777).toBe(0o600);
});

it("makes tokens worthless, never good again, where its file is lost, damaged or cannot be written", () => {
  const token = tokenOf(open());
  const used = open();
  used.use(used.read(token, call, "request 1"), "request 1");
  close();
  close = () => undefined;
  writeFileSync(join(stateDir, "plans.db"), "damaged".repeat(1000));
  const damaged = open();
  expect(refusalOf(() => damaged.read(token, call, "request 1"))).toBe("plan_mismatch");
  const other = tokenOf(damaged);
  close();
  close = () => undefined;
  rmSync(join(stateDir, "plans.db"));
  const lost = open();
  expect(refusalOf(() => lost.read(other, call, "request 1"))).toBe("plan_mismatch");
  close();
  close = () => undefined;
  const folder = join(stateDir, "missing");
  const inMemory = open(folder);
  const remembered = tokenOf(inMemory);
  inMemory.use(inMemory.read(remembered, call, "request 1"), "request 1");
  expect(refusalOf(() => inMemory.read(remembered, call, "request 2"))).toBe("plan_used");
  mkdirSync(folder);
  expect(troubles).toEqual([join(stateDir, "plans.db.damaged"), "memory"]);
});

it("does not take a used token again after the clock was set back", async () => {
  const tokens = open();
  const token = tokenOf(tokens);
  tokens.use(tokens.read(token, call, "request 1"), "request 1");
  await clock.advance(24 * 60 * 60_000);
  expect(refusalOf(() => open().read(token, call, "request 2"))).toBe("plan_used");
});

it("forgets what is too old to matter", async () => {
  const tokens = open();
  const token = tokenOf(tokens);
  tokens.use(tokens.read(token, call, "request 1"), "request 1");
  await clock.advance(8 * 24 * 60 * 60_000);
  expect(refusalOf(() => open().read(token, call, "request 2"))).toBe("plan_expired");
});
