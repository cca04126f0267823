import { beforeEach, describe, expect, it } from "vitest";
import { createFakeClock, type FakeClock } from "../../../test/fakes/clock.ts";
import { createFakeNotificationStore, type FakeNotificationStore } from "../../../test/fakes/notification-store.ts";
import { type ComponentEvent, createComponentWatch } from "./components.ts";

let clock: FakeClock;
let store: FakeNotificationStore;
let event: ComponentEvent[];
let troubles: unknown[];
beforeEach(() => {
  clock = createFakeClock();
  store = createFakeNotificationStore();
  event = [];
  troubles = [];
});

const start = (components: readonly string[] = ["ops", "web"]) => {
  const watch = createComponentWatch({
    components,
    store,
    clock,
    notify: (each) => void event.push(each),
    onTrouble: (error) => void troubles.push(error),
  });
  watch.start();
  return watch;
};
const well = { healthy: true, expected: true };
const unwell = { healthy: false, expected: true, reason: "no answer" };
const notified = () => event.map(({ kind, component }) => `${component} ${kind}`);

describe("notifications of a component", () => {
  it("come once for each change, with its reason", () => {
    const watch = start();
    watch.probed("web", well);
    watch.probed("web", unwell);
    watch.probed("web", { ...unwell, reason: "another" });
    watch.probed("web", well);
    expect(event).toEqual([
      { kind: "component_down", component: "web", isDown: true, changes: 1, reason: "no answer" },
      { kind: "component_up", component: "web", isDown: false, changes: 2, reason: undefined },
    ]);
  });

  it("do not come for a component that the host cannot have", () => {
    const watch = start();
    watch.probed("ops", { healthy: false, expected: false, reason: "systemd is not running" });
    expect(notified()).toEqual([]);
    watch.probed("ops", unwell);
    watch.probed("ops", { healthy: false, expected: false });
    expect(notified()).toEqual(["ops component_down", "ops component_up"]);
  });

  it("say that it has settled ten minutes after its last change, without another probe", async () => {
    const watch = start();
    for (let round = 0; round < 5; round += 1) {
      watch.probed("web", unwell);
      await clock.advance(30_000);
      watch.probed("web", well);
      await clock.advance(30_000);
    }
    watch.probed("web", unwell);
    expect(notified().at(-1)).toBe("web component_flaps");
    await clock.advance(9.4 * 60_000);
    expect(notified().at(-1)).toBe("web component_flaps");
    await clock.advance(60_000);
    expect(event.at(-1)).toEqual({
      kind: "component_settled",
      component: "web",
      isDown: true,
      changes: 11,
      reason: "no answer",
    });
    await clock.advance(24 * 3_600_000);
    expect(notified()).toHaveLength(5);
  });

  it("of one that flaps continue as such after a restart with a clock that was set back", async () => {
    const first = start();
    for (const result of [unwell, well, unwell, well]) first.probed("web", result);
    expect(notified().at(-1)).toBe("web component_flaps");
    first.dispose();
    clock.set(clock.now() - 3 * 24 * 3_600_000);
    const again = start();
    again.probed("web", unwell);
    expect(notified()).toHaveLength(4);
    await clock.advance(11 * 60_000);
    expect(notified().at(-1)).toBe("web component_settled");
    expect(event.at(-1)?.changes).toBe(5);
  });

  it("come again for one that was removed from the settings and added again", () => {
    start().probed("web", unwell);
    start(["ops"]);
    expect(store.components()).toEqual([]);
    start().probed("web", unwell);
    expect(notified()).toEqual(["web component_down", "web component_up", "web component_down"]);
  });

  it("end the incident of one that is no longer in the settings, once", () => {
    const first = start(["ops", "web", "db"]);
    first.probed("web", unwell);
    first.probed("db", well);
    start(["ops"]);
    start(["ops"]);
    expect(event.slice(1)).toEqual([
      {
        kind: "component_up",
        component: "web",
        isDown: false,
        changes: 1,
        reason: "it is no longer in the settings",
        isRemoved: true,
      },
    ]);
  });

  it("come although nothing can be stored", () => {
    store.fault = new Error("disk full");
    const watch = start();
    watch.probed("web", unwell);
    expect(notified()).toEqual(["web component_down"]);
    expect(troubles.length).toBeGreaterThan(0);
  });
});
