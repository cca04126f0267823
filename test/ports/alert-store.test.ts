import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openAlertStore, type SqliteAlertStore } from "#adapters/alert-store/index.ts";
import type { StoredAlert, StoredSilence } from "#domain/ports/alerts.ts";
import type { StoredCheck, StoredComponent } from "#domain/ports/notifications.ts";
import { directoryPerTest } from "./support/directories.ts";
import { notification } from "./support/stores.ts";

const alert = (changes: Partial<StoredAlert> = {}): StoredAlert => ({
  ...{ name: "HighCPUUsage", heldMs: 15_000.5, isFiring: false, isNotifiedFiring: false, sinceNotifiedMs: 0 },
  ...{ groupMs: null, isFirstWait: false, savedAt: 1_700_000_000_000 },
  ...changes,
});
const silence = (id: string, changes: Partial<StoredSilence> = {}): StoredSilence => ({
  ...{ id, alert: "DiskSpaceLow", until: 1_700_000_600_000, comment: 'it\'s being "moved"\n' },
  ...{ createdAt: 1_700_000_000_000, createdBy: "admin" },
  ...changes,
});
const component = (changes: Partial<StoredComponent> = {}): StoredComponent => ({
  ...{ name: "web", isDown: true, changeAgesMs: [0, 1500.25], flaps: 4, pending: 2, savedAt: 1_700_000_000_000 },
  ...changes,
});
const check = (changes: Partial<StoredCheck> = {}): StoredCheck => ({
  ...{ name: "disk_space", notified: "fail", seen: "warn", notifiedAgesMs: [0, 1500.25], changes: 3 },
  ...{ savedAt: 1_700_000_000_000 },
  ...changes,
});

const at = directoryPerTest();
let store: SqliteAlertStore;
const open = (stateDir = at()): void => {
  store = openAlertStore({ stateDir, onTrouble: () => undefined });
};
beforeEach(() => open());
afterEach(() => store.dispose());
/** Changes the file as another version of the service may have left it. */
const changeFile = (sql: string): void => {
  store.dispose();
  const database = new DatabaseSync(at("alerts.db"));
  database.exec(sql);
  database.close();
  open();
};

describe("the store of alerts", () => {
  it("has the last of each alert, by name, until it is forgotten", () => {
    const { alerts } = store;
    const firing = alert({
      isFiring: true,
      isNotifiedFiring: true,
      sinceNotifiedMs: 7.5,
      groupMs: 30_000,
      isFirstWait: true,
    });
    for (const each of [alert(), alert({ name: "DiskSpaceLow", heldMs: null }), firing]) alerts.saveAlert(each);
    expect(alerts.alerts()).toEqual([alert({ name: "DiskSpaceLow", heldMs: null }), firing]);
    alerts.forgetAlert("DiskSpaceLow");
    expect(alerts.alerts()).toEqual([firing]);
  });

  it("has silences in the order in which they were made, until they are forgotten", () => {
    const [b, a] = [silence("b"), silence("a", { alert: "ServiceDown", comment: "" })];
    for (const each of [b, a]) store.alerts.saveSilence(each);
    store.dispose();
    open();
    expect(store.alerts.silences()).toEqual([b, a]);
    for (const id of ["b", "of nobody"]) store.alerts.forgetSilence(id);
    expect(store.alerts.silences()).toEqual([a]);
  });

  it("takes no silence where no file can be made: anyone who makes one gets the answer that it lasts", () => {
    store.dispose();
    open(at("nowhere"));
    expect(() => store.alerts.saveSilence(silence("a"))).toThrow(/alerts\.db could not be opened.*restart/);
    expect(() => store.alerts.forgetSilence("a")).toThrow("alerts.db could not be opened");
    expect(store.alerts.silences()).toEqual([]);
  });
});

describe("the store of notifications", () => {
  it("has the last of each check and of each component, by name, until it is forgotten", () => {
    const { notifications } = store;
    for (const each of [check(), check({ name: "memory", notifiedAgesMs: [] }), check({ notified: "pass" })])
      notifications.saveCheck(each);
    expect(notifications.checks()).toEqual([
      check({ notified: "pass" }),
      check({ name: "memory", notifiedAgesMs: [] }),
    ]);
    const ops = component({ name: "ops", isDown: false, changeAgesMs: [], flaps: 0, pending: 0 });
    for (const each of [component(), ops, component({ flaps: 5 })]) notifications.saveComponent(each);
    expect(notifications.components()).toEqual([ops, component({ flaps: 5 })]);
    notifications.forgetComponent("ops");
    expect(notifications.components()).toEqual([component({ flaps: 5 })]);
  });

  it("takes what belongs together whole or not at all", () => {
    const { notifications } = store;
    const save = (): void => {
      notifications.saveNotification(notification("a"));
      notifications.saveCheck(check());
    };
    const fail = (): void => {
      save();
      throw new Error("in between");
    };
    expect(() => notifications.together(fail)).toThrow("in between");
    expect([notifications.notifications(), notifications.checks()]).toEqual([[], []]);
    notifications.together(save);
    expect([notifications.notifications(), notifications.checks()]).toEqual([[notification("a")], [check()]]);
  });

  it("has notifications in their order of coming, each as it was saved last, until it is forgotten", () => {
    const { notifications } = store;
    const [b, a] = [notification("b"), notification("a", { kind: "test", channel: "chat", to: [] })];
    for (const each of [b, a]) notifications.saveNotification(each);
    const message = { ...b.message, severity: "critical", title: "two of them", facts: [["What", "both"]] } as const;
    const sent = { ...b, subject: "web, db", message, attempts: 3, outcome: "sent", error: "no", endedAt: 5 } as const;
    notifications.saveNotification(sent);
    expect(notifications.notifications()).toEqual([sent, a]);
    for (const id of ["b", "of nobody"]) notifications.forgetNotification(id);
    expect(notifications.notifications()).toEqual([a]);
  });

  it("gets the table of checks that an earlier version did not have", () => {
    store.notifications.saveNotification(notification("a"));
    changeFile("DROP TABLE checks");
    store.notifications.saveCheck(check());
    expect([store.notifications.notifications(), store.notifications.checks()]).toEqual([
      [notification("a")],
      [check()],
    ]);
  });

  it("leaves out what another version has written and this one does not know", () => {
    store.notifications.saveNotification(notification("a"));
    const rest = "at, is_good, title, facts, attempts, outcome, error, ended_at FROM notifications WHERE id = 'a'";
    changeFile(`
      INSERT INTO notifications SELECT 9, 'b', 'pigeon', subject, channel, recipients, ${rest};
      INSERT INTO notifications SELECT 10, 'c', kind, subject, channel, 'no list', ${rest};`);
    expect(store.notifications.notifications()).toEqual([notification("a")]);
  });
});
