import { describe, expect, it } from "vitest";
import { createSlots, lazy, withinTime } from "./async.ts";

it("lazy work runs once, and again after a failure", async () => {
  const results = [Promise.reject(new Error("not yet")), Promise.resolve("result")];
  let calls = 0;
  const load = lazy(() => {
    calls += 1;
    return results.shift() ?? Promise.reject(new Error("called too often"));
  });
  expect(calls).toBe(0);
  await expect(load()).rejects.toThrow("not yet");
  expect(await Promise.all([load(), load()])).toEqual(["result", "result"]);
  expect(calls).toBe(2);
});

describe("slots", () => {
  /** One slot, which is taken until it is freed. */
  const taken = () => {
    const inSlot = createSlots(1);
    const first = Promise.withResolvers<void>();
    return { inSlot, first: inSlot(() => first.promise), free: first.resolve };
  };

  it("are left by who gives up waiting, at once, and handed to the next", async () => {
    const { inSlot, first, free } = taken();
    const caller = new AbortController();
    const events: string[] = [];
    const work = (name: string) => () => Promise.resolve(void events.push(name));
    const left = inSlot(work("left"), caller.signal);
    const next = inSlot(work("next"), new AbortController().signal);
    caller.abort(new Error("given up"));
    await expect(left).rejects.toThrow("given up");
    await expect(inSlot(work("late"), caller.signal)).rejects.toThrow("given up");
    free();
    await Promise.all([first, next, inSlot(work("last"))]);
    expect(events).toEqual(["next", "last"]);
  });

  it("are handed to who waits, also when that gives up at the same time", async () => {
    const { inSlot, first, free } = taken();
    const caller = new AbortController();
    const second = inSlot(() => Promise.resolve("second"), caller.signal);
    free();
    await first;
    caller.abort(new Error("given up"));
    expect(await second).toBe("second");
    expect(await inSlot(() => Promise.resolve("third"))).toBe("third");
  });
});

describe("work within a time", () => {
  /** A clock whose time is over when it is set so. */
  const clockUntil = (over: Promise<void>) => ({
    sleep: (_: number, signal?: AbortSignal): Promise<void> =>
      Promise.race([over, new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve()))]),
  });
  const never = new Promise<void>(() => undefined);
  const { signal } = new AbortController();

  it("has the result of the work", async () => {
    let asked = 0;
    const timeUp = () => {
      asked += 1;
      return "late";
    };
    expect(await withinTime(clockUntil(never), 5, signal, () => Promise.resolve("done"), timeUp)).toBe("done");
    const failing = withinTime(clockUntil(never), 5, signal, () => Promise.reject(new Error("broken")), timeUp);
    await expect(failing).rejects.toThrow("broken");
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked).toBe(0);
  });

  it("is aborted when the time is up or the caller gives up", async () => {
    const outer = new AbortController();
    for (const [over, end] of [
      [Promise.resolve(), () => undefined],
      [never, () => outer.abort()],
    ] as const) {
      let during: AbortSignal | undefined;
      const result = withinTime(
        clockUntil(over),
        5,
        outer.signal,
        (given) => {
          during = given;
          return new Promise<string>(() => undefined);
        },
        (limitMs) => `late after ${limitMs}`,
      );
      end();
      expect(await result).toBe("late after 5");
      expect(during?.aborted).toBe(true);
    }
  });
});
