import { cachedDataVersionTag, setFlagsFromString } from "node:v8";
import { describe, expect, it } from "vitest";
import { createFakeClock } from "../../test/fakes/clock.ts";
import { hostHeap, returnHeap } from "./heap.ts";

const mib = 1024 * 1024;

function begin() {
  const clock = createFakeClock();
  const heap = { bytes: 30 * mib, busy: 0, collected: 0 };
  const stop = returnHeap(
    {
      total: () => heap.bytes,
      share: () => heap.busy,
      collect() {
        heap.collected += 1;
        heap.bytes = 30 * mib;
      },
    },
    clock,
  );
  return { heap, stop, minute: () => clock.advance(60_000) };
}

describe("the heap of a thread", () => {
  it("gives back in the first idle minute what work has left in it, and once", async () => {
    const { heap, minute } = begin();
    heap.bytes = 40 * mib;
    await minute();
    await minute();
    expect(heap).toMatchObject({ collected: 1, bytes: 30 * mib });
    Object.assign(heap, { bytes: 90 * mib, busy: 0.2 });
    await minute();
    expect(heap.collected).toBe(1);
    heap.busy = 0.01;
    await minute();
    await minute();
    expect(heap).toMatchObject({ collected: 2, bytes: 30 * mib });
  });

  it("is left alone where there is little to give back, and after the stop", async () => {
    const { heap, stop, minute } = begin();
    await minute();
    heap.bytes = 37 * mib;
    await minute();
    heap.bytes = 90 * mib;
    stop();
    await minute();
    expect(heap.collected).toBe(0);
  });

  it("is collected without a flag that would have all code compiled again", () => {
    // Other tests in this process may have left it on.
    setFlagsFromString("--no-expose-gc");
    const version = cachedDataVersionTag();
    const { collect, total, share } = hostHeap();
    let garbage: unknown = Array.from({ length: 200_000 }, (_, at) => ({ at }));
    const before = total();
    expect(garbage).toHaveLength(200_000);
    garbage = undefined;
    collect();
    expect(cachedDataVersionTag()).toBe(version);
    expect(total()).toBeLessThan(before);
    expect(share()).toBeGreaterThan(0);
  });
});
