import fc from "fast-check";
import { expect, it } from "vitest";
import { createBudget } from "./budget.ts";

it("lets all files together keep no more than it has", () => {
  const actions = fc.array(fc.record({ file: fc.nat({ max: 4 }), bytes: fc.integer({ min: 1, max: 40 }) }));
  fc.assert(
    fc.property(actions, (taken) => {
      const budget = createBudget(100);
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

it("forgets what a file has kept when it is closed", () => {
  let kept = true;
  const share = createBudget(100).share(() => {
    kept = false;
  });
  share.end();
  expect(kept).toBe(false);
});
