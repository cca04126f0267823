import { describe, expect, it } from "vitest";
import { createFakeRebootNeed } from "../../../test/fakes/reboot-need.ts";
import { createFakeStaleCode, fakeStaleProcess } from "../../../test/fakes/stale-code.ts";
import { createFakeUnits, type FakeUnit, runningUnit } from "../../../test/fakes/units.ts";
import { findStale, type RestartPhase, restartStale } from "./stale.ts";

const { signal } = new AbortController();

function setUp(given: readonly FakeUnit[], { isLasting = false } = {}) {
  const units = createFakeUnits(given);
  const processes = given.map(({ name }, at) => fakeStaleProcess(name, { pid: 100 + at }));
  const isGone = (unit: string): boolean => !isLasting && units.actions.includes(`restart ${unit}`);
  const code = createFakeStaleCode(processes, isGone);
  const phases: RestartPhase[] = [];
  const progress = { step: () => undefined, line: () => undefined };
  const work = (phase?: RestartPhase) => ({
    id: "op",
    progress,
    phase,
    savePhase: (next: RestartPhase) => void phases.push(structuredClone(next)),
    signal,
  });
  return { host: { code, units, reboot: createFakeRebootNeed() }, units, code, work, phases };
}

describe("services with replaced code", () => {
  it.each([
    ["steward.service", /Steward itself/],
    ["gdm3.service", /graphical sessions/],
    ["getty@tty1.service", /logins/],
    ["NetworkManager.service", /connections/],
    ["docker.service", /inside/],
    ["dbus.service", /system bus/],
    ["systemd-logind.service", /sessions and devices/],
  ])("are named and left alone: %s", async (name, reason) => {
    const { host, units, work } = setUp([runningUnit(name), runningUnit("web.service")]);
    expect(await findStale(host, signal)).toMatchObject({
      restartable: ["web.service"],
      left: [{ unit: name, reason: expect.stringMatching(reason) }],
    });
    expect(await restartStale(host, work())).toMatchObject({ success: true, left: [{ unit: name }] });
    expect(units.actions).toEqual(["restart web.service"]);
  });

  it.each([
    [{ activeState: "inactive" }, "it is inactive, and processes that it left behind still run"],
    [{ activeState: "activating", subState: "start" }, "it is starting, or a job that ends by itself"],
    [{ loadState: "masked" }, "unit is masked (unmask it first)"],
    [{ loadState: "not-found" }, "systemd cannot load the unit (not-found) (systemctl status x.service says why)"],
  ])("are left alone where their unit is %j", async (state, reason) => {
    const { host } = setUp([runningUnit("x.service", state)]);
    expect(await findStale(host, signal)).toMatchObject({ restartable: [], left: [{ unit: "x.service", reason }] });
  });

  it("include systemd, the kernel, and processes outside of services", async () => {
    const { host, code } = setUp([]);
    code.processes = [fakeStaleProcess(null, { pid: 1, name: "systemd" })];
    code.hidden = 3;
    const reboot = createFakeRebootNeed({ installedKernels: ["6.1.0-18-amd64", "6.1.0-20-amd64"] });
    expect(await findStale({ ...host, reboot }, signal)).toEqual({
      restartable: [],
      left: [],
      processes: [{ pid: 1, name: "systemd", unit: null, files: ["/usr/lib/libtls.so.3"] }],
      hidden_processes: 3,
      service_manager: true,
      kernel: { running: "6.1.0-18-amd64", newest: "6.1.0-20-amd64" },
      requires_reboot: true,
    });
  });
});

describe("a restart of services with replaced code", () => {
  it("reports the result of each service, and continues after one that fails", async () => {
    const crashed = { activeState: "failed", subState: "failed", result: "exit-code" };
    const { host, work } = setUp([
      { ...runningUnit("a.service"), jobResult: "failed", after: crashed },
      { ...runningUnit("b.service"), after: crashed },
      { ...runningUnit("c.service"), jobResult: "running" },
      { ...runningUnit("d.service"), refusal: "systemd does not want to" },
      runningUnit("e.service"),
    ]);
    expect(await restartStale(host, work())).toMatchObject({
      success: false,
      message: "1 service restarted; 4 could not be: a.service, b.service, c.service, d.service",
      restarted: [
        { unit: "a.service", success: false, message: "its job ended with: failed; it is failed" },
        { unit: "b.service", success: false, message: "it stopped at once (exit-code); see its log" },
        { unit: "c.service", success: false, message: "its job is still running (look again later)" },
        { unit: "d.service", success: false, message: "systemd does not want to" },
        { unit: "e.service", success: true, message: "e.service restarted" },
      ],
      still_stale: [],
    });
  });

  it("inspects services again, and names those that still run replaced code", async () => {
    const { host, work } = setUp([runningUnit("cron.service")], { isLasting: true });
    expect(await restartStale(host, work())).toMatchObject({ success: true, still_stale: ["cron.service"] });
  });

  it("is resumed with the rest when its process was killed", async () => {
    const { host, units, work, phases } = setUp([runningUnit("a.service"), runningUnit("b.service")], {
      isLasting: true,
    });
    await restartStale(host, work());
    expect(phases.map(({ restarted }) => restarted.length)).toEqual([1, 2]);
    expect(await restartStale(host, work(phases[0]))).toMatchObject({ restarted: [{}, {}] });
    expect(units.actions).toEqual(["restart a.service", "restart b.service", "restart b.service"]);
  });

  it("stops between two services on request", async () => {
    const { host, units, work } = setUp([runningUnit("a.service"), runningUnit("b.service")]);
    const stop = new AbortController();
    const stopping = { ...work(), signal: stop.signal, savePhase: () => stop.abort(new Error("stopped")) };
    await expect(restartStale(host, stopping)).rejects.toThrow("stopped");
    expect(units.actions).toEqual(["restart a.service"]);
  });
});
