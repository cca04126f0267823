import fc from "fast-check";
import { expect, it } from "vitest";
import { createFakeTokenLedger } from "../../../test/fakes/token-ledger.ts";
import { createTokenBudgets, type Reservation } from "./budget.ts";

const day = 24 * 60 * 60 * 1000;
const start = Date.parse("2026-11-22T12:00:00Z");

/** What may happen, in any order: a call begins, one that runs ends, time continues. */
const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("begin" as const), tokens: fc.integer({ min: 1, max: 500 }) }),
    fc.record({ kind: fc.constant("end" as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
    fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: day / 2 }) }),
    fc.record({ kind: fc.constant("fault" as const), isBroken: fc.boolean() }),
  ),
  { maxLength: 60 },
);

it("a token budget is exceeded by at most one call a day, whatever runs concurrently", () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 2_000 }), (list, limit) => {
      let now = start;
      const ledger = createFakeTokenLedger();
      const budgets = createTokenBudgets({ ledger, clock: { now: () => now }, onTrouble: () => undefined });
      const running: { readonly tokens: number; readonly reservation: Reservation }[] = [];
      const settledOn = new Map<string, number>();
      let largest = 0;
      const end = (share: number): void => {
        const call = running.shift();
        if (call === undefined) return;
        const tokens = Math.floor(call.tokens * share);
        call.reservation.settle(tokens);
        const today = new Date(now).toISOString().slice(0, 10);
        settledOn.set(today, (settledOn.get(today) ?? 0) + tokens);
      };
      for (const step of list) {
        if (step.kind === "wait") {
          // What runs over midnight is counted on the day that it ends on, and is not of this property.
          while (running.length > 0) end(1);
          now += step.ms;
        } else if (step.kind === "end") end(step.share);
        else if (step.kind === "fault") ledger.fault = step.isBroken ? new Error("no space left") : undefined;
        else {
          // A ledger that cannot even be read is an error of the call, and no way around the budget.
          const request = { keyId: "key", limit, tokens: step.tokens, drawsOn: () => undefined };
          try {
            running.push({ tokens: step.tokens, reservation: budgets.reserve(request) });
            largest = Math.max(largest, step.tokens);
          } catch (error) {
            expect(String(error)).toMatch(/too many tokens|no space left/);
          }
        }
      }
      while (running.length > 0) end(1);
      for (const used of settledOn.values()) expect(used).toBeLessThan(limit + largest);
    }),
  );
});

it("a token budget releases a reservation once, however often a call is settled", () => {
  const ledger = createFakeTokenLedger();
  const budgets = createTokenBudgets({ ledger, clock: { now: () => start }, onTrouble: () => undefined });
  const reserve = () => budgets.reserve({ keyId: "key", limit: 100, tokens: 90, drawsOn: () => undefined });
  const first = reserve();
  const second = reserve();
  expect(reserve).toThrow("calls in progress have reserved the rest");
  first.settle(5);
  first.settle(5);
  expect(reserve).not.toThrow();
  expect(reserve).toThrow("reserved the rest");
  second.settle(95);
  expect(ledger.used("key", "2026-11-22")).toBe(100);
  expect(reserve).toThrow("100 are used");
});

it("a token budget keeps the rest of a reservation for those calls that come after the first of it", () => {
  const ledger = createFakeTokenLedger();
  const budgets = createTokenBudgets({ ledger, clock: { now: () => start }, onTrouble: () => undefined });
  const reserve = (tokens: number) => budgets.reserve({ keyId: "key", limit: 100, tokens, drawsOn: () => undefined });
  const talk = reserve(60);
  expect(talk.remaining).toBe(100);
  talk.spend(20);
  // What was spent is written at once, and not held twice.
  expect(ledger.used("key", "2026-11-22")).toBe(20);
  expect(reserve(1).remaining).toBe(40);
  // More than was reserved is counted, and holds nothing back that others have reserved.
  talk.spend(70);
  expect(reserve(1).remaining).toBe(9);
  talk.settle(0);
  expect([ledger.used("key", "2026-11-22"), reserve(1).remaining]).toEqual([90, 8]);
});
