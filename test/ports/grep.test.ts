import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createHostJournal } from "#adapters/journald/index.ts";
import type { Grep } from "#domain/ports/journal.ts";
import { createFakeGrep } from "../fakes/grep.ts";
import { unpredictableText } from "../journals/unpredictable-text.ts";

/** Has to be followed a thousand ways at once through a text where no place is like another: longer than a batch may take. */
const slowExpression = "[ab]*a[ab]{1000}c";
const slowText = unpredictableText(1_000_000);

interface GrepUnderTest {
  readonly grep: Grep;
  /** Lets the time be over that the running search has. */
  readonly expire: () => Promise<void>;
  readonly dispose: () => void;
}

function grepSuite(make: () => GrepUnderTest): void {
  const using = async (work: (grep: Grep, expire: GrepUnderTest["expire"]) => Promise<void>): Promise<void> => {
    const { grep, expire, dispose } = make();
    try {
      await work(grep, expire);
    } finally {
      dispose();
    }
  };

  const one = async (grep: Grep, pattern: string, messages: readonly string[]) => {
    const [found] = await grep.matching([{ pattern, messages }]);
    return found instanceof Error ? found : [...(found ?? [])].toSorted((a, b) => a - b);
  };

  it("reports the positions of the messages that match", () =>
    using(async (grep) => {
      const messages = ["Started a", "started b", "", "two\nstarted", "stopped"];
      expect(await one(grep, "started", messages)).toEqual([0, 1, 3]);
      expect(await one(grep, "Started", messages)).toEqual([0]);
      expect(await one(grep, "^$", messages)).toEqual([2]);
      expect(await one(grep, "absent", messages)).toEqual([]);
      expect(await one(grep, "started", [])).toEqual([]);
      expect(await grep.matching([])).toEqual([]);
    }));

  it("does many searches in one pass, of which some fail", () =>
    using(async (grep) => {
      const messages = ["a", "b", "ab"];
      const searches = ["a", "(", "b$", "c"].map((pattern) => ({ pattern, messages }));
      const found = await grep.matching([...searches, { pattern: "b", messages: ["b"] }]);
      expect(found[1]).toMatchObject({ name: "LogQueryRefused", field: "grep" });
      expect(found.toSpliced(1, 1)).toEqual([new Set([0, 2]), new Set([1, 2]), new Set(), new Set([0])]);
    }));

  it("refuses a malformed expression, naming the field", () =>
    using(async (grep) => {
      for (const pattern of ["(", "[a", "a**"]) {
        expect(await one(grep, pattern, [])).toMatchObject({ name: "LogQueryRefused", field: "grep" });
      }
    }));

  it("refuses what takes too long, and serves the others", () =>
    using(async (grep, expire) => {
      const refused = { name: "LogQueryRefused", field: "grep", message: expect.stringMatching(/too long/i) };
      const slow = one(grep, slowExpression, ["b", slowText]);
      const behind = Promise.all(Array.from({ length: 20 }, () => one(grep, "b$", ["ab", "ba"])));
      await expire();
      expect(await slow).toMatchObject(refused);
      expect(await behind).toEqual(Array.from({ length: 20 }, () => [0]));
      const found = grep.matching([
        { pattern: slowExpression, messages: [slowText] },
        { pattern: "b$", messages: ["ab"] },
        { pattern: "a", messages: ["ab", "a"] },
      ]);
      // All of them together, and then the slow one alone.
      await expire();
      await expire();
      expect((await found)[0]).toMatchObject(refused);
      expect((await found).slice(1)).toEqual([new Set([0]), new Set([0, 1])]);
      expect(await one(grep, "b$", ["ab"])).toEqual([0]);
    }));
}

describe("grep on its fake", () => {
  grepSuite(() => {
    const grep = createFakeGrep();
    grep.slow.add(slowExpression);
    return { grep, expire: () => Promise.resolve(), dispose: () => undefined };
  });
});

describe("grep in its thread", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());
  const make = (): GrepUnderTest => ({
    ...createHostJournal({ dir: "/nonexistent", onUnreadable: () => undefined }),
    async expire() {
      // The time of a search begins once its thread is up. A thread that does not give up then is ended.
      await expect.poll(() => vi.getTimerCount()).toBe(1);
      await vi.advanceTimersByTimeAsync(1_000);
      await vi.advanceTimersByTimeAsync(200);
    },
  });
  grepSuite(make);

  it("answers what takes other engines exponential time", async () => {
    const { grep, dispose } = make();
    try {
      const bait = "a".repeat(10_000);
      const found = await grep.matching([{ pattern: "^(a|aa)+$", messages: [`${bait}!`, bait] }]);
      expect(found).toEqual([new Set([1])]);
    } finally {
      dispose();
    }
  });
});
