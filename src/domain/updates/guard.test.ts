import { describe, expect, it } from "vitest";
import type { GuardedBy } from "#domain/ports/updates.ts";
import { fakeCondition } from "../../../test/api/conditions.ts";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import type { Condition } from "./condition.ts";
import { guardTimesOf, timesAfterRollback, watchAfter } from "./guard.ts";

const { signal } = new AbortController();
const before = fakeCondition({ units: { "web.service": "active" }, checks: { memory: checked("pass") } });

function checked(status: "pass" | "fail", guardedBy: GuardedBy = "failure") {
  return { status, message: "it is so", guardedBy };
}

const states = {
  well: before,
  dead: fakeCondition({ units: { "web.service": "inactive" }, checks: before.checks }),
  starting: fakeCondition({ units: { "web.service": "activating" }, checks: before.checks }),
  short: fakeCondition({ units: { "web.service": "active" }, checks: { memory: checked("fail") } }),
} as const satisfies Readonly<Record<string, Condition>>;
type State = keyof typeof states;

/** How long it watches, and what it finds: the condition at each look, the last of them for all that follow. */
async function watched(looks: readonly State[], minutes?: number, onTimeLeft?: (leftMs: number) => void) {
  const clock = createFakeClock();
  const startMs = clock.monotonicMs();
  let count = 0;
  const look = () => {
    const state = looks[Math.min(count, looks.length - 1)] ?? "well";
    count += 1;
    return Promise.resolve(states[state]);
  };
  const worse = await watchAfter(
    { before, removal: "none", ...guardTimesOf(minutes), ...(onTimeLeft && { onTimeLeft }) },
    {
      condition: { look, restart: () => Promise.reject(new Error("nothing is started here")) },
      clock: { monotonicMs: clock.monotonicMs, sleep: (ms: number) => clock.advance(ms) },
    },
    signal,
  );
  return { seconds: (clock.monotonicMs() - startMs) / 1000, worse: worse.map(({ key }) => key) };
}

describe("the time of the guard", () => {
  it("ends after 90 s where nothing was ever worse", async () => {
    expect(await watched(["well"])).toEqual({ seconds: 90, worse: [] });
  });

  it("is five minutes where something was worse for a short time", async () => {
    expect(await watched(["well", "dead", "well"])).toEqual({ seconds: 300, worse: [] });
  });

  it("is as long as settings say", async () => {
    expect(await watched(["well"], 10)).toEqual({ seconds: 600, worse: [] });
  });

  it("ends early where something stays worse", async () => {
    expect(await watched(["well", "dead", "dead"], 10)).toEqual({ seconds: 40, worse: ["unit web.service"] });
  });

  it.each(["starting", "short"] as const)("tolerates a host that is %s for two minutes", async (state) => {
    const { seconds, worse } = await watched(["well", state], 10);
    expect(worse).toHaveLength(1);
    expect(seconds).toBe(25 + 120);
  });

  it.each(["starting", "short"] as const)("forgets that the host was %s", async (state) => {
    expect(await watched(["well", state, state, state, "well", state, state, "well"])).toEqual({
      seconds: 300,
      worse: [],
    });
  });

  it.each(["starting", "short"] as const)("is extended while the host is %s", async (state) => {
    const wells = Array.from({ length: 19 }, () => "well" as const);
    expect((await watched(["well", "dead", ...wells.slice(2), state, "well"])).worse).toEqual([]);
    expect((await watched(["well", "dead", ...wells.slice(2), state])).worse).toHaveLength(1);
  });

  it("is asked before each inspection, and is longer once something was worse", async () => {
    const left: number[] = [];
    const { seconds } = await watched(["well", "dead", "well"], undefined, (leftMs) => left.push(leftMs / 1000));
    expect([seconds, left.slice(0, 5), left.at(-1)]).toEqual([300, [90, 80, 275, 260, 245], 5]);
  });

  it("is shorter after a rollback, and never longer than settings say", () => {
    expect(timesAfterRollback(guardTimesOf(undefined))).toEqual({ guardMs: 60_000, enoughMs: 30_000 });
    expect(timesAfterRollback(guardTimesOf(0.05))).toEqual({ guardMs: 3_000, enoughMs: 3_000 });
  });
});

describe("a unit that something starts on demand", () => {
  const units = { "idle.service": { state: "active (running)", activeState: "active", staysActive: true } } as const;
  const onDemand: Condition = {
    ...fakeCondition(),
    units: { "idle.service": { ...units["idle.service"], isOnDemand: true } },
  };
  const ended = fakeCondition({ units: { "idle.service": "inactive" } });
  const failed = fakeCondition({ units: { "idle.service": "failed" } });

  /** Ends at these looks, and is what `starts` says when it is started. */
  async function watchedEnds(first: Condition, endsAt: readonly number[], starts: boolean) {
    const clock = createFakeClock();
    let [count, isUp] = [0, true];
    const restarted: string[] = [];
    const worse = await watchAfter(
      { before: onDemand, removal: "none", ...guardTimesOf(undefined) },
      {
        condition: {
          look() {
            count += 1;
            if (endsAt.includes(count)) isUp = false;
            return Promise.resolve(isUp ? onDemand : first);
          },
          restart(unit) {
            restarted.push(unit);
            isUp = starts;
            return starts ? Promise.resolve() : Promise.reject(new Error("it does not start"));
          },
        },
        clock: { monotonicMs: clock.monotonicMs, sleep: (ms: number) => clock.advance(ms) },
      },
      signal,
    );
    return { restarted: restarted.length, worse: worse.map(({ key }) => key), looks: count };
  }

  it("may end while nobody needs it, however often, and is started again", async () => {
    expect(await watchedEnds(ended, [2, 5], true)).toEqual({ restarted: 2, worse: [], looks: 7 });
  });

  it("counts where it does not start, and where it has failed", async () => {
    expect(await watchedEnds(ended, [2], false)).toEqual({ restarted: 1, worse: ["unit idle.service"], looks: 3 });
    expect(await watchedEnds(failed, [2], true)).toEqual({ restarted: 0, worse: ["unit idle.service"], looks: 3 });
  });
});
