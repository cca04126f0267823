import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import type { Clock } from "#kernel/clock.ts";
import { createFakeAlertStore, type FakeAlertStore } from "../../../test/fakes/alert-store.ts";
import { createFakeClock, type FakeClock } from "../../../test/fakes/clock.ts";
import { type AlertEvent, createAlerts, type Evaluator } from "./alerts.ts";

const secondMs = 1_000;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

let clock: FakeClock;
let store: FakeAlertStore;
let startMs: number;
let notified: string[];
let event: AlertEvent[];
let troubles: unknown[];
let silenced: Set<string>;
let cpu: number;
let disk: number | Error | Promise<number | Error>;
let diskReadings: number;

function reset(): void {
  clock = createFakeClock();
  startMs = clock.monotonicMs();
  store = createFakeAlertStore();
  notified = [];
  event = [];
  troubles = [];
  silenced = new Set();
  cpu = 10;
  disk = 10;
  diskReadings = 0;
}
beforeEach(reset);

/** A process: what an ended one reports is ignored. */
async function open(evaluator: Evaluator = "steward", { ofAlerts = clock }: { ofAlerts?: Clock } = {}) {
  const alerts = createAlerts({
    evaluator,
    readings: {
      cpu_percent: () => Promise.resolve(cpu),
      memory_percent: () => Promise.resolve(50),
      async root_filesystem_percent() {
        diskReadings += 1;
        const found = await disk;
        if (found instanceof Error) throw found;
        return found;
      },
    },
    store,
    isSilenced: (name) => silenced.has(name),
    clock: ofAlerts,
    notify(each) {
      event.push(each);
      notified.push(`${each.condition.name} ${each.what} ${(clock.monotonicMs() - startMs) / secondMs}`);
    },
    onTrouble: (error) => void troubles.push(error),
  });
  alerts.start();
  await clock.advance(0);
  return alerts;
}

const stateOf = (alerts: Awaited<ReturnType<typeof open>>, name: string) =>
  alerts.list().find((alert) => alert.name === name);

describe("an alert", () => {
  it.each([
    ["at its threshold", 80],
    ["below its threshold", 79.9],
  ])("does not hold %s", async (_, value) => {
    cpu = value;
    const alerts = await open();
    await clock.advance(hourMs);
    expect(stateOf(alerts, "HighCPUUsage")).toMatchObject({ state: "inactive", since: null, value });
    expect(notified).toEqual([]);
  });

  it("is pending until it has held for its duration, and fires from then on", async () => {
    cpu = 80.1;
    const alerts = await open();
    await clock.advance(5 * minuteMs - 1);
    expect(stateOf(alerts, "HighCPUUsage")).toMatchObject({ state: "pending", since: "2026-01-01T00:00:00.000Z" });
    await clock.advance(1);
    expect(stateOf(alerts, "HighCPUUsage")).toMatchObject({
      state: "firing",
      since: "2026-01-01T00:00:00.000Z",
      value: 80.1,
      evaluated_by: "steward",
    });
  });

  it("counts its duration from the start again when one sample is below the threshold", async () => {
    cpu = 99;
    const alerts = await open();
    await clock.advance(4 * minuteMs);
    cpu = 80;
    await clock.advance(15 * secondMs);
    cpu = 99;
    await clock.advance(5 * minuteMs);
    expect(stateOf(alerts, "HighCPUUsage")).toMatchObject({ state: "pending" });
    await clock.advance(15 * secondMs);
    expect(stateOf(alerts, "HighCPUUsage")).toMatchObject({ state: "firing" });
  });

  it("is notified 30 s after it fires, again every four hours, and within five minutes of its end", async () => {
    cpu = 99;
    await open();
    await clock.advance(9 * hourMs);
    cpu = 10;
    await clock.advance(hourMs);
    // 330 s: five minutes and thirty seconds. Then at the first look through the group after four hours.
    expect(notified).toEqual([
      "HighCPUUsage firing 330",
      "HighCPUUsage repeated 14730",
      "HighCPUUsage repeated 29130",
      "HighCPUUsage resolved 32430",
    ]);
    await clock.advance(24 * hourMs);
    expect(notified).toHaveLength(4);
    expect(store.alerts()).toEqual([]);
  });

  it("that ends within its first 30 s of firing is not notified", async () => {
    cpu = 99;
    await open();
    await clock.advance(5 * minuteMs + 15 * secondMs);
    cpu = 10;
    await clock.advance(hourMs);
    expect(notified).toEqual([]);
  });

  it("that comes and goes has at least five minutes between two of its notifications", async () => {
    cpu = 99;
    await open();
    await clock.advance(6 * minuteMs);
    for (let round = 0; round < 12; round += 1) {
      cpu = 10;
      await clock.advance(minuteMs);
      cpu = 99;
      await clock.advance(6 * minuteMs);
    }
    const timestamps = (word: string) =>
      notified.filter((each) => each.includes(word)).map((each) => Number(each.split(" ")[2]));
    const fired = timestamps("firing");
    const resolved = timestamps("resolved");
    for (const [index, at] of fired.entries()) {
      expect(at - (fired[index - 1] ?? -300)).toBeGreaterThanOrEqual(300);
      expect((resolved[index] ?? at + 300) - at).toBeGreaterThanOrEqual(300);
    }
    expect(fired.length).toBeGreaterThan(2);
  });

  it("is notified with its value, start and severity", async () => {
    disk = 93.26;
    await open();
    await clock.advance(6 * minuteMs);
    expect(event).toMatchObject([
      { what: "firing", value: 93.26, since: clock.now() - 6 * minuteMs, condition: { severity: "critical" } },
    ]);
  });

  it("keeps firing while its value cannot be measured", async () => {
    disk = 95;
    const alerts = await open();
    await clock.advance(6 * minuteMs);
    disk = new Error("no such file system");
    await clock.advance(hourMs);
    expect(stateOf(alerts, "DiskSpaceLow")).toMatchObject({ state: "firing", value: null });
    expect(notified).toEqual(["DiskSpaceLow firing 330"]);
    expect(troubles.length).toBeGreaterThan(0);
  });

  it("whose value was never measured is not_evaluated, not inactive", async () => {
    disk = new Error("no such file system");
    const alerts = await open();
    expect(stateOf(alerts, "DiskSpaceLow")).toMatchObject({
      state: "not_evaluated",
      evaluated_by: "steward",
      since: null,
      value: null,
    });
    disk = 10;
    await clock.advance(15 * secondMs);
    expect(stateOf(alerts, "DiskSpaceLow")).toMatchObject({ state: "inactive", value: 10 });
  });
});

describe("an alert whose value hangs", () => {
  it("holds up no other alert, is not read again meanwhile, and is logged once", async () => {
    cpu = 99;
    const gate = Promise.withResolvers<number>();
    disk = gate.promise;
    const alerts = await open();
    await clock.advance(10 * secondMs);
    expect(stateOf(alerts, "HighCPUUsage")).toMatchObject({ state: "pending", value: 99 });
    expect(stateOf(alerts, "DiskSpaceLow")).toMatchObject({ state: "not_evaluated", value: null });
    await clock.advance(hourMs);
    // From the first look on, which waited for ten seconds.
    expect(notified).toEqual(["HighCPUUsage firing 345"]);
    expect(troubles.map(String)).toEqual(["Error: root_filesystem_percent cannot be measured: no answer within 10 s"]);
    expect(diskReadings).toBe(1);
  });

  it("keeps firing meanwhile, and is read again once the value has come", async () => {
    disk = 95;
    const alerts = await open();
    await clock.advance(6 * minuteMs);
    const gate = Promise.withResolvers<number>();
    disk = gate.promise;
    await clock.advance(hourMs);
    expect(stateOf(alerts, "DiskSpaceLow")).toMatchObject({ state: "firing", value: null });
    gate.resolve(95);
    disk = 10;
    await clock.advance(0);
    await clock.advance(15 * secondMs);
    expect(stateOf(alerts, "DiskSpaceLow")).toMatchObject({ state: "inactive", value: 10 });
    await clock.advance(5 * minuteMs);
    expect(notified).toEqual(["DiskSpaceLow firing 330", "DiskSpaceLow resolved 4230"]);
    expect(troubles).toHaveLength(1);
  });

  it("is logged again when it hangs again, and so is an error that comes late", async () => {
    const gate = Promise.withResolvers<Error>();
    disk = gate.promise;
    await open();
    await clock.advance(minuteMs);
    disk = new Promise(() => undefined);
    gate.resolve(new Error("input/output error"));
    await clock.advance(minuteMs);
    expect(troubles.map(String)).toEqual([
      expect.stringContaining("no answer"),
      "Error: input/output error",
      expect.stringContaining("no answer"),
    ]);
  });
});

describe("a silence", () => {
  it("holds back the notification of an alert that fires until the silence ends", async () => {
    cpu = 99;
    silenced.add("HighCPUUsage");
    const alerts = await open();
    await clock.advance(2 * hourMs);
    expect(stateOf(alerts, "HighCPUUsage")).toMatchObject({ state: "firing", silenced: true });
    expect(notified).toEqual([]);
    silenced.clear();
    await clock.advance(5 * minuteMs);
    expect(notified).toHaveLength(1);
  });

  it("delays the notification that an alert is resolved, and does not lose it", async () => {
    cpu = 99;
    await open();
    await clock.advance(hourMs);
    silenced.add("HighCPUUsage");
    cpu = 10;
    await clock.advance(hourMs);
    expect(notified).toHaveLength(1);
    silenced.clear();
    await clock.advance(5 * minuteMs);
    expect(notified.at(-1)).toMatch(/resolved/);
  });
});

describe("an alert over a restart", () => {
  it("continues counting its duration, without the downtime of the service", async () => {
    cpu = 99;
    const first = await open();
    await clock.advance(3 * minuteMs);
    first.dispose();
    await clock.advance(10 * minuteMs);
    const alerts = await open();
    await clock.advance(2 * minuteMs - 1);
    expect(stateOf(alerts, "HighCPUUsage")).toMatchObject({ state: "pending" });
    await clock.advance(1);
    expect(stateOf(alerts, "HighCPUUsage")).toMatchObject({
      state: "firing",
      since: new Date(clock.now() - 5 * minuteMs).toISOString(),
    });
  });

  it("keeps firing since its start", async () => {
    cpu = 99;
    const first = await open();
    await clock.advance(6 * minuteMs);
    first.dispose();
    await clock.advance(10 * minuteMs);
    expect(stateOf(await open(), "HighCPUUsage")).toMatchObject({
      state: "firing",
      since: "2026-01-01T00:00:00.000Z",
    });
  });

  it("counts its duration from the start again after hours of downtime", async () => {
    cpu = 99;
    (await open()).dispose();
    await clock.advance(2 * hourMs);
    const alerts = await open();
    expect(stateOf(alerts, "HighCPUUsage")).toMatchObject({ state: "pending" });
    await clock.advance(4 * minuteMs);
    expect(stateOf(alerts, "HighCPUUsage")).toMatchObject({ state: "pending" });
  });
});

it("the time for which the process was suspended does not count as time that an alert held", async () => {
  cpu = 99;
  let stoodMs = 0;
  const ofAlerts: Clock = { ...clock, monotonicMs: () => clock.monotonicMs() + stoodMs };
  const alerts = await open("steward", { ofAlerts });
  stoodMs = hourMs;
  await clock.advance(15 * secondMs);
  expect(stateOf(alerts, "HighCPUUsage")).toMatchObject({ state: "pending" });
  await clock.advance(5 * minuteMs);
  expect(stateOf(alerts, "HighCPUUsage")).toMatchObject({ state: "firing" });
});

describe("an alert when the clock is set", () => {
  it.each([
    ["back by a day", -24 * hourMs],
    ["ahead by a day", 24 * hourMs],
  ])("%s keeps its timers", async (_, jumpMs) => {
    cpu = 99;
    const alerts = await open();
    await clock.advance(4 * minuteMs);
    clock.set(clock.now() + jumpMs);
    await clock.advance(minuteMs - 1);
    expect(stateOf(alerts, "HighCPUUsage")).toMatchObject({ state: "pending" });
    await clock.advance(1);
    expect(stateOf(alerts, "HighCPUUsage")).toMatchObject({
      state: "firing",
      since: new Date(clock.now() - 5 * minuteMs).toISOString(),
    });
    await clock.advance(30 * secondMs);
    expect(notified).toEqual(["HighCPUUsage firing 330"]);
  });

  it("back while the service did not run keeps its timers", async () => {
    cpu = 99;
    const first = await open();
    await clock.advance(4 * minuteMs);
    first.dispose();
    clock.set(clock.now() - 24 * hourMs);
    const alerts = await open();
    await clock.advance(minuteMs);
    expect(stateOf(alerts, "HighCPUUsage")).toMatchObject({ state: "firing" });
  });
});

describe("the evaluator of alerts", () => {
  it("of ServiceDown is systemd, not the service", async () => {
    expect(stateOf(await open(), "ServiceDown")).toMatchObject({
      state: "not_evaluated",
      evaluated_by: "systemd",
      since: null,
      value: null,
    });
  });

  it.each(["prometheus", "nobody"] as const)(
    "that is %s in the settings leaves the service nothing to measure",
    async (evaluator) => {
      cpu = 99;
      const alerts = await open(evaluator);
      await clock.advance(hourMs);
      for (const alert of alerts.list())
        expect(alert).toMatchObject({ state: "not_evaluated", evaluated_by: evaluator });
      expect(notified).toEqual([]);
    },
  );
});

it("an alert is notified although its state cannot be stored on a full disk", async () => {
  disk = 100;
  store.fault = new Error("database or disk is full");
  await open();
  await clock.advance(6 * minuteMs);
  expect(notified).toEqual(["DiskSpaceLow firing 330"]);
});

it("any sequence of values and restarts: firing and resolved notifications of an alert alternate, and the last one is its state", async () => {
  const step = fc.record({ isHigh: fc.boolean(), minutes: fc.integer({ min: 0, max: 20 }), restarts: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
      reset();
      let alerts = await open();
      for (const { isHigh, minutes, restarts } of steps) {
        cpu = isHigh ? 99 : 1;
        await clock.advance(minutes * minuteMs);
        if (!restarts) continue;
        alerts.dispose();
        alerts = await open();
      }
      await clock.advance(15 * minuteMs);
      const words = notified.map((each) => each.split(" ")[1]);
      const isNotified = words.length > 0 && words.at(-1) !== "resolved";
      expect(isNotified).toBe(stateOf(alerts, "HighCPUUsage")?.state === "firing");
      for (const [index, word] of words.entries()) {
        if (word !== "repeated")
          expect(word).toBe(
            words.slice(0, index).filter((each) => each !== "repeated").length % 2 === 0 ? "firing" : "resolved",
          );
      }
      alerts.dispose();
    }),
    { numRuns: 30 },
  );
});
