import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkStatuses, type HealthCheckResult } from "#contract/checks.ts";
import { createFakeCheckHistory, type FakeCheckHistory } from "../../../test/fakes/check-history.ts";
import { createFakeClock, type FakeClock } from "../../../test/fakes/clock.ts";
import type { Check, Outcome } from "./check.ts";
import type { CheckPlan } from "./check-run.ts";
import { createGrader } from "./grading.ts";
import { type CheckRun, type CheckRunner, createCheckRunner } from "./runner.ts";

interface Rig {
  readonly runner: CheckRunner;
  readonly clock: FakeClock;
  readonly history: FakeCheckHistory;
  readonly runs: CheckRun[];
  readonly troubles: unknown[];
  /** Checks that were taken away. */
  readonly gone: string[];
}

function rig(
  checks: readonly Check[],
  given: {
    settings?: CheckPlan;
    history?: FakeCheckHistory;
    clock?: FakeClock;
  } = {},
): Rig {
  const { settings = { checks: {} }, history = createFakeCheckHistory(), clock = createFakeClock() } = given;
  const runs: CheckRun[] = [];
  const troubles: unknown[] = [];
  const gone: string[] = [];
  const runner = createCheckRunner({
    checks,
    settings,
    history,
    clock,
    onRun: (run) => void runs.push(run),
    onGone: (id) => void gone.push(id),
    onTrouble: (error) => void troubles.push(error),
  });
  return { runner, clock, history, runs, troubles, gone };
}

const found = (status: Outcome["status"]): Outcome => ({ status, message: status, details: {} });
const check = (id: string, run: Check["run"], more: Partial<Check> = {}): Check => ({
  id,
  name: id,
  category: "system",
  severity: "low",
  run,
  ...more,
});
const never = (): Promise<never> => new Promise(() => undefined);
const idAt = (at: number): string => `check_${at}`;

async function run({ runner }: Pick<Rig, "runner">, id: string): Promise<HealthCheckResult> {
  const result = await runner.run(id);
  if (result === undefined) throw new Error(`no check ${id}`);
  return result;
}

describe("results of checks", () => {
  const behaviour = fc.constantFrom(...checkStatuses, "throws", "rejects", "hangs", "floods", "cannot be written");
  const behave = (kind: string): Check["run"] => {
    const status = checkStatuses.find((each) => each === kind);
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    return async () => {
      if (status !== undefined) return found(status);
      if (kind === "rejects") return Promise.reject(new Error("rejected"));
      if (kind === "hangs") return never();
      if (kind === "floods")
        return { status: "pass", message: "m".repeat(200_000), details: { all: "d".repeat(200_000) } };
      if (kind === "cannot be written") return { status: "pass", message: "", details: circle };
      throw new Error("thrown");
    };
  };

  it("are what a check says where its subject is absent, and then it is not run", async () => {
    let subject: Outcome | undefined = { status: "skip", message: "there is none", details: {} };
    let runs = 0;
    const absent = () => Promise.resolve(subject);
    const count = () => {
      runs += 1;
      return Promise.resolve(found("pass"));
    };
    const made = rig([check("disks", count, { absent })]);
    expect(await run(made, "disks")).toMatchObject({ status: "skip", message: "there is none" });
    expect(runs).toBe(0);
    subject = undefined;
    expect(await run(made, "disks")).toMatchObject({ status: "pass" });
    expect(runs).toBe(1);
  });

  it("have the thresholds of their figures that can be reached", async () => {
    const thresholds = { tasks: { warn: 5, fail: Number.POSITIVE_INFINITY } };
    const { runner } = rig([
      check("busy", () => Promise.resolve({ ...found("pass"), thresholds })),
      check("plain", behave("pass")),
    ]);
    expect((await runner.run("busy"))?.thresholds).toEqual({ tasks: { warn: 5 } });
    expect(await runner.run("plain")).not.toHaveProperty("thresholds");
  });

  it("add up in the order of the registry, whatever checks do", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(behaviour, { maxLength: 12 }), async (kinds) => {
        const { runner, clock, runs } = rig(kinds.map((kind, at) => check(idAt(at), behave(kind))));
        const listed = runner.list();
        await clock.advance(0);
        // Each four that hang take their time before the next have their turn.
        for (let round = 0; round < 4; round += 1) await clock.advance(30_000);
        const { summary, results } = await listed;
        expect(results.map(({ check_id: id }) => id)).toEqual(kinds.map((_, at) => idAt(at)));
        const { total, passed, warned, failed, skipped } = summary;
        expect([total, passed + warned + failed + skipped]).toEqual([kinds.length, kinds.length]);
        const counted = (kind: string) => kinds.filter((each) => each === kind).length;
        expect([passed, warned, skipped]).toEqual([
          counted("pass") + counted("floods"),
          counted("warn"),
          counted("skip"),
        ]);
        const silent = new Set(["pass", "warn", "skip", "fail", "floods"]);
        for (const [at, kind] of kinds.entries()) {
          expect([kind, "error" in (results[at]?.details ?? {})]).toEqual([kind, !silent.has(kind)]);
          expect(JSON.stringify(results[at]).length).toBeLessThan(70_000);
        }
        expect(runs).toHaveLength(kinds.length);
      }),
      { numRuns: 60 },
    );
  });

  it("have their start and count of failures, over any statuses and restarts", async () => {
    const step = fc.record({
      status: fc.constantFrom(...checkStatuses),
      passesMs: fc.integer({ min: 1, max: 100_000 }),
      restarts: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        const history = createFakeCheckHistory();
        const clock = createFakeClock();
        let status: Outcome["status"] = "pass";
        const make = () => rig([check("one", () => Promise.resolve(found(status)))], { history, clock });
        let current = make();
        let before: { status: string; since: string; failures: number } | undefined;
        for (const next of steps) {
          await clock.advance(next.passesMs);
          if (next.restarts) {
            current.runner.dispose();
            current = make();
          }
          status = next.status;
          const result = await run(current, "one");
          expect(current.runs.at(-1)?.previousStatus).toBe(before?.status);
          const since = before?.status === status ? before.since : new Date(clock.now()).toISOString();
          const failures = status === "fail" ? (before?.failures ?? 0) + 1 : 0;
          expect(result).toMatchObject({ status, since, consecutive_failures: failures });
          before = { status, since, failures };
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe("runs of checks", () => {
  it("are shared by concurrent callers, four at a time", async () => {
    const waiting: (() => void)[] = [];
    let runs = 0;
    const checks = Array.from({ length: 9 }, (_, at) =>
      check(idAt(at), async () => {
        runs += 1;
        await new Promise<void>((resolve) => waiting.push(resolve));
        return found("pass");
      }),
    );
    const { runner, clock } = rig(checks);
    const lists = Array.from({ length: 100 }, (_, at) =>
      at % 2 === 0 ? runner.list() : run({ runner }, idAt(at % 9)),
    );
    for (const expected of [4, 8, 9]) {
      await clock.advance(1);
      expect(runs).toBe(expected);
      for (const release of waiting.splice(0)) release();
    }
    await Promise.all(lists);
    expect(runs).toBe(9);
  });

  it("are not shared with a scheduled one that started earlier", async () => {
    const ends: ((outcome: Outcome) => void)[] = [];
    const { runner, clock } = rig([check("one", () => new Promise<Outcome>((resolve) => ends.push(resolve)))]);
    runner.start();
    await clock.advance(1_000);
    expect(ends).toHaveLength(1);
    const asked = [run({ runner }, "one"), run({ runner }, "one")];
    ends[0]?.(found("pass"));
    await clock.advance(0);
    expect(ends).toHaveLength(2);
    const joined = run({ runner }, "one");
    ends[1]?.(found("warn"));
    expect((await Promise.all([...asked, joined])).map(({ status }) => status)).toEqual(["warn", "warn", "warn"]);
    expect(ends).toHaveLength(2);
    runner.dispose();
  });

  it("are spread over time, except those of a group", async () => {
    const at = new Map<string, number[]>();
    const askedAt = new Map<string, unknown[]>();
    const noted = (id: string, group?: string): Check => ({
      ...check(id, (_settings, _signal, askedAtMs) => {
        askedAt.set(id, [...(askedAt.get(id) ?? []), askedAtMs]);
        at.set(id, [...(at.get(id) ?? []), still.monotonicMs()]);
        return Promise.resolve(found("pass"));
      }),
      ...(group !== undefined && { group }),
    });
    const still = createFakeClock();
    let looks = 0;
    // As a real clock does, it has moved on each time that somebody looks at it.
    const monotonicMs = (): number => {
      looks += 1;
      return still.monotonicMs() + looks / 1_000_000;
    };
    const clock = { ...still, monotonicMs };
    const { runner } = rig([noted("a"), noted("b", "root"), noted("c"), noted("d", "root")], { clock });
    runner.start();
    for (let seconds = 0; seconds < 200; seconds += 1) await clock.advance(1_000);
    expect(at.get("b")?.length).toBeGreaterThan(3);
    expect(at.get("d")).toEqual(at.get("b"));
    expect(askedAt.get("d")).toEqual(askedAt.get("b"));
    for (const [one, other] of [
      ["a", "b"],
      ["b", "c"],
      ["a", "c"],
    ] as const)
      expect(
        at
          .get(one)
          ?.slice(1)
          .some((ms) => at.get(other)?.includes(ms)),
      ).toBe(false);
    runner.dispose();
  });

  it("have the time of the last request, also when they waited", async () => {
    const ends: ((outcome: Outcome) => void)[] = [];
    const busy = Array.from({ length: 4 }, (_, at) =>
      check(idAt(at), () => new Promise<Outcome>((resolve) => ends.push(resolve))),
    );
    const askedAt: unknown[] = [];
    const waits = check("waits", (_settings, _signal, askedAtMs) => {
      askedAt.push(askedAtMs);
      return Promise.resolve(found("pass"));
    });
    const { runner, clock } = rig([...busy, waits]);
    const running = busy.map(({ id }) => run({ runner }, id));
    const first = run({ runner }, "waits");
    await clock.advance(500);
    const second = run({ runner }, "waits");
    const secondAtMs = clock.monotonicMs();
    await clock.advance(500);
    for (const end of ends) end(found("pass"));
    await Promise.all([...running, first, second]);
    expect(askedAt).toEqual([secondAtMs]);
    runner.dispose();
  });

  it("free their slot when they ignore the signal", async () => {
    const signals: AbortSignal[] = [];
    const deaf = Array.from({ length: 4 }, (_, at) =>
      check(idAt(at), (_settings, signal) => {
        signals.push(signal);
        return never();
      }),
    );
    const { runner, clock } = rig([...deaf, check("good", () => Promise.resolve(found("pass")))]);
    const list = runner.list();
    await clock.advance(29_999);
    expect([signals.length, signals.some(({ aborted }) => aborted)]).toEqual([4, false]);
    await clock.advance(1);
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
    expect((await list).results.map(({ status }) => status)).toEqual(["fail", "fail", "fail", "fail", "pass"]);
    for (let times = 0; times < 5; times += 1) {
      const again = runner.run(idAt(0));
      await clock.advance(30_000);
      expect(await again).toMatchObject({ status: "fail" });
    }
    expect(signals).toHaveLength(6);
    expect((await runner.run(idAt(0)))?.message).toContain("hang");
  });

  it("resume for a check when a hung run has ended", async () => {
    const late: (() => void)[] = [];
    const { runner, clock } = rig([
      check("slow", async () => {
        await new Promise<void>((resolve) => late.push(resolve));
        return found("pass");
      }),
    ]);
    for (let times = 0; times < 3; times += 1) {
      const hanging = runner.run("slow");
      await clock.advance(30_000);
      await hanging;
    }
    expect(await runner.run("slow")).toMatchObject({ status: "fail", details: { error: "earlier runs hang" } });
    late.shift()?.();
    await clock.advance(1);
    const again = runner.run("slow");
    await clock.advance(1);
    late.at(-1)?.();
    expect(await again).toMatchObject({ status: "pass" });
  });

  it("have their settings, and disabled checks none", async () => {
    const seen: unknown[] = [];
    const look: Check["run"] = (settings) => {
      seen.push(settings);
      return Promise.resolve(found("pass"));
    };
    const own = { warn: 1, ignore: ["x"], margin: 5, overMs: 6, learningMs: 7, isIsolated: true, mounts: { "/": {} } };
    const settings = {
      checks: { a: { ...own, isEnabled: true, intervalMs: 1_000, timeoutMs: 9, attempts: 2 }, c: { isEnabled: false } },
    };
    const { runner } = rig([check("a", look), check("b", look), check("c", look)], { settings });
    await runner.list();
    expect(seen).toEqual([own, { ignore: [] }]);
    expect([runner.ids, runner.run("c"), runner.run("d")]).toEqual([["a", "b"], undefined, undefined]);
  });

  it("have the interval of settings, check or default", async () => {
    const counts = new Map<string, number>();
    const count = (id: string, more: Partial<Check> = {}) =>
      check(
        id,
        () => {
          counts.set(id, (counts.get(id) ?? 0) + 1);
          return Promise.resolve(found("pass"));
        },
        more,
      );
    const { runner, clock } = rig([count("general"), count("own", { intervalMs: 300_000 }), count("set")], {
      settings: { intervalMs: 120_000, checks: { set: { intervalMs: 5_000 } } },
    });
    runner.start();
    await clock.advance(1_200_000);
    for (const [id, expected] of [
      ["general", 10],
      ["own", 4],
      ["set", 240],
    ] as const) {
      // The first ones come early, so that a start soon knows how the host is.
      expect([id, counts.get(id)]).toEqual([
        id,
        expect.toSatisfy((runs: number) => runs >= expected && runs <= expected + 2),
      ]);
    }
    runner.dispose();
  });

  it("have a longer interval while they pass, if the check says so", async () => {
    const runs: number[] = [];
    let status: Outcome["status"] = "warn";
    const calm = (id: string) =>
      check(
        id,
        () => {
          if (id === "calm") runs.push(clock.monotonicMs());
          return Promise.resolve(found(status));
        },
        { calmIntervalMs: 300_000 },
      );
    const { runner, clock } = rig([calm("calm"), calm("set")], {
      settings: { checks: { set: { intervalMs: 5_000 } } },
    });
    const during = async (durationMs: number): Promise<number> => {
      const before = runs.length;
      await clock.advance(durationMs);
      return runs.length - before;
    };
    runner.start();
    expect(await during(301_000)).toBeGreaterThanOrEqual(5);
    for (status of ["pass", "skip"] as const) {
      // The first of them is the one by which it is seen.
      await during(61_000);
      expect(await during(1_200_000)).toBe(4);
      await runner.list();
      expect(await during(0)).toBe(0);
    }
    status = "fail";
    await during(301_000);
    expect(await during(300_000)).toBe(5);
    expect(await during(0)).toBe(0);
    await runner.run("calm");
    expect(runs.at(-1)).toBe(clock.monotonicMs());
    runner.dispose();
  });

  it("do not start all at once, and leave no result older than its interval", async () => {
    const starts: (readonly [id: string, at: number])[] = [];
    const clock = createFakeClock();
    const checks = Array.from({ length: 20 }, (_, at) =>
      check(idAt(at), () => {
        starts.push([idAt(at), clock.monotonicMs()]);
        return Promise.resolve(found("pass"));
      }),
    );
    const { runner } = rig(checks, { clock });
    runner.start();
    await clock.advance(600_000);
    const perSecond = new Map<number, number>();
    for (const [, at] of starts) perSecond.set(at, (perSecond.get(at) ?? 0) + 1);
    expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(4);
    expect(Math.max(...[...perSecond].filter(([at]) => at > 70_000).map(([, count]) => count))).toBe(1);
    for (const { id } of checks) {
      const own = starts.filter(([started]) => started === id).map(([, at]) => at);
      const gaps = own.map((at, index) => at - (own[index - 1] ?? 0));
      expect([id, gaps[0], Math.max(...gaps)]).toEqual([
        id,
        expect.toSatisfy((ms: number) => ms <= 10_000),
        expect.toSatisfy((ms: number) => ms <= 61_000),
      ]);
    }
    runner.dispose();
  });

  it("stop with the runner, without a result", async () => {
    const { runner, clock, runs, history } = rig([check("one", never)]);
    const hanging = runner.run("one");
    await clock.advance(5);
    runner.dispose();
    expect(await hanging).toMatchObject({ status: "fail" });
    expect([runs, history.state("one")]).toEqual([[], undefined]);
  });
});

describe("the history of check runs", () => {
  it("is kept for 30 days", async () => {
    const { runner, clock, history } = rig([check("one", () => Promise.resolve(found("pass")))], {
      settings: { intervalMs: 24 * 3_600_000, checks: {} },
    });
    const day = 24 * 3_600_000;
    for (let days = 39; days >= 0; days -= 1) {
      const checkedAt = clock.now() - days * day;
      const run = { checkedAt, status: "pass", message: "", durationMs: 0 } as const;
      history.record("one", run, { status: "pass", since: 0, consecutiveFailures: 0 });
    }
    runner.start();
    await clock.advance(1_000);
    expect(history.runs("one", 0, 100).total).toBe(30 + 1);
    runner.dispose();
  });
});

describe("added and removed checks", () => {
  const passing = (id: string, more: Partial<Check> = {}) => check(id, () => Promise.resolve(found("pass")), more);

  it("run at once, then at their interval, and no more when removed", async () => {
    const { runner, clock, runs, gone } = rig([passing("z")]);
    runner.start();
    await clock.advance(20_000);
    runs.length = 0;
    const remove = runner.add(passing("b", { intervalMs: 30_000 }));
    runner.add(passing("a"));
    await clock.advance(0);
    expect(runs.map(({ result }) => result.check_id)).toEqual(["b", "a"]);
    expect(runner.ids).toEqual(["z", "a", "b"]);
    await clock.advance(30_000);
    expect(runs.filter(({ result }) => result.check_id === "b")).toHaveLength(2);
    remove();
    remove();
    expect([runner.ids, gone, runner.run("b"), runner.find("b")]).toEqual([["z", "a"], ["b"], undefined, undefined]);
    await clock.advance(600_000);
    expect(runs.filter(({ result }) => result.check_id === "b")).toHaveLength(2);
    expect((await runner.list()).results.map(({ check_id: id }) => id)).toEqual(["z", "a"]);
  });

  it("wait for the start of the runner", async () => {
    const { runner, clock, runs } = rig([]);
    runner.add(passing("a"));
    await clock.advance(60_000);
    expect(runs).toEqual([]);
    runner.start();
    await clock.advance(1_000);
    expect(runs).toHaveLength(1);
  });

  it("count for the verdict while they exist", async () => {
    const { runner, clock } = rig([passing("z")]);
    runner.start();
    const remove = runner.add(check("a", () => Promise.resolve(found("fail")), { severity: "critical" }));
    await clock.advance(0);
    expect(runner.verdict()).toBe("unhealthy");
    remove();
    expect(runner.verdict()).toBe("healthy");
  });

  it("continue their history when added again", async () => {
    const { runner, clock, runs } = rig([]);
    runner.start();
    const failing = check("a", () => Promise.resolve(found("fail")));
    const remove = runner.add(failing);
    await clock.advance(0);
    remove();
    await clock.advance(5_000);
    runner.add(failing);
    await clock.advance(0);
    expect(runs[1]).toMatchObject({ previousStatus: "fail", result: { consecutive_failures: 2 } });
    expect(runs[1]?.result.since).toBe(runs[0]?.result.since);
  });

  it("have their own time limit, unless settings set another", async () => {
    const { runner, clock } = rig(
      [check("own", never, { timeoutMs: 2_000 }), check("set", never, { timeoutMs: 2_000 })],
      {
        settings: { checks: { set: { timeoutMs: 3_000 } } },
      },
    );
    const both = Promise.all(["own", "set"].map((id) => run({ runner }, id)));
    await clock.advance(3_000);
    expect((await both).map(({ message }) => message)).toEqual([
      "The check did not end within 2 s",
      "The check did not end within 3 s",
    ]);
  });
});

describe("the health verdict after a restart", () => {
  const severe = (status: Outcome["status"]): Check =>
    check("severe", () => Promise.resolve(found(status)), { severity: "critical" });

  it("is that of the last results until the checks have run", async () => {
    const before = rig([severe("fail")]);
    expect([before.runner.verdict(), before.runner.isStarting()]).toEqual(["healthy", true]);
    await run(before, "severe");
    expect([before.runner.verdict(), before.runner.isStarting()]).toEqual(["unhealthy", false]);

    const after = rig([severe("pass"), check("new", never)], { history: before.history });
    expect([after.runner.verdict(), after.runner.isStarting()]).toEqual(["unhealthy", true]);
    const without = rig([check("other", never)], { history: before.history });
    expect(without.runner.verdict()).toBe("healthy");
    const dispose = without.runner.add(severe("fail"));
    expect(without.runner.verdict()).toBe("unhealthy");
    dispose();
    expect(without.runner.verdict()).toBe("healthy");

    await run(after, "severe");
    expect(after.runner.verdict()).toBe("healthy");
  });
});

describe("a hard failure of a check that is then skipped", () => {
  const minuteMs = 60_000;
  const statuses: Outcome["status"][] = [];
  const one = check("one", () => Promise.resolve(found(statuses.shift() ?? "skip")));
  const hardAfter = async (current: Rig, times: number): Promise<readonly string[]> => {
    const seen: string[] = [];
    for (let at = 0; at < times; at += 1) {
      await current.clock.advance(minuteMs);
      const { state_type: type, attempt } = await run(current, "one");
      seen.push(`${current.runs.at(-1)?.hard} ${type} ${attempt}`);
    }
    return seen;
  };

  it("ends after as many runs as without a restart", async () => {
    const clock = createFakeClock();
    const first = rig([one], { clock });
    statuses.push("fail", "fail", "fail");
    expect((await hardAfter(first, 4)).slice(2)).toEqual(["fail hard 3", "fail soft 1"]);
    first.runner.dispose();
    await clock.advance(10 * minuteMs);
    const second = rig([one], { clock, history: createFakeCheckHistory(first.history.store) });
    expect(await hardAfter(second, 1)).toEqual(["fail soft 2"]);
    second.runner.dispose();
    const third = rig([one], { clock, history: createFakeCheckHistory(first.history.store) });
    expect(await hardAfter(third, 2)).toEqual(["pass hard 3", "pass hard 3"]);
  });
});

describe("figures of checks near a threshold", () => {
  /** A check of two objects, each with a figure of its own. */
  const graded = (figures: () => Readonly<Record<string, number>>): Check =>
    check("usage", (settings) => {
      const grader = createGrader(settings);
      const statuses = Object.entries(figures()).map(([object, value]) =>
        grader.grade(value, { warn: 80, fail: 95 }, object),
      );
      const status = (["fail", "warn"] as const).find((each) => statuses.includes(each)) ?? "pass";
      return Promise.resolve(grader.finish(found(status)));
    });

  it("keep the status of their object, over a restart that of the check", async () => {
    let figures = { a: 79, b: 10 };
    const history = createFakeCheckHistory();
    const first = rig([graded(() => figures)], { history });
    const statusWith = async (next: typeof figures, under: Rig = first) => {
      figures = next;
      return (await run(under, "usage")).status;
    };
    expect(await statusWith({ a: 79, b: 10 })).toBe("pass");
    expect(await statusWith({ a: 80, b: 10 })).toBe("warn");
    expect(await statusWith({ a: 79, b: 10 })).toBe("warn");
    // Not that of another.
    expect(await statusWith({ a: 10, b: 79 })).toBe("pass");
    expect(await statusWith({ a: 80, b: 10 })).toBe("warn");
    const second = rig([graded(() => figures)], { history });
    expect(await statusWith({ a: 79, b: 10 }, second)).toBe("warn");
    expect(await statusWith({ a: 77, b: 10 }, second)).toBe("pass");
    expect(await statusWith({ a: 79, b: 10 }, second)).toBe("pass");
  });

  it("keep their status over a failed run", async () => {
    let value: number | undefined = 80;
    const under = rig([
      check("usage", (settings, signal) => {
        if (value === undefined) return Promise.reject(new Error("no answer"));
        return graded(() => ({ a: value ?? 0 })).run(settings, signal);
      }),
    ]);
    expect((await run(under, "usage")).status).toBe("warn");
    value = undefined;
    expect((await run(under, "usage")).status).toBe("fail");
    value = 79;
    expect((await run(under, "usage")).status).toBe("warn");
  });
});
