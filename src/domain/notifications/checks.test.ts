import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import type { NotifyLevel } from "#contract/alerts.ts";
import type { CheckLevel, CheckStatus } from "#contract/checks.ts";
import { createFakeClock, type FakeClock } from "../../../test/fakes/clock.ts";
import { createFakeNotificationStore, type FakeNotificationStore } from "../../../test/fakes/notification-store.ts";
import { type CheckNews, createCheckWatch, mostTold, toldWindowMs } from "./checks.ts";

let clock: FakeClock;
let store: FakeNotificationStore;
let news: CheckNews[];
let troubles: unknown[];
let from: NotifyLevel;
let silenced: boolean;
beforeEach(() => {
  clock = createFakeClock();
  store = createFakeNotificationStore();
  news = [];
  troubles = [];
  from = "fail";
  silenced = false;
});

const ports = () => ({
  store,
  clock,
  notifyFrom: () => from,
  isSilenced: () => silenced,
  tell: (each: CheckNews) => void news.push(each),
  onTrouble: (error: unknown) => void troubles.push(error),
});
const start = () => createCheckWatch(ports());
const run = (hard: CheckLevel, status: CheckStatus = hard) => ({
  hard,
  result: {
    check_id: "disk_space",
    name: "Disk space",
    severity: "high" as const,
    status,
    message: `it is ${hard}`,
    since: "2026-01-01T00:00:00.000Z",
  },
});
const told = () => news.map(({ before, hard, changes }) => `${before} to ${hard}, ${changes}`);

describe("the watch over checks", () => {
  it("reports a hard failure once, and that it is over", () => {
    const watch = start();
    for (const hard of ["pass", "fail", "fail", "pass", "pass"] as const) watch.ran(run(hard));
    expect(told()).toEqual(["pass to fail, 1", "fail to pass, 1"]);
    expect(news[0]?.result.message).toBe("it is fail");
  });

  it("reports warnings where they are asked for, and otherwise only the end of a failure", async () => {
    const watch = start();
    watch.ran(run("warn"));
    expect(told()).toEqual([]);
    watch.ran(run("fail"));
    watch.ran(run("warn"));
    expect(told()).toEqual(["pass to fail, 1", "fail to warn, 1"]);
    from = "warn";
    await clock.advance(toldWindowMs);
    watch.ran(run("warn"));
    expect(told().at(-1)).toBe("pass to warn, 1");
  });

  it("says of each whether the trouble that it began is over", () => {
    const watch = start();
    for (const hard of ["fail", "warn"] as const) watch.ran(run(hard));
    expect(news.map(({ isOver }) => isOver)).toEqual([false, true]);
    from = "warn";
    news = [];
    const other = createCheckWatch({ ...ports(), store: createFakeNotificationStore() });
    for (const hard of ["fail", "warn"] as const) other.ran(run(hard));
    expect(news.map(({ isOver }) => isOver)).toEqual([false, false]);
  });

  it("takes no problem that is soft for the end of another, as after a restart, when nobody knows what was hard", () => {
    from = "warn";
    start().ran(run("fail"));
    const watch = start();
    watch.ran(run("pass", "fail"));
    watch.ran(run("fail"));
    watch.ran(run("pass", "warn"));
    expect(told()).toEqual(["pass to fail, 1"]);
    watch.ran(run("pass"));
    expect(told().at(-1)).toBe("fail to pass, 1");
  });

  it("ends what it reported of a check that is removed", () => {
    const watch = start();
    watch.ran(run("fail"));
    watch.gone("disk_space");
    watch.gone("disk_space");
    watch.gone("never_run");
    expect(told()).toEqual(["pass to fail, 1", "fail to pass, 1"]);
    expect(news.at(-1)).toMatchObject({ isOver: true, result: { status: "skip", message: "the check was removed" } });
  });

  const failedOnce = (severity: "critical" | "warning") =>
    store.saveNotification({
      id: "n1",
      kind: "check_failed",
      subject: "disk_space",
      channel: "pagerduty",
      to: [],
      message: { id: "n1", at: 0, isGood: false, severity, title: "[failed] Disk space", facts: [] },
      attempts: 1,
      outcome: "sent",
      error: null,
      endedAt: 0,
    });

  it.each(["critical", "warning"] as const)(
    "ends what was reported of a check that is not there after a restart, to those who were sent it: %s",
    (severity) => {
      start().ran(run("fail"));
      failedOnce(severity);
      news = [];
      start().reconcile(["memory"]);
      start().reconcile(["memory"]);
      expect(news).toMatchObject([
        {
          before: "fail",
          hard: "pass",
          isOver: true,
          result: {
            check_id: "disk_space",
            severity: severity === "critical" ? "critical" : "high",
            status: "skip",
            message: "the check is switched off or was removed",
          },
        },
      ]);
    },
  );

  it("ends it as critical where nobody knows any more what was sent: then all hear of it", () => {
    start().ran(run("fail"));
    news = [];
    start().reconcile([]);
    expect(news).toMatchObject([{ isOver: true, result: { severity: "critical" } }]);
  });

  it("ends what was reported of a check of which nobody wants to know any more", () => {
    start().ran(run("fail"));
    news = [];
    from = "never";
    const watch = start();
    watch.ran(run("fail"));
    watch.reconcile(["disk_space"]);
    expect(news).toMatchObject([
      { isOver: true, isUnreported: true, result: { message: "settings say that it is not reported (notify: never)" } },
    ]);
  });

  it("ends it although people were told twice within the hour, or the check is silenced: no run would do so later", () => {
    const watch = start();
    for (const hard of ["fail", "pass"] as const) watch.ran(run(hard));
    store.saveCheck({ name: "memory", told: "fail", seen: "fail", toldAgesMs: [1, 2], changes: 0, savedAt: 0 });
    silenced = true;
    news = [];
    start().reconcile(["disk_space"]);
    expect(news.map(({ result }) => result.check_id)).toEqual(["memory"]);
  });

  it("ends nothing of a check that is there, nor what was never reported", () => {
    const watch = start();
    watch.ran(run("fail"));
    store.saveCheck({ name: "memory", told: "pass", seen: "fail", toldAgesMs: [], changes: 0, savedAt: 0 });
    news = [];
    start().reconcile(["disk_space"]);
    expect(news).toEqual([]);
  });

  it("ends what an earlier process reported of a check that is removed before its first run", () => {
    start().ran(run("fail"));
    news = [];
    start().gone("disk_space");
    expect(news).toMatchObject([{ isOver: true, result: { message: "the check was removed" } }]);
  });

  it("reports nothing of a check of which nobody wants to know", () => {
    from = "never";
    const watch = start();
    watch.ran(run("fail"));
    watch.ran(run("pass"));
    expect(told()).toEqual([]);
  });

  it("reports nothing while the check is silenced, and a failure that lasts when the silence ends", () => {
    silenced = true;
    const watch = start();
    watch.ran(run("fail"));
    expect(told()).toEqual([]);
    silenced = false;
    watch.ran(run("fail"));
    expect(told()).toEqual(["pass to fail, 1"]);
  });

  it("reports nothing twice over restarts, and what changed meanwhile", async () => {
    start().ran(run("fail"));
    start().ran(run("fail"));
    expect(told()).toEqual(["pass to fail, 1"]);
    await clock.advance(60_000);
    start().ran(run("pass"));
    start().ran(run("pass"));
    expect(told()).toEqual(["pass to fail, 1", "fail to pass, 1"]);
  });

  it("reports a check that flaps twice within an hour, and then how often it changed", async () => {
    const watch = start();
    for (let minute = 0; minute < 60; minute += 1) {
      watch.ran(run(minute % 2 === 0 ? "fail" : "pass"));
      await clock.advance(60_000);
    }
    expect(told()).toEqual(["pass to fail, 1", "fail to pass, 1"]);
    watch.ran(run("fail"));
    expect(told().at(-1)).toBe("pass to fail, 59");
  });

  it("reports it although nothing can be stored", () => {
    const watch = start();
    store.fault = new Error("disk full");
    watch.ran(run("fail"));
    watch.ran(run("fail"));
    expect(told()).toEqual(["pass to fail, 1"]);
    expect(troubles).toHaveLength(1);
  });

  it("reports at most twice an hour, and the last state in the end, over any changes and restarts", async () => {
    const step = fc.record({
      hard: fc.constantFrom<CheckLevel>("pass", "warn", "fail"),
      waitMs: fc.constantFrom(1_000, 60_000, 15 * 60_000, 50 * 60_000),
      isRestarted: fc.boolean(),
      isSetBack: fc.boolean(),
    });
    const property = fc.asyncProperty(
      fc.array(step, { maxLength: 40 }),
      fc.constantFrom<NotifyLevel>("fail", "warn"),
      async (steps, level) => {
        clock = createFakeClock();
        store = createFakeNotificationStore();
        from = level;
        const times: number[] = [];
        news = [];
        let watch = start();
        for (const { hard, waitMs, isRestarted, isSetBack } of steps) {
          const count = news.length;
          watch.ran(run(hard));
          if (news.length > count) times.push(clock.monotonicMs());
          await clock.advance(waitMs);
          // A clock that goes back makes ages only longer than they are known to be.
          if (isSetBack && !isRestarted) clock.set(clock.now() - 5_000);
          if (isRestarted) watch = start();
        }
        for (const [at, time] of times.entries()) {
          const earlier = times[at - mostTold];
          if (earlier !== undefined) expect(time - earlier).toBeGreaterThanOrEqual(toldWindowMs);
        }
        for (const [at, each] of news.entries()) {
          const levels = at === 0 ? "pass" : news[at - 1]?.hard;
          expect(each.before).toBe(level === "fail" && levels === "warn" ? "pass" : levels);
        }
        await clock.advance(2 * toldWindowMs);
        const last = steps.at(-1)?.hard ?? "pass";
        watch.ran(run(last));
        const known = store.checks()[0]?.told ?? "pass";
        expect(known).toBe(level === "fail" && last === "warn" ? "pass" : last);
      },
    );
    await fc.assert(property);
  });
});
