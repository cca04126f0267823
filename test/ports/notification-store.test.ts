import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { exec } from "#adapters/exec/index.ts";
import type {
  NotificationStore,
  StoredCheck,
  StoredComponent,
  StoredNotification,
} from "#domain/ports/notifications.ts";
import { createFakeNotificationStore } from "../fakes/notification-store.ts";
import { useAlertDatabase } from "./support/alert-database.ts";

const notification = (id: string, changes: Partial<StoredNotification> = {}): StoredNotification => ({
  id,
  kind: "component_down",
  subject: "web",
  channel: "email",
  to: ["ops@example.org", "night@example.org"],
  message: { id, at: 1_700_000_000_000, isGood: false, title: 'web is "not" well – ü', facts: [["Reason", "a\"b'c"]] },
  attempts: 0,
  outcome: "queued",
  error: null,
  endedAt: null,
  ...changes,
});
const component = (changes: Partial<StoredComponent> = {}): StoredComponent => ({
  name: "web",
  isDown: true,
  changeAgesMs: [0, 1500.25],
  flaps: 4,
  pending: 2,
  savedAt: 1_700_000_000_000,
  ...changes,
});

const check = (changes: Partial<StoredCheck> = {}): StoredCheck => ({
  name: "disk_space",
  told: "fail",
  seen: "warn",
  toldAgesMs: [0, 1500.25],
  changes: 3,
  savedAt: 1_700_000_000_000,
  ...changes,
});

const database = useAlertDatabase();
const openReal = (): NotificationStore => database.open().notifications;

describe.each([
  ["fake", createFakeNotificationStore],
  ["sqlite", openReal],
] as const)("notification store: %s", (_, make: () => NotificationStore) => {
  it("starts empty", () => {
    const store = make();
    expect([store.notifications(), store.components(), store.checks()]).toEqual([[], [], []]);
  });

  it("keeps the last of each check, by name", () => {
    const store = make();
    for (const each of [check(), check({ name: "memory", toldAgesMs: [] }), check({ told: "pass" })])
      store.saveCheck(each);
    expect(store.checks()).toEqual([check({ told: "pass" }), check({ name: "memory", toldAgesMs: [] })]);
  });

  it("keeps what belongs together whole or not at all", () => {
    const store = make();
    const save = (): void => {
      store.saveNotification(notification("a"));
      store.saveCheck(check());
    };
    const fail = (): void => {
      save();
      throw new Error("in between");
    };
    expect(() => store.together(fail)).toThrow("in between");
    expect([store.notifications(), store.checks()]).toEqual([[], []]);
    store.together(save);
    expect([store.notifications(), store.checks()]).toEqual([[notification("a")], [check()]]);
  });

  it("gives notifications in their order of coming, each as it was saved last", () => {
    const store = make();
    const [b, a] = [notification("b"), notification("a", { kind: "test", channel: "chat", to: [] })];
    store.saveNotification(b);
    store.saveNotification(a);
    const message = { ...b.message, title: "two of them", facts: [["What", "both"]] } as const;
    const about = { ...b, subject: "web, db", message };
    const sent = { ...about, attempts: 3, outcome: "sent", error: "it answered 503", endedAt: 5 } as const;
    store.saveNotification(sent);
    expect(store.notifications()).toEqual([sent, a]);
  });

  it("keeps the severity of those that have one", () => {
    const store = make();
    const { message } = notification("a");
    const critical = notification("a", { message: { ...message, severity: "critical" } });
    store.saveNotification(critical);
    store.saveNotification(notification("b"));
    expect(store.notifications()).toEqual([critical, notification("b")]);
  });

  it("forgets a notification", () => {
    const store = make();
    store.saveNotification(notification("a"));
    store.saveNotification(notification("b"));
    store.forgetNotification("a");
    store.forgetNotification("of nobody");
    expect(store.notifications()).toEqual([notification("b")]);
  });

  it("keeps the last of each component, by name, until it is forgotten", () => {
    const store = make();
    store.saveComponent(component());
    store.saveComponent(component({ name: "ops", isDown: false, changeAgesMs: [], flaps: 0, pending: 0 }));
    store.saveComponent(component({ flaps: 5 }));
    expect(store.components().map(({ name, flaps }) => [name, flaps])).toEqual([
      ["ops", 0],
      ["web", 5],
    ]);
    expect(store.components()[1]).toEqual(component({ flaps: 5 }));
    store.forgetComponent("ops");
    expect(store.components().map(({ name }) => name)).toEqual(["web"]);
  });
});

describe("notifications on disk", () => {
  it("are private, and there again when they are opened again", () => {
    const store = openReal();
    store.saveNotification(notification("a"));
    store.saveComponent(component());
    for (const path of [database.file(), `${database.file()}-wal`]) expect(statSync(path).mode & 0o777).toBe(0o600);
    const again = openReal();
    expect([again.notifications(), again.components()]).toEqual([[notification("a")], [component()]]);
    expect(database.troubles()).toEqual([]);
  });

  it("are there beside what was told of checks in a file of a version that did not know of these", () => {
    openReal().saveNotification(notification("a"));
    database.close();
    const tables = new DatabaseSync(database.file());
    tables.exec("DROP TABLE checks");
    tables.close();
    const store = openReal();
    store.saveCheck(check());
    expect([store.notifications(), store.checks()]).toEqual([[notification("a")], [check()]]);
    expect(database.troubles()).toEqual([]);
  });

  it("are all there when their process is killed", async () => {
    const module = new URL("../../src/adapters/alert-store/index.ts", import.meta.url).href;
    const program = `
      const { openAlertStore } = await import(${JSON.stringify(module)});
      const { notifications } = openAlertStore({ stateDir: process.argv[1], onTrouble: (error) => { throw error; } });
      const first = JSON.parse(process.argv[2]);
      for (let count = 0; count < 100; count += 1) notifications.saveNotification({ ...first, id: "n" + count });
      process.kill(process.pid, "SIGKILL");`;
    const operands = [database.stateDir(), JSON.stringify(notification("n"))];
    await exec([process.execPath, "--input-type=module", "-e", program, ...operands], { timeoutMs: 60_000 }).catch(
      () => undefined,
    );
    expect(openReal().notifications()).toHaveLength(100);
    expect(database.troubles()).toEqual([]);
  });

  it("leave out what another version has written and this one does not know", () => {
    openReal().saveNotification(notification("a"));
    database.close();
    const tables = new DatabaseSync(database.file());
    const rest = "at, is_good, title, facts, attempts, outcome, error, ended_at FROM notifications WHERE id = 'a'";
    for (const columns of [
      "9, 'b', 'pigeon', subject, channel, recipients",
      "10, 'c', kind, subject, channel, 'no list'",
    ])
      tables.exec(`INSERT INTO notifications SELECT ${columns}, ${rest}`);
    tables.close();
    expect(openReal().notifications()).toEqual([notification("a")]);
  });
});
