import fc from "fast-check";
import { expect, it } from "vitest";
import { type Budget, createBudget } from "./budget.ts";

const alone = (maxBytes: number): Budget => createBudget({ maxBytes, ownBytes: 0, usage: new Int32Array(1), place: 0 });

it("the memory budget lets all files together keep no more than it has", () => {
  const actions = fc.array(fc.record({ file: fc.nat({ max: 4 }), bytes: fc.integer({ min: 1, max: 40 }) }));
  fc.assert(
    fc.property(actions, (taken) => {
      const budget = alone(100);
      const kept = [0, 0, 0, 0, 0];
      const shares = kept.map((_, file) =>
        budget.share(() => {
          kept[file] = 0;
        }),
      );
      for (const { file, bytes } of taken) {
        shares[file]?.take(bytes);
        kept[file] = (kept[file] ?? 0) + bytes;
        expect(kept.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(100);
      }
    }),
  );
});

it("the memory budget forgets what a closed file has kept", () => {
  let kept = true;
  const share = alone(100).share(() => {
    kept = false;
  });
  share.end();
  expect(kept).toBe(false);
});

it("the memory budget leaves each thread its own share, and one thread alone everything", () => {
  const usage = new Int32Array(2);
  const [first, second] = [0, 1].map((place) => createBudget({ maxBytes: 100, ownBytes: 20, usage, place }));
  let forgotten = 0;
  const share = first?.share(() => {
    forgotten += 1;
  });
  share?.take(90);
  expect([first?.space(), second?.space(), forgotten]).toEqual([10, 20, 0]);
  second?.count(20);
  expect([first?.space(), second?.space()]).toEqual([-10, 0]);
  share?.take(10);
  expect([forgotten, [...usage], first?.space()]).toEqual([1, [10, 20], 70]);
  second?.count(-20);
  expect(first?.space()).toBe(90);
});
