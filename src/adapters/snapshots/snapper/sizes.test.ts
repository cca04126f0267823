import { expect, it } from "vitest";
import { createSizes, type Sizeable } from "./sizes.ts";

const signal = new AbortController().signal;
const at = (key: string, usedSpace: number | null = null): Sizeable => ({ key, path: `/${key}`, usedSpace });

/** Measuring takes its time on a clock that stands still otherwise. */
function createMeasuring(costMs: number) {
  let nowMs = 0;
  const asked: string[] = [];
  const broken = new Set<string>();
  const bytes = new Map<string, number>();
  const exclusiveBytes = (path: string): Promise<number> => {
    asked.push(path);
    nowMs += costMs;
    return broken.has(path) ? Promise.reject(new Error("no end")) : Promise.resolve(bytes.get(path) ?? 1);
  };
  const sizes = createSizes({ programs: { exclusiveBytes }, clock: { monotonicMs: () => nowMs } });
  const list = async (...all: readonly Sizeable[]) => Object.fromEntries(await sizes(all, signal));
  return { asked, broken, bytes, list, pass: (ms: number) => (nowMs += ms) };
}

it("sizes are measured once, and again after a while", async () => {
  const { list, asked, bytes, pass } = createMeasuring(10);
  expect(await list(at("a"), at("b"))).toEqual({ a: 1, b: 1 });
  bytes.set("/a", 2);
  expect(await list(at("a"), at("b"))).toEqual({ a: 1, b: 1 });
  expect(asked).toEqual(["/a", "/b"]);
  pass(60_000);
  expect(await list(at("a"), at("b"))).toEqual({ a: 2, b: 1 });
});

it("sizes that quotas tell are not measured", async () => {
  const { list, asked } = createMeasuring(10);
  expect(await list(at("a", 7), at("b", 0))).toEqual({ a: 7, b: 0 });
  expect(asked).toEqual([]);
});

it("a list waits for few of many that take long, and all get their turn", async () => {
  const { list, asked } = createMeasuring(1_500);
  const all = ["a", "b", "c", "d", "e"].map((key) => at(key));
  expect(await list(...all)).toEqual({ a: 1, b: 1, c: 0, d: 0, e: 0 });
  expect(await list(...all)).toEqual({ a: 1, b: 1, c: 1, d: 1, e: 0 });
  expect(await list(...all)).toEqual({ a: 1, b: 1, c: 1, d: 1, e: 1 });
  expect(asked).toHaveLength(5);
});

it("one that cannot be measured has its last size, and keeps the others from nothing", async () => {
  const { list, broken, pass } = createMeasuring(10);
  await list(at("a"));
  broken.add("/a").add("/b");
  pass(60_000);
  expect(await list(at("a"), at("b"), at("c"))).toEqual({ a: 1, b: 0, c: 1 });
});

it("measuring ends with the signal", async () => {
  const aborted = AbortSignal.abort(new Error("enough"));
  const sizes = createSizes({
    programs: { exclusiveBytes: () => Promise.reject(new Error("cancelled")) },
    clock: { monotonicMs: () => 0 },
  });
  await expect(sizes([at("a")], aborted)).rejects.toThrow("enough");
});
