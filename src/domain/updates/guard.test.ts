import { describe, expect, it } from "vitest";
import type { CheckStatus } from "#contract/checks.ts";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import { guardTimesOf, watchAfter } from "./guard.ts";

const { signal } = new AbortController();

/** What is worse of a check that was so before and stays as it is now. */
function watch(before: CheckStatus, now: CheckStatus, removesPackages = false): Promise<readonly string[]> {
  const clock = createFakeClock();
  const ports = {
    report: { look: () => Promise.resolve({ checks: { sshd: now }, failedUnits: [] }) },
    clock: { monotonicMs: clock.monotonicMs, sleep: (ms: number) => clock.advance(ms) },
  };
  return watchAfter(
    { before: { checks: { sshd: before }, failedUnits: [] }, removesPackages, guardMs: 30_000, enoughMs: 30_000 },
    ports,
    signal,
  );
}

describe("a check that is skipped after an update", () => {
  it.each(["pass", "warn"] as const)("is worse than one that was %s: it cannot look any more", async (before) => {
    expect(await watch(before, "skip")).toEqual([`check sshd: ${before}, now skip`]);
  });

  it.each(["pass", "warn"] as const)(
    "is no worse than %s where packages were removed: so was its subject",
    async (before) => {
      expect(await watch(before, "skip", true)).toEqual([]);
    },
  );

  it.each(["skip", "fail"] as const)("is no worse than one that was %s", async (before) => {
    expect(await watch(before, "skip")).toEqual([]);
  });
});

describe("a check that is not skipped after an update", () => {
  it.each([
    ["skip", "warn"],
    ["skip", "fail"],
    ["pass", "warn"],
    ["warn", "fail"],
  ] as const)("is worse when it was %s and is %s, whatever was removed", async (before, now) => {
    expect(await watch(before, now)).toEqual([`check sshd: ${before}, now ${now}`]);
    expect(await watch(before, now, true)).toEqual([`check sshd: ${before}, now ${now}`]);
  });

  it.each([
    ["skip", "pass"],
    ["warn", "pass"],
    ["fail", "warn"],
    ["fail", "fail"],
  ] as const)("is not when it was %s and is %s", async (before, now) => {
    expect(await watch(before, now)).toEqual([]);
  });
});

describe("the time of the guard", () => {
  /** How long it watches, and what it finds: what each look sees, the last of them for all that follow. */
  async function watched(looks: readonly CheckStatus[], minutes?: number) {
    const clock = createFakeClock();
    const startMs = clock.monotonicMs();
    let count = 0;
    const look = () => {
      const status = looks[Math.min(count, looks.length - 1)] ?? "pass";
      count += 1;
      return Promise.resolve({ checks: { sshd: status }, failedUnits: [] });
    };
    const worse = await watchAfter(
      { before: { checks: { sshd: "pass" }, failedUnits: [] }, removesPackages: false, ...guardTimesOf(minutes) },
      { report: { look }, clock: { monotonicMs: clock.monotonicMs, sleep: (ms: number) => clock.advance(ms) } },
      signal,
    );
    return { seconds: (clock.monotonicMs() - startMs) / 1000, worse };
  }

  it("is over after a minute and a half where nothing was ever worse", async () => {
    expect(await watched(["pass"])).toEqual({ seconds: 90, worse: [] });
  });

  it("is five minutes where something was worse for a moment", async () => {
    expect(await watched(["pass", "fail", "pass"])).toEqual({ seconds: 300, worse: [] });
  });

  it("is all of what settings say", async () => {
    expect(await watched(["pass"], 10)).toEqual({ seconds: 600, worse: [] });
  });

  it("ends at once where something stays worse", async () => {
    const { seconds, worse } = await watched(["pass", "fail", "fail"], 10);
    expect([seconds, worse]).toEqual([30, ["check sshd: pass, now fail"]]);
  });
});
