import fc from "fast-check";
import { expect, it } from "vitest";
import { type Budget, createBudget } from "./budget.ts";

const alone = (maxBytes: number, sharedBytes = 0): Budget =>
  createBudget({ maxBytes, ownBytes: 0, sharedBytes, usage: new Int32Array(1), place: 0 });

it("the memory budget lets all files together keep no more than it has", () => {
  // What is of no file is kept where there is space for it.
  const file = fc.option(fc.nat({ max: 4 }), { nil: undefined });
  const actions = fc.array(fc.record({ file, bytes: fc.integer({ min: 1, max: 40 }) }));
  fc.assert(
    fc.property(actions, fc.constantFrom(40, 70, 100), (taken, sharedBytes) => {
      const budget = alone(100, sharedBytes);
      let others = 0;
      const kept = [0, 0, 0, 0, 0];
      const shares = kept.map((_, file) =>
        budget.share(() => {
          kept[file] = 0;
        }),
      );
      for (const { file, bytes } of taken) {
        if (file !== undefined) {
          shares[file]?.take(bytes);
          kept[file] = (kept[file] ?? 0) + bytes;
        } else if (bytes <= budget.space()) {
          budget.count(bytes);
          others += bytes;
        }
        expect(kept.reduce((sum, each) => sum + each, others)).toBeLessThanOrEqual(100);
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
  const [first, second] = [0, 1].map((place) =>
    createBudget({ maxBytes: 100, ownBytes: 20, sharedBytes: 0, usage, place }),
  );
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

it.each([
  { where: "other threads have theirs", ofOthers: 100, ownBytes: 20, most: 20 },
  { where: "there are no others", ofOthers: 0, ownBytes: 0, most: 100 },
])("the memory budget lets files keep a part whatever blocks take, where $where", ({ ofOthers, ownBytes, most }) => {
  const usage = Int32Array.of(0, ofOthers);
  const budget = createBudget({ maxBytes: 100, ownBytes, sharedBytes: 10, usage, place: 0 });
  let forgotten = 0;
  const share = budget.share(() => {
    forgotten += 1;
  });
  while (budget.space() > 0) budget.count(1);
  for (let each = 0; each < 30; each += 1) share.take(1);
  // Twice, and not with each that it takes.
  expect([forgotten, usage[0]]).toEqual([2, most]);
});
