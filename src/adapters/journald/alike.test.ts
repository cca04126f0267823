import { expect, it } from "vitest";
import { countShared, createAlikes } from "./alike.ts";
import { createBudget } from "./budget.ts";

const written = { head: Uint8Array.of(1), tail: Uint8Array.of(2) };
const alone = (maxBytes: number) => createBudget({ maxBytes, ownBytes: 0, usage: new Int32Array(1), place: 0 });

it("finds what was kept by all of its items, as many as are asked for", () => {
  const alikes = createAlikes(alone(10_000));
  const items = [640, 1280, 5_000];
  expect(alikes.find(items, 2)).toBeUndefined();
  alikes.keep(items, 2, written);
  expect(alikes.find([640, 1280, 9_000], 2)).toMatchObject(written);
  expect(alikes.find(items, 1)).toBeUndefined();
  expect(alikes.find(items, 3)).toBeUndefined();
  expect(alikes.find([640, 1288, 5_000], 2)).toBeUndefined();
});

it("takes only what stands well before an entry for what others may have too", () => {
  expect(countShared([640, 1280, 99_000, 99_900], 4, 100_000)).toBe(2);
  expect(countShared([99_900], 1, 100_000)).toBe(0);
  expect(countShared([], 0, 100_000)).toBe(0);
  // Items that do not ascend: only the last ones are its own.
  expect(countShared([99_900, 640], 2, 100_000)).toBe(2);
});

it("forgets all where there is no room for more", () => {
  const alikes = createAlikes(alone(1_000));
  for (let at = 1; at <= 20; at += 1) alikes.keep([at * 640], 1, written);
  const known = Array.from({ length: 20 }, (_, at) => alikes.find([(at + 1) * 640], 1)).filter(Boolean);
  expect(known.length).toBeGreaterThan(0);
  expect(known.length).toBeLessThan(10);
});
