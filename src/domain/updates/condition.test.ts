import { describe, expect, it } from "vitest";
import type { CheckStatus } from "#contract/checks.ts";
import type { GuardedBy } from "#domain/common/guarded-by.ts";
import { fakeCondition } from "../../../test/api/conditions.ts";
import { createFakeListeningSockets, fakeOpenPort } from "../../../test/fakes/listening-sockets.ts";
import { createFakeUnits, runningUnit } from "../../../test/fakes/units.ts";
import { activeUnitsOf, createHostCondition, type Listener, worseThan } from "./condition.ts";

type Given = NonNullable<Parameters<typeof fakeCondition>[0]>;

const worse = (before: Given, now: Given, removesPackages = false): readonly string[] =>
  worseThan(fakeCondition(before), fakeCondition(now), removesPackages).map(({ text }) => text);
const checks = (status: CheckStatus, guardedBy: GuardedBy = "change") => ({
  checks: { sshd: { status, message: "so it is", guardedBy } },
});
const listening = (given: Partial<Listener> = {}): Given => ({
  listeners: [{ protocol: "tcp", port: 80, isLoopback: false, program: "nginx", ...given }],
});

describe("units", () => {
  it.each([
    ["inactive", "unit web.service: was active (running), now inactive"],
    ["failed", "unit web.service: was active (running), now failed, result exit-code"],
  ])("that ran and are %s are worse", (state, text) => {
    expect(worse({ units: { "web.service": "active" } }, { units: { "web.service": state } })).toEqual([text]);
  });

  it.each(["active", "reloading", "refreshing"])("that are %s are not", (state) => {
    expect(worse({ units: { "web.service": "active" } }, { units: { "web.service": state } })).toEqual([]);
  });

  it("that are starting count only when that lasts, and between two runs at once", () => {
    const before = fakeCondition({ units: { "web.service": "active" } });
    const now = (state: string) => {
      return { ...before, units: { "web.service": { activeState: "activating", state, staysActive: false } } };
    };
    expect(worseThan(before, now("activating (start)"), false)).toMatchObject([{ mustLast: true }]);
    expect(worseThan(before, now("activating (auto-restart)"), false)).toMatchObject([{ mustLast: false }]);
  });

  it("that end by themselves are left out", () => {
    const before = fakeCondition({ units: { "hostnamed.service": "active" } });
    const units = { "hostnamed.service": { activeState: "active", state: "active (running)", staysActive: false } };
    expect(activeUnitsOf({ ...before, units })).toEqual([]);
    expect(worseThan({ ...before, units }, fakeCondition(), false)).toEqual([]);
  });

  it("that are gone are worse, unless packages were removed", () => {
    const before = { units: { "web.service": "active" } };
    expect(worse(before, {})).toEqual(["unit web.service: was active (running), now not found"]);
    expect(worse(before, {}, true)).toEqual([]);
  });

  it("that had failed already are not worse, those that fail now are", () => {
    const before = { units: { "old.service": "failed", "job.service": "inactive" } };
    const now = { units: { "old.service": "failed", "new.service": "failed" } };
    expect(worse(before, now)).toEqual(["unit new.service: had not failed, now failed, result exit-code"]);
  });

  it("cannot be asked about: that is worse where they could be before", () => {
    const without = { ...fakeCondition(), units: undefined };
    expect(worseThan(fakeCondition(), without, false)).toMatchObject([{ text: "systemd does not answer" }]);
    expect(worseThan(without, without, false)).toEqual([]);
  });
});

describe("ports", () => {
  it("at which nothing listens any more are worse", () => {
    expect(worse(listening(), {})).toEqual(["port 80/tcp: nginx listened, now nothing does"]);
    expect(worse(listening({ isLoopback: true }), {})).toEqual([
      "port 80/tcp on loopback: nginx listened, now nothing does",
    ]);
  });

  it("that are reached from less far than before are worse, from further are not", () => {
    expect(worse(listening(), listening({ isLoopback: true }))).toHaveLength(1);
    expect(worse(listening({ isLoopback: true }), listening())).toEqual([]);
  });

  it("that another program took are worse", () => {
    expect(worse(listening(), listening({ program: "apache2" }))).toEqual(["port 80/tcp: nginx listened, now apache2"]);
  });

  it.each([
    ["php-fpm8.2", "php-fpm8.3"],
    ["systemd", "sshd"],
    ["sshd", "systemd"],
  ])("of %s that %s has now are not", (program, other) => {
    expect(worse(listening({ program }), listening({ program: other }))).toEqual([]);
  });

  it("of both protocols are distinguished, and new ones do not count", () => {
    expect(worse(listening(), listening({ protocol: "udp" }))).toHaveLength(1);
    expect(worse({}, listening())).toEqual([]);
  });
});

describe("checks", () => {
  it.each([
    ["skip", "warn"],
    ["skip", "fail"],
    ["pass", "warn"],
    ["warn", "fail"],
  ] as const)("that were %s and are %s are worse, whatever was removed", (was, is) => {
    for (const removesPackages of [false, true])
      expect(worse(checks(was), checks(is), removesPackages)).toEqual([`check sshd: was ${was}, now ${is} (so it is)`]);
  });

  it.each([
    ["skip", "pass"],
    ["warn", "pass"],
    ["fail", "warn"],
    ["fail", "fail"],
    ["skip", "skip"],
    ["fail", "skip"],
  ] as const)("that were %s and are %s are not", (was, is) => {
    expect(worse(checks(was), checks(is))).toEqual([]);
  });

  it.each(["pass", "warn"] as const)("that were %s and are skipped are worse, unless packages were removed", (was) => {
    expect(worse(checks(was), checks("skip"))).toHaveLength(1);
    expect(worse(checks(was), checks("skip"), true)).toEqual([]);
  });

  it("of resources count only when they fail, and stay so", () => {
    expect(worse(checks("pass", "failure"), checks("warn", "failure"))).toEqual([]);
    expect(worse(checks("pass", "failure"), checks("skip", "failure"))).toEqual([]);
    const found = worseThan(fakeCondition(checks("pass", "failure")), fakeCondition(checks("fail", "failure")), false);
    expect(found).toMatchObject([{ key: "check sshd", mustLast: true }]);
  });

  it("that were not there before count as skipped", () => {
    expect(worse({}, checks("fail"))).toHaveLength(1);
  });
});

describe("the condition of a host", () => {
  const { signal } = new AbortController();
  const units = createFakeUnits([
    runningUnit("web.service"),
    runningUnit("hostnamed.service", { result: "success" }),
    { name: "old.service", activeState: "failed", subState: "failed", result: "signal" },
    { name: "stuck.service", activeState: "failed", jobResult: "failed", after: { activeState: "failed" } },
  ]);
  const host = createHostCondition({
    units,
    sockets: createFakeListeningSockets([fakeOpenPort(), fakeOpenPort({ port: 2049, inode: 0 })], { 4711: "nginx" }),
    report: () => Promise.resolve(checks("pass").checks),
  });

  it("has its units, ports and checks", async () => {
    expect(await host.look(["gone.service"], signal)).toEqual({
      checks: checks("pass").checks,
      units: {
        "web.service": { state: "active (running)", activeState: "active", staysActive: true },
        "hostnamed.service": { state: "active (running)", activeState: "active", staysActive: true },
        "old.service": { state: "failed (failed)", activeState: "failed", staysActive: false },
        "stuck.service": { state: "failed (dead)", activeState: "failed", staysActive: false },
        "gone.service": { state: "not found", activeState: "inactive", staysActive: false },
      },
      failedUnits: { "old.service": { result: "signal" }, "stuck.service": { result: "success" } },
      listeners: [{ protocol: "tcp", port: 80, isLoopback: false, program: "nginx" }],
    });
  });

  it("starts a unit again, also one that has failed, and says when that did not help", async () => {
    await host.restart("old.service", signal);
    expect(units.actions).toEqual(["reset old.service", "restart old.service"]);
    await expect(host.restart("stuck.service", signal)).rejects.toThrow("its start ended with failed");
  });

  it("is without units where systemd does not answer", async () => {
    units.available = false;
    expect(await host.look([], signal)).toMatchObject({ units: undefined, failedUnits: {} });
    units.available = true;
  });
});
