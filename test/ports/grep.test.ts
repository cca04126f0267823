import { describe, expect, it } from "vitest";
import { createHostJournal } from "#adapters/journald/index.ts";
import type { Grep } from "#domain/ports/journal.ts";
import { createFakeGrep } from "../fakes/grep.ts";
import { unpredictableText } from "../journals/unpredictable-text.ts";

/** Has to be followed a thousand ways at once through a text where no place is like another: longer than a batch may take. */
const slowExpression = "[ab]*a[ab]{1000}c";
const slowText = unpredictableText(1_000_000);

function grepSuite(make: () => { readonly grep: Grep; readonly dispose: () => void }): void {
  const using = async (work: (grep: Grep) => Promise<void>): Promise<void> => {
    const { grep, dispose } = make();
    try {
      await work(grep);
    } finally {
      dispose();
    }
  };

  it("tells the positions of the messages that match", () =>
    using(async (grep) => {
      const messages = ["Started a", "started b", "", "two\nstarted", "stopped"];
      expect([...(await grep.matching("started", messages))].toSorted((a, b) => a - b)).toEqual([0, 1, 3]);
      expect([...(await grep.matching("Started", messages))]).toEqual([0]);
      expect([...(await grep.matching("^$", messages))]).toEqual([2]);
      expect([...(await grep.matching("absent", messages))]).toEqual([]);
      expect([...(await grep.matching("started", []))]).toEqual([]);
    }));

  it("refuses what is no expression, naming the field", () =>
    using(async (grep) => {
      for (const pattern of ["(", "[a", "a**"]) {
        await expect(grep.matching(pattern, [])).rejects.toMatchObject({ name: "LogQueryRefused", field: "grep" });
      }
    }));

  it("refuses what takes too long, and serves the others", () =>
    using(async (grep) => {
      const slow = grep.matching(slowExpression, ["b", slowText]);
      const behind = Promise.all(Array.from({ length: 20 }, () => grep.matching("b$", ["ab", "ba"])));
      await expect(slow).rejects.toMatchObject({
        name: "LogQueryRefused",
        field: "grep",
        message: expect.stringMatching(/too long/i),
      });
      expect((await behind).map((positions) => [...positions])).toEqual(Array.from({ length: 20 }, () => [0]));
      await expect(grep.matching(slowExpression, [slowText])).rejects.toMatchObject({ field: "grep" });
      expect([...(await grep.matching("b$", ["ab"]))]).toEqual([0]);
    }));
}

describe("grep: fake", () => {
  grepSuite(() => {
    const grep = createFakeGrep();
    grep.slow.add(slowExpression);
    return { grep, dispose: () => undefined };
  });
});

describe("grep: thread", () => {
  const make = () => createHostJournal({ dir: "/nonexistent", onUnreadable: () => undefined });
  grepSuite(make);

  it("answers what takes other engines exponential time", async () => {
    const { grep, dispose } = make();
    try {
      const bait = "a".repeat(10_000);
      expect([...(await grep.matching("^(a|aa)+$", [`${bait}!`, bait]))]).toEqual([1]);
    } finally {
      dispose();
    }
  });
});
