import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import type { NotificationChannel } from "#contract/alerts.ts";
import { NotificationFailed } from "#domain/ports/notifications.ts";
import { createFakeClock, type FakeClock } from "../../../test/fakes/clock.ts";
import { createFakeNotificationStore, type FakeNotificationStore } from "../../../test/fakes/notification-store.ts";
import { createFakeNotifier, type FakeNotifier } from "../../../test/fakes/notifier.ts";
import type { CheckEvent } from "./checks.ts";
import { groupMs } from "./grouping.ts";
import { checkDraft } from "./messages.ts";
import { createOutbox, type Outbox } from "./outbox.ts";

let clock: FakeClock;
let store: FakeNotificationStore;
let channels: Map<NotificationChannel, FakeNotifier>;
let ids: number;
beforeEach(() => {
  clock = createFakeClock();
  store = createFakeNotificationStore();
  channels = new Map<NotificationChannel, FakeNotifier>([
    ["email", createFakeNotifier(["ops@example.org"])],
    ["webhook", Object.assign(createFakeNotifier(), { severity: "all" as const })],
  ]);
  ids = 0;
});

const open = () => {
  const outbox = createOutbox({
    ...{ store, channels, clock, host: "web1", onEnd: () => undefined },
    createId() {
      ids += 1;
      return `n${ids}`;
    },
    onTrouble(error) {
      throw error;
    },
  });
  outbox.start();
  return outbox;
};
/** What the old process does from here on reaches nobody: the next one has what was on disk. */
const crash = (outbox: Outbox): void => {
  outbox.dispose();
  const kept = store.notifications();
  store = createFakeNotificationStore();
  for (const each of kept) store.saveNotification(each);
};

type Level = "fail" | "warn" | "pass";
type Changes = Partial<Pick<CheckEvent["result"], "status" | "message"> & Pick<CheckEvent, "changes">>;
const draft = (id: string, hard: Level, { changes = 1, ...said }: Changes = {}) =>
  checkDraft(
    {
      result: {
        ...{ check_id: id, name: `Check ${id}`, severity: "high", status: hard, since: "2026-01-01T00:00:00.000Z" },
        ...{ message: `${id} is ${hard}`, ...said },
      },
      ...{ hard, before: "pass", isOver: hard === "pass", changes },
    },
    "web1",
    clock.now(),
  );
const taken = (channel: NotificationChannel) => channels.get(channel)?.taken ?? [];
const titles = (channel: NotificationChannel = "email") => taken(channel).map(({ title }) => title);

describe("notifications of checks that change within a short time", () => {
  it("are grouped into one message with a line for each check", async () => {
    const outbox = open();
    outbox.post(draft("raid", "fail"), ["email"]);
    await clock.advance(groupMs - 1);
    outbox.post(draft("smart", "fail", { changes: 3 }), ["email"]);
    expect(titles()).toEqual([]);
    await clock.advance(1);
    expect(titles()).toEqual(["[failed] 2 checks on web1"]);
    expect(taken("email")[0]).toMatchObject({
      ...{ id: "n1", kind: "check_failed", subject: "raid, smart", isGood: false, severity: "warning" },
      facts: [
        ["raid", "raid is fail"],
        ["smart", "smart is fail (3 changes)"],
        ["Time", expect.any(String)],
      ],
    });
    expect(outbox.list().filter(({ channel }) => channel === "email")).toMatchObject([
      { id: "n1", attempts: 1, outcome: "sent", subject: "raid, smart" },
    ]);
    await clock.advance(10 * groupMs);
    expect(titles()).toHaveLength(1);
    expect(store.notifications()).toHaveLength(3);
  });

  it("are not grouped for a single check, nor for a webhook", async () => {
    const outbox = open();
    outbox.post(draft("raid", "fail"), ["email"]);
    outbox.post({ ...draft("smart", "fail"), severity: "critical" }, ["email"]);
    await clock.advance(groupMs);
    expect(titles().toSorted()).toEqual(["[failed] Check raid on web1", "[failed] Check smart on web1"]);
    for (const id of ["dns", "swap"]) outbox.post(draft(id, "fail"), []);
    await clock.advance(0);
    expect(
      taken("webhook")
        .map(({ subject }) => subject)
        .toSorted(),
    ).toEqual(["dns", "raid", "smart", "swap"]);
  });

  it("are separate for critical failures, recoveries and other kinds of event", async () => {
    const outbox = open();
    const removed = { status: "skip", message: "the check was removed" } as const;
    outbox.post(draft("a", "pass"), ["email"]);
    outbox.post(draft("b", "pass", removed), ["email"]);
    outbox.post(draft("c", "fail"), ["email"]);
    outbox.post({ ...draft("d", "fail"), severity: "critical" }, ["email"]);
    outbox.post({ ...draft("e", "fail"), kind: "component_down", title: "e is unhealthy" }, ["email"]);
    await clock.advance(0);
    // What is critical does not wait.
    expect(titles().toSorted()).toEqual(["[failed] Check d on web1", "e is unhealthy"]);
    await clock.advance(groupMs);
    expect(titles().slice(2).sort()).toEqual(["[failed] Check c on web1", "[recovered] 2 checks on web1"]);
    expect(
      taken("email")
        .find(({ subject }) => subject === "a, b")
        ?.facts.slice(0, 2),
    ).toEqual([
      ["a", "a is pass"],
      ["b", "no longer checked: the check was removed"],
    ]);
  });

  it("are grouped by fifteen", async () => {
    const outbox = open();
    for (let at = 10; at < 30; at += 1) outbox.post(draft(`check${at}`, "fail"), ["email"]);
    await clock.advance(groupMs);
    expect(titles()).toEqual(["[failed] 5 checks on web1", "[failed] 15 checks on web1"]);
  });

  it("are sent once although the service is killed before, while and after they are sent", async () => {
    const first = open();
    for (const id of ["raid", "smart"]) first.post(draft(id, "fail"), ["email"]);
    crash(first);
    const email = channels.get("email") ?? createFakeNotifier();
    email.fault = new NotificationFailed("it answers 451", true);
    const second = open();
    await clock.advance(0);
    expect(store.notifications().map(({ subject, attempts }) => [subject, attempts])).toContainEqual([
      "raid, smart",
      1,
    ]);
    const tried = store.notifications().find(({ channel }) => channel === "email");
    crash(second);
    email.fault = undefined;
    const third = open();
    third.post(draft("dns", "fail"), ["email"]);
    await clock.advance(groupMs);
    expect(taken("email").map(({ id, subject }) => [id, subject])).toEqual([
      [tried?.id, "raid, smart"],
      [expect.any(String), "dns"],
    ]);
    crash(third);
    open();
    await clock.advance(10 * groupMs);
    expect(taken("email")).toHaveLength(2);
  });

  it("are sent once each and in order, over any changes, refusals and crashes", async () => {
    const step = fc.oneof(
      fc.record({ check: fc.constantFrom("a", "b", "c"), hard: fc.constantFrom<Level>("fail", "warn", "pass") }),
      fc.record({ waitMs: fc.constantFrom(1_000, groupMs) }),
      fc.constantFrom("crash" as const, "refuse" as const, "accept" as const),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        clock = createFakeClock();
        store = createFakeNotificationStore();
        const email = createFakeNotifier();
        channels = new Map([["email", email]]);
        let outbox = open();
        const posted: string[] = [];
        for (const each of steps) {
          if (each === "crash") {
            // One that is being sent may arrive twice, as any notification.
            await clock.advance(0);
            crash(outbox);
            outbox = open();
          } else if (each === "refuse") email.fault = new NotificationFailed("it answers 451", true);
          else if (each === "accept") email.fault = undefined;
          else if ("waitMs" in each) await clock.advance(each.waitMs);
          else {
            const what = `${each.check} ${each.hard} ${posted.length}`;
            posted.push(what);
            const notified = draft(each.check, each.hard);
            outbox.post(
              {
                ...notified,
                facts: [
                  ["Check", each.check],
                  ["What", what],
                ],
              },
              ["email"],
            );
          }
        }
        email.fault = undefined;
        await clock.advance(60 * 60_000);
        const notified = email.taken.flatMap(({ facts }) =>
          facts.flatMap(([name, text]) => (name === "Check" || name === "Time" ? [] : [text])),
        );
        expect(notified.toSorted()).toEqual(posted.toSorted());
        for (const check of ["a", "b", "c"]) {
          const isOf = (what: string): boolean => what.startsWith(check);
          expect(notified.filter(isOf)).toEqual(posted.filter(isOf));
        }
      }),
    );
  });
});
