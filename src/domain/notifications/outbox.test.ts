import { beforeEach, describe, expect, it, vi } from "vitest";
import type { NotificationChannel } from "#contract/alerts.ts";
import { NotificationFailed } from "#domain/ports/notifications.ts";
import { createFakeClock, type FakeClock } from "../../../test/fakes/clock.ts";
import { createFakeNotificationStore, type FakeNotificationStore } from "../../../test/fakes/notification-store.ts";
import { createFakeNotifier, type FakeNotifier } from "../../../test/fakes/notifier.ts";
import type { Draft } from "./messages.ts";
import { createOutbox, pauseAfter } from "./outbox.ts";

let clock: FakeClock;
let store: FakeNotificationStore;
let chat: FakeNotifier;
let email: FakeNotifier;
let ended: string[];
let troubles: unknown[];
let ids: number;
beforeEach(() => {
  clock = createFakeClock();
  store = createFakeNotificationStore();
  chat = createFakeNotifier();
  email = createFakeNotifier(["ops@example.org"]);
  ended = [];
  troubles = [];
  ids = 0;
});

const open = (channels?: ReadonlyMap<NotificationChannel, FakeNotifier>) => {
  const outbox = createOutbox({
    store,
    channels:
      channels ??
      new Map<NotificationChannel, FakeNotifier>([
        ["chat", chat],
        ["email", email],
      ]),
    clock,
    createId() {
      ids += 1;
      return `n${ids}`;
    },
    host: "web1",
    onEnd: (channel, outcome, error) => void ended.push([channel, outcome, error ?? ""].join(" ").trim()),
    onTrouble: (error) => void troubles.push(error),
  });
  outbox.start();
  return outbox;
};
/** What the old process does from here on reaches nobody: the next one has what was on disk. */
const crash = (): void => {
  const kept = store.notifications();
  store = createFakeNotificationStore();
  for (const each of kept) store.saveNotification(each);
};
const draft = (subject: string, changes: Partial<Draft> = {}): Draft => ({
  kind: "component_down",
  subject,
  at: clock.now(),
  isGood: false,
  title: `${subject} is unhealthy`,
  facts: [],
  ...changes,
});
const titles = ({ taken }: FakeNotifier) => taken.map(({ title }) => title.split(" ")[0]);
const signal = new AbortController().signal;
const later = new NotificationFailed("it answers 503", true);

describe("the outbox", () => {
  it("sends to each channel, and keeps a record of each", async () => {
    const outbox = open();
    outbox.post(draft("web"), ["chat", "email", "paging_chat"]);
    await clock.advance(0);
    expect([titles(chat), titles(email)]).toEqual([["web"], ["web"]]);
    expect(outbox.list()).toMatchObject([
      { id: "n2", channel: "email", to: ["ops@example.org"], attempts: 1, outcome: "sent", error: null },
      { id: "n1", channel: "chat", to: [], attempts: 1, outcome: "sent", error: null },
    ]);
    expect(ended).toEqual(["chat sent", "email sent"]);
  });

  it("ends a critical incident at a channel for critical events alone when the check only warns", async () => {
    const pagerduty = Object.assign(createFakeNotifier(), { severity: "critical" as const });
    const opsgenie = Object.assign(createFakeNotifier(), { severity: "all" as const });
    const outbox = open(
      new Map<NotificationChannel, FakeNotifier>([
        ["pagerduty", pagerduty],
        ["opsgenie", opsgenie],
      ]),
    );
    outbox.post(draft("memory", { kind: "check_failed", severity: "critical" }), []);
    outbox.post(draft("memory", { kind: "check_warned", severity: "critical" }), []);
    outbox.post(draft("memory", { kind: "check_recovered", severity: "warning", isGood: true }), []);
    await clock.advance(0);
    const seen = ({ taken }: FakeNotifier) => taken.map(({ kind, isGood }) => [kind, isGood]);
    expect(seen(pagerduty)).toEqual([
      ["check_failed", false],
      ["check_recovered", true],
    ]);
    expect(seen(opsgenie)).toEqual([
      ["check_failed", false],
      ["check_warned", false],
      ["check_recovered", true],
    ]);
  });

  it("routes by severity to the channels that have one, no matter who posts", async () => {
    const ntfy = Object.assign(createFakeNotifier(), { severity: "all" as const });
    const pagerduty = Object.assign(createFakeNotifier(), { severity: "critical" as const });
    const outbox = open(
      new Map<NotificationChannel, FakeNotifier>([
        ["chat", chat],
        ["ntfy", ntfy],
        ["pagerduty", pagerduty],
      ]),
    );
    for (const [posted, wanted] of [
      [draft("web"), ["chat"]],
      [draft("DiskSpaceLow", { kind: "alert_firing", severity: "critical" }), ["chat", "ntfy"]],
      [draft("updates.automatic", { kind: "updates_installed" }), []],
    ] as const) {
      outbox.post(posted, wanted);
      await clock.advance(0);
    }
    expect([chat, ntfy, pagerduty].map(({ taken }) => taken.map(({ subject }) => subject))).toEqual([
      ["web", "DiskSpaceLow"],
      ["web", "DiskSpaceLow", "updates.automatic"],
      ["DiskSpaceLow"],
    ]);
  });

  it("retries with growing pauses of at most a quarter of an hour", async () => {
    const outbox = open();
    chat.fault = later;
    outbox.post(draft("a"), ["chat"]);
    await clock.advance(0);
    await clock.advance(10_000 + 20_000 + 40_000 - 1);
    expect(chat.attempts()).toBe(3);
    expect(outbox.list()[0]).toMatchObject({ attempts: 3, outcome: "queued", error: "it answers 503" });
    chat.fault = undefined;
    await clock.advance(1);
    expect(titles(chat)).toEqual(["a"]);
    expect(outbox.list()).toMatchObject([{ attempts: 4, outcome: "sent" }]);
    expect([1, 2, 7, 8, 1000].map(pauseAfter)).toEqual([10_000, 20_000, 640_000, 900_000, 900_000]);
  });

  it("sends a message at once while another one has been retried for hours", async () => {
    const outbox = open();
    chat.fault = ({ title }) => (title.startsWith("a ") ? later : undefined);
    outbox.post(draft("a"), ["chat"]);
    await clock.advance(3 * 3_600_000);
    outbox.post(draft("b"), ["chat"]);
    await clock.advance(0);
    expect(titles(chat)).toEqual(["b"]);
    expect(outbox.list()[1]).toMatchObject({ outcome: "queued", error: "it answers 503" });
  });

  it("sends the newest first of those that came while one was being sent", async () => {
    const first = Promise.withResolvers<void>();
    const slow = { ...chat, send: vi.fn(chat.send).mockImplementationOnce(() => first.promise) };
    const outbox = open(new Map([["chat", slow]]));
    for (const subject of ["a", "b", "c"]) outbox.post(draft(subject), ["chat"]);
    first.resolve();
    await clock.advance(0);
    expect(titles(chat)).toEqual(["c", "b"]);
  });

  it("keeps the order of messages of one subject", async () => {
    const outbox = open();
    chat.fault = later;
    outbox.post(draft("a"), ["chat"]);
    await clock.advance(3 * 60_000);
    outbox.post(draft("b"), ["chat"]);
    outbox.post({ ...draft("a"), title: "a-again is well" }, ["chat"]);
    await clock.advance(1_000);
    chat.fault = undefined;
    await clock.advance(15 * 60_000);
    expect(titles(chat).filter((title) => title?.startsWith("a"))).toEqual(["a", "a-again"]);
    expect(titles(chat)).toHaveLength(3);
  });

  it("gives up at once on a permanent refusal, and after hours on a temporary one", async () => {
    const outbox = open();
    email.fault = new NotificationFailed("no such user", false);
    outbox.post(draft("web"), ["email"]);
    await clock.advance(0);
    expect(outbox.list()[0]).toMatchObject({ attempts: 1, outcome: "failed", error: "no such user" });
    email.fault = later;
    outbox.post(draft("web"), ["email"]);
    await clock.advance(5 * 3_600_000);
    expect(outbox.list()[0]).toMatchObject({ outcome: "queued" });
    await clock.advance(3 * 3_600_000);
    expect(outbox.list()[0]).toMatchObject({ attempts: 30, outcome: "failed" });
    expect(ended).toEqual(["email failed no such user", "email failed it answers 503"]);
  });

  it("gives up an attempt that ignores its signal", async () => {
    const hanging = createFakeNotifier();
    const outbox = open(new Map([["chat", { ...hanging, send: () => new Promise<void>(() => undefined) }]]));
    outbox.post(draft("web"), ["chat"]);
    await clock.advance(30_000);
    expect(outbox.list()[0]).toMatchObject({ attempts: 1, outcome: "queued", error: "no answer in time" });
  });

  it("does not show unexpected errors, which may contain the address", async () => {
    const outbox = open();
    chat.fault = new Error("connect https://hooks.example.org/secret");
    outbox.post(draft("web"), ["chat"]);
    await clock.advance(0);
    expect(JSON.stringify(outbox.list())).not.toContain("secret");
  });

  it("sends queued messages once after a crash, and continues counting attempts", async () => {
    chat.fault = later;
    open().post(draft("web"), ["chat"]);
    await clock.advance(0);
    await clock.advance(10_000);
    expect(chat.attempts()).toBe(2);
    crash();
    chat = createFakeNotifier();
    const outbox = open();
    await clock.advance(0);
    expect(titles(chat)).toEqual(["web"]);
    expect(outbox.list()).toMatchObject([{ attempts: 3, outcome: "sent" }]);
    crash();
    open();
    await clock.advance(3_600_000);
    expect(titles(chat)).toEqual(["web"]);
  });

  it("sends a message again under the same id if a crash left its outcome unknown", async () => {
    chat.fault = () => {
      // Killed after it was taken, and before that could be written down.
      crash();
      return undefined;
    };
    open().post(draft("web"), ["chat"]);
    await clock.advance(0);
    chat.fault = undefined;
    open();
    await clock.advance(0);
    expect(chat.taken.map(({ id }) => id)).toEqual(["n1", "n1"]);
  });

  it("sends although nothing can be stored", async () => {
    store.fault = new Error("disk full");
    const outbox = open();
    outbox.post(draft("disk"), ["chat"]);
    await clock.advance(0);
    expect(titles(chat)).toEqual(["disk"]);
    expect(outbox.list()).toMatchObject([{ outcome: "sent" }]);
    expect(troubles.length).toBeGreaterThan(0);
  });

  it("drops the oldest of too many queued messages, and keeps a bounded record", async () => {
    chat.fault = later;
    const outbox = open();
    for (let count = 0; count < 250; count += 1) outbox.post(draft(`c${count}`), ["chat"]);
    expect(outbox.list().filter(({ outcome }) => outcome === "queued")).toHaveLength(200);
    expect(ended.filter((each) => each.startsWith("chat dropped"))).toHaveLength(50);
    // The first, which is on its way, is not among them.
    expect(outbox.list().find(({ subject }) => subject === "c0")).toMatchObject({ outcome: "queued" });
    for (let count = 0; count < 1500; count += 1) {
      outbox.post(draft("x"), ["email"]);
      await clock.advance(0);
    }
    expect([outbox.list().length, store.notifications().length]).toEqual([1000, 1000]);
    expect(outbox.list().filter(({ outcome }) => outcome === "queued")).toHaveLength(200);
  });

  it("fails queued messages of a channel that is no longer configured", () => {
    chat.fault = later;
    open().post(draft("web"), ["chat"]);
    const outbox = open(new Map([["email", email]]));
    expect(outbox.list()[0]).toMatchObject({ outcome: "failed", error: "its channel is no longer configured" });
  });

  it("sends a test message once, without retries", async () => {
    const outbox = open();
    email.fault = later;
    const results = await outbox.sendNow(draft("test"), ["chat", "email"], signal);
    expect(results).toMatchObject([
      { channel: "chat", outcome: "sent" },
      { channel: "email", outcome: "failed", error: "it answers 503", attempts: 1 },
    ]);
    await clock.advance(3_600_000);
    open();
    await clock.advance(3_600_000);
    expect([chat.attempts(), email.attempts()]).toEqual([1, 1]);
  });

  describe("with the end of an incident", () => {
    let pagerduty: FakeNotifier;
    const openIncidents = () => open(new Map<NotificationChannel, FakeNotifier>([["pagerduty", pagerduty]]));
    const over = (subject: string): Draft => draft(subject, { kind: "check_recovered", isGood: true });
    const dayMs = 24 * 60 * 60_000;
    beforeEach(() => {
      pagerduty = createFakeNotifier();
      pagerduty.fault = later;
    });

    it("is sent once the service answers again, after any number of failures and over restarts", async () => {
      const outbox = openIncidents();
      outbox.post(over("memory"), ["pagerduty"]);
      await clock.advance(2 * dayMs);
      expect(ended).toEqual([]);
      outbox.dispose();
      crash();
      openIncidents();
      await clock.advance(dayMs);
      pagerduty.fault = undefined;
      await clock.advance(dayMs);
      expect(titles(pagerduty)).toEqual(["memory"]);
      expect(ended).toEqual(["pagerduty sent"]);
    });

    it("is retried once an hour after it has failed for six hours", async () => {
      const outbox = openIncidents();
      outbox.post(over("memory"), ["pagerduty"]);
      await clock.advance(dayMs);
      const attempts = outbox.list()[0]?.attempts ?? 0;
      await clock.advance(dayMs);
      expect((outbox.list()[0]?.attempts ?? 0) - attempts).toBe(24);
    });

    it("is given up after thirty days, and at once on a permanent refusal", async () => {
      const outbox = openIncidents();
      outbox.post(over("memory"), ["pagerduty"]);
      await clock.advance(31 * dayMs);
      expect(ended).toEqual(["pagerduty failed it answers 503"]);
      pagerduty.fault = new NotificationFailed("it answers 400", false);
      outbox.post(over("swap"), ["pagerduty"]);
      await clock.advance(0);
      expect(ended.at(-1)).toBe("pagerduty failed it answers 400");
    });

    it("is kept in a full queue, from which the start of incidents is dropped first", async () => {
      const outbox = openIncidents();
      outbox.post(over("memory"), ["pagerduty"]);
      await clock.advance(0);
      for (let at = 0; at < 300; at += 1) outbox.post(draft(`web-${at}`), ["pagerduty"]);
      pagerduty.fault = undefined;
      await clock.advance(dayMs);
      expect(titles(pagerduty)).toContain("memory");
    });

    it("is dropped for newer ones of its kind when the queue is full of them", async () => {
      const outbox = openIncidents();
      for (let at = 0; at < 300; at += 1) outbox.post(over(`web-${at}`), ["pagerduty"]);
      await clock.advance(0);
      expect(outbox.list().filter(({ outcome }) => outcome === "queued")).toHaveLength(200);
      expect(ended.filter((each) => each.startsWith("pagerduty dropped"))).toHaveLength(100);
    });

    it("is replaced by a later event of the same incident after six hours", async () => {
      const outbox = openIncidents();
      outbox.post(over("memory"), ["pagerduty"]);
      await clock.advance(dayMs);
      outbox.post(over("memory"), ["pagerduty"]);
      await clock.advance(0);
      expect(ended).toEqual(["pagerduty dropped a later event replaced it"]);
    });

    it("is given up by other channels after six hours", async () => {
      chat.fault = later;
      open().post(over("memory"), ["chat"]);
      await clock.advance(dayMs);
      expect(ended).toEqual(["chat failed it answers 503"]);
    });
  });
});
