import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openAlertStore } from "#adapters/alert-store/index.ts";
import type { AlertStore, StoredAlert, StoredSilence } from "#domain/ports/alerts.ts";
import { createFakeAlertStore } from "../fakes/alert-store.ts";
import { useAlertDatabase } from "./support/alert-database.ts";

const alert = (changes: Partial<StoredAlert> = {}): StoredAlert => ({
  name: "HighCPUUsage",
  heldMs: 15_000.5,
  isFiring: false,
  isToldFiring: false,
  sinceToldMs: 0,
  groupMs: null,
  isFirstWait: false,
  savedAt: 1_700_000_000_000,
  ...changes,
});
const silence = (id: string, changes: Partial<StoredSilence> = {}): StoredSilence => ({
  id,
  alert: "DiskSpaceLow",
  until: 1_700_000_600_000,
  comment: 'it\'s being "moved"\n',
  createdAt: 1_700_000_000_000,
  createdBy: "admin",
  ...changes,
});

const database = useAlertDatabase();
const openReal = (): AlertStore => database.open().alerts;

describe.each([
  ["fake", createFakeAlertStore],
  ["sqlite", openReal],
] as const)("alert store: %s", (_, make: () => AlertStore) => {
  it("starts empty", () => {
    const store = make();
    expect([store.alerts(), store.silences()]).toEqual([[], []]);
  });

  it("keeps the last of each alert, by name, until it is forgotten", () => {
    const store = make();
    const firing = alert({ isFiring: true, isToldFiring: true, sinceToldMs: 7.5, groupMs: 30_000, isFirstWait: true });
    store.saveAlert(alert());
    store.saveAlert(alert({ name: "DiskSpaceLow", heldMs: null }));
    store.saveAlert(firing);
    expect(store.alerts()).toEqual([alert({ name: "DiskSpaceLow", heldMs: null }), firing]);
    store.forgetAlert("DiskSpaceLow");
    expect(store.alerts()).toEqual([firing]);
  });

  it("keeps silences in their order of coming, until they are forgotten", () => {
    const store = make();
    const [b, a] = [silence("b"), silence("a", { alert: "ServiceDown", comment: "" })];
    store.saveSilence(b);
    store.saveSilence(a);
    expect(store.silences()).toEqual([b, a]);
    store.forgetSilence("b");
    store.forgetSilence("of nobody");
    expect(store.silences()).toEqual([a]);
  });
});

describe("alerts on disk", () => {
  it("are there again when they are opened again", () => {
    const store = openReal();
    store.saveAlert(alert());
    store.saveSilence(silence("a"));
    const again = openReal();
    expect([again.alerts(), again.silences()]).toEqual([[alert()], [silence("a")]]);
    expect(database.troubles()).toEqual([]);
  });

  it("are reset, and the old file moved aside, where it is damaged", () => {
    writeFileSync(database.file(), "this is no database, and was never one");
    openReal().saveSilence(silence("a"));
    expect(database.troubles()).toEqual([`${database.file()}.damaged`]);
    expect(readFileSync(`${database.file()}.damaged`, "utf8")).toContain("no database");
    expect(openReal().silences()).toEqual([silence("a")]);
  });
});

describe("alerts where no file can be written", () => {
  it("are kept in memory, but no silence is: who makes one is told that it lasts", () => {
    const troubles: Error[] = [];
    const stateDir = "/proc/self/no-folder";
    const { alerts, notifications, dispose } = openAlertStore({ stateDir, onTrouble: (error) => troubles.push(error) });
    expect(troubles).toHaveLength(1);
    alerts.saveAlert(alert());
    expect(alerts.alerts()).toEqual([alert()]);
    expect(() => alerts.saveSilence(silence("a"))).toThrow(/^.*alerts\.db could not be opened.*restart/);
    expect(() => alerts.forgetSilence("a")).toThrow("alerts.db could not be opened");
    expect(alerts.silences()).toEqual([]);
    expect(notifications.notifications()).toEqual([]);
    dispose();
  });
});
