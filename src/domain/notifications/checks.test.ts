import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import type { NotifyLevel } from "#contract/alerts.ts";
import type { CheckLevel, CheckStatus } from "#contract/checks.ts";
import { createFakeClock, type FakeClock } from "../../../test/fakes/clock.ts";
import { createFakeNotificationStore, type FakeNotificationStore } from "../../../test/fakes/notification-store.ts";
import { type CheckEvent, createCheckWatch, mostNotified, notifiedWindowMs } from "./checks.ts";

let clock: FakeClock;
let store: FakeNotificationStore;
let event: CheckEvent[];
let troubles: unknown[];
let from: NotifyLevel;
let silenced: boolean;
beforeEach(() => {
  clock = createFakeClock();
  store = createFakeNotificationStore();
  event = [];
  troubles = [];
  from = "fail";
  silenced = false;
});

const ports = () => ({
  store,
  clock,
  notifyFrom: () => from,
  isSilenced: () => silenced,
  notify: (each: CheckEvent) => void event.push(each),
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
const notified = () => event.map(({ before, hard, changes }) => `${before} to ${hard}, ${changes}`);

describe("notifications of a check", () => {
  it("come for warnings if settings ask for them, and else only for failures and their end", async () => {
    const watch = start();
    watch.ran(run("warn"));
    expect(notified()).toEqual([]);
    watch.ran(run("fail"));
    watch.ran(run("warn"));
    expect(notified()).toEqual(["pass to fail, 1", "fail to warn, 1"]);
    from = "warn";
    await clock.advance(notifiedWindowMs);
    watch.ran(run("warn"));
    expect(notified().at(-1)).toBe("pass to warn, 1");
  });

  it("say whether the incident that they began is over", () => {
    const watch = start();
    for (const hard of ["fail", "warn"] as const) watch.ran(run(hard));
    expect(event.map(({ isOver }) => isOver)).toEqual([false, true]);
    from = "warn";
    event = [];
    const other = createCheckWatch({ ...ports(), store: createFakeNotificationStore() });
    for (const hard of ["fail", "warn"] as const) other.ran(run(hard));
    expect(event.map(({ isOver }) => isOver)).toEqual([false, false]);
  });

  it("do not take a soft state for the end of a hard failure, as after a restart", () => {
    from = "warn";
    start().ran(run("fail"));
    const watch = start();
    watch.ran(run("pass", "fail"));
    watch.ran(run("fail"));
    watch.ran(run("pass", "warn"));
    expect(notified()).toEqual(["pass to fail, 1"]);
    watch.ran(run("pass"));
    expect(notified().at(-1)).toBe("fail to pass, 1");
  });

  it("end the incident of a check that is removed", () => {
    const watch = start();
    watch.ran(run("fail"));
    watch.gone("disk_space");
    watch.gone("disk_space");
    watch.gone("never_run");
    expect(notified()).toEqual(["pass to fail, 1", "fail to pass, 1"]);
    expect(event.at(-1)).toMatchObject({ isOver: true, result: { status: "skip", message: "the check was removed" } });
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
    "end the incident of a check that is gone after a restart with the severity it began with: %s",
    (severity) => {
      start().ran(run("fail"));
      failedOnce(severity);
      event = [];
      start().reconcile(["memory"]);
      start().reconcile(["memory"]);
      expect(event).toMatchObject([
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

  it("end the incident of a check that is gone as critical if its severity is no longer known", () => {
    start().ran(run("fail"));
    event = [];
    start().reconcile([]);
    expect(event).toMatchObject([{ isOver: true, result: { severity: "critical" } }]);
  });

  it("end the incident of a check that settings no longer notify of", () => {
    start().ran(run("fail"));
    event = [];
    from = "never";
    const watch = start();
    watch.ran(run("fail"));
    watch.reconcile(["disk_space"]);
    expect(event).toMatchObject([
      { isOver: true, isUnreported: true, result: { message: "settings say that it is not reported (notify: never)" } },
    ]);
  });

  it("end the incident of a check that is gone despite the limit per hour and silences", () => {
    const watch = start();
    for (const hard of ["fail", "pass"] as const) watch.ran(run(hard));
    store.saveCheck({ name: "memory", notified: "fail", seen: "fail", notifiedAgesMs: [1, 2], changes: 0, savedAt: 0 });
    silenced = true;
    event = [];
    start().reconcile(["disk_space"]);
    expect(event.map(({ result }) => result.check_id)).toEqual(["memory"]);
  });

  it("do not end the incident of a check that still exists, nor one that was never notified", () => {
    const watch = start();
    watch.ran(run("fail"));
    store.saveCheck({ name: "memory", notified: "pass", seen: "fail", notifiedAgesMs: [], changes: 0, savedAt: 0 });
    event = [];
    start().reconcile(["disk_space"]);
    expect(event).toEqual([]);
  });

  it("end the incident of a check that is removed before its first run in this process", () => {
    start().ran(run("fail"));
    event = [];
    start().gone("disk_space");
    expect(event).toMatchObject([{ isOver: true, result: { message: "the check was removed" } }]);
  });

  it("do not come for a check with notify: never", () => {
    from = "never";
    const watch = start();
    watch.ran(run("fail"));
    watch.ran(run("pass"));
    expect(notified()).toEqual([]);
  });

  it("of a check that flaps are two within an hour, and the next one says how often it changed", async () => {
    const watch = start();
    for (let minute = 0; minute < 60; minute += 1) {
      watch.ran(run(minute % 2 === 0 ? "fail" : "pass"));
      await clock.advance(60_000);
    }
    expect(notified()).toEqual(["pass to fail, 1", "fail to pass, 1"]);
    watch.ran(run("fail"));
    expect(notified().at(-1)).toBe("pass to fail, 59");
  });

  it("come although nothing can be stored", () => {
    const watch = start();
    store.fault = new Error("disk full");
    watch.ran(run("fail"));
    watch.ran(run("fail"));
    expect(notified()).toEqual(["pass to fail, 1"]);
    expect(troubles).toHaveLength(1);
  });

  it("are at most two an hour and end with the last state, over any changes and restarts", async () => {
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
        event = [];
        let watch = start();
        for (const { hard, waitMs, isRestarted, isSetBack } of steps) {
          const count = event.length;
          watch.ran(run(hard));
          if (event.length > count) times.push(clock.monotonicMs());
          await clock.advance(waitMs);
          // A clock that goes back makes ages only longer than they are known to be.
          if (isSetBack && !isRestarted) clock.set(clock.now() - 5_000);
          if (isRestarted) watch = start();
        }
        for (const [at, time] of times.entries()) {
          const earlier = times[at - mostNotified];
          if (earlier !== undefined) expect(time - earlier).toBeGreaterThanOrEqual(notifiedWindowMs);
        }
        for (const [at, each] of event.entries()) {
          const levels = at === 0 ? "pass" : event[at - 1]?.hard;
          expect(each.before).toBe(level === "fail" && levels === "warn" ? "pass" : levels);
        }
        await clock.advance(2 * notifiedWindowMs);
        const last = steps.at(-1)?.hard ?? "pass";
        watch.ran(run(last));
        const known = store.checks()[0]?.notified ?? "pass";
        expect(known).toBe(level === "fail" && last === "warn" ? "pass" : last);
      },
    );
    await fc.assert(property);
  });
});
