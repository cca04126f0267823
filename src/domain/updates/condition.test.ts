import { describe, expect, it } from "vitest";
import type { CheckStatus } from "#contract/checks.ts";
import type { GuardedBy } from "#domain/ports/updates.ts";
import { fakeCondition } from "../../../test/api/conditions.ts";
import { createFakeListeningSockets, fakeOpenPort } from "../../../test/fakes/listening-sockets.ts";
import { createFakeUnits, runningUnit } from "../../../test/fakes/units.ts";
import {
  activeUnitsOf,
  createHostCondition,
  type Listener,
  type Removal,
  watchedUnitsOf,
  worseThan,
} from "./condition.ts";

type Given = NonNullable<Parameters<typeof fakeCondition>[0]>;

const worse = (before: Given, now: Given, removal: Removal = "none"): readonly string[] =>
  worseThan(fakeCondition(before), fakeCondition(now), removal).map(({ text }) => text);
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
    expect(worseThan(before, now("activating (start)"), "none")).toMatchObject([{ mustLast: true }]);
    expect(worseThan(before, now("activating (auto-restart)"), "none")).toMatchObject([{ mustLast: false }]);
  });

  it("that end by themselves are left out", () => {
    const before = fakeCondition({ units: { "hostnamed.service": "active" } });
    const units = { "hostnamed.service": { activeState: "active", state: "active (running)", staysActive: false } };
    expect(activeUnitsOf({ ...before, units })).toEqual([]);
    expect(worseThan({ ...before, units }, fakeCondition(), "none")).toEqual([]);
  });

  it("that are gone are worse, unless packages were removed", () => {
    const before = { units: { "web.service": "active" } };
    expect(worse(before, {})).toEqual(["unit web.service: was active (running), now not found"]);
    for (const removal of ["along", "asked"] as const)
      for (const now of [{}, { units: { "web.service": "not found" } }])
        expect(worse(before, now, removal)).toEqual([]);
  });

  it("that are masked when they stop are worse, unless packages were removed", () => {
    const before = fakeCondition({ units: { "web.service": "active" } });
    const masked = { activeState: "inactive", state: "inactive (dead)", staysActive: false, isAbsent: true } as const;
    const now = { ...before, units: { "web.service": masked } };
    const text = "unit web.service: was active (running), now inactive (dead)";
    expect(worseThan(before, now, "none")).toMatchObject([{ text }]);
    expect(worseThan(before, now, "asked")).toEqual([]);
    // Somebody had masked it long before.
    const ran = { ...before, units: { "web.service": { ...masked, activeState: "active", staysActive: true } } };
    expect(worseThan(ran, now, "asked")).toHaveLength(1);
  });

  it("that stop or fail and are still there are worse, whatever was removed", () => {
    const before = { units: { "web.service": "active" } };
    for (const state of ["inactive", "failed"])
      expect(worse(before, { units: { "web.service": state } }, "asked")).toHaveLength(1);
    expect(worse({}, { units: { "new.service": "failed" } }, "asked")).toHaveLength(1);
  });

  it("that fail as they are stopped for good are worse, unless packages were removed", () => {
    const failed = { activeState: "failed", state: "not found", staysActive: false, isAbsent: true } as const;
    const now = {
      ...fakeCondition(),
      units: { "idle.service": failed },
      failedUnits: { "idle.service": { result: "" } },
    };
    expect(worseThan(fakeCondition(), now, "none")).toHaveLength(1);
    expect(worseThan(fakeCondition(), now, "asked")).toEqual([]);
  });

  it("that had failed already are not worse, those that fail now are", () => {
    const before = { units: { "old.service": "failed", "job.service": "inactive" } };
    const now = { units: { "old.service": "failed", "new.service": "failed" } };
    expect(worse(before, now)).toEqual(["unit new.service: had not failed, now failed, result exit-code"]);
  });

  it("cannot be asked about: that is worse where they could be before", () => {
    const without = { ...fakeCondition(), units: undefined };
    expect(worseThan(fakeCondition(), without, "none")).toMatchObject([{ text: "systemd does not answer" }]);
    expect(worseThan(without, without, "none")).toEqual([]);
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

describe("ports of units after packages were removed", () => {
  const was = listening({ unit: "nginx.service" });
  const missed = (state: string, removal: Removal = "asked", before: Given = was): readonly string[] =>
    worse({ units: { "nginx.service": "active" }, ...before }, { units: { "nginx.service": state } }, removal).filter(
      (text) => text.startsWith("port"),
    );
  const text = "port 80/tcp: nginx listened, now nothing does";

  it("are not missed where the unit has gone with them", () => {
    expect(missed("not found")).toEqual([]);
    // Neither where something else has come in its place.
    const now = {
      units: { "nginx.service": "not found" },
      ...listening({ program: "apache2", unit: "apache2.service" }),
    };
    expect(worse({ units: { "nginx.service": "active" }, ...was }, now, "asked")).toEqual([]);
    const given = { port: 50_000, holder: { unit: "nginx.service", isMain: true } };
    expect(missed("not found", "asked", listening({ unit: "nginx.service", ...given }))).toEqual([]);
  });

  it.each(["active", "inactive", "failed"])("are missed where the unit is there, and %s", (state) => {
    expect(missed(state)).toEqual([text]);
  });

  it("are missed of units of other packages, of those that nothing is known of, and of programs outside of units", () => {
    const units = { "nginx.service": "active", "peer.service": "active" };
    const left = { units: { "nginx.service": "not found", "peer.service": "active" } };
    for (const unit of [{ unit: "peer.service" }, { unit: "unknown.service" }, {}])
      expect(worse({ units, ...listening(unit) }, left, "asked")).toEqual([text]);
    // It was there, and the inspection after the change does not list it.
    expect(worse({ units, ...was }, {}, "asked")).toEqual([text]);
  });

  it("are missed of units without a file, which others than packages make and end", () => {
    const before = fakeCondition(was);
    const units = { "nginx.service": { state: "active (running)", activeState: "active", staysActive: false } };
    const now = fakeCondition({ units: { "nginx.service": "not found" } });
    expect(worseThan({ ...before, units }, now, "asked")).toMatchObject([{ text }]);
    expect(
      worseThan({ ...before, units: { "nginx.service": { ...units["nginx.service"], hasFile: true } } }, now, "asked"),
    ).toEqual([]);
  });

  it("are missed where an update removes packages, or nothing does", () => {
    expect(missed("not found", "along")).toEqual([text]);
    expect(missed("not found", "none")).toEqual([text]);
  });

  it("are named once, at however many addresses units had them", () => {
    const [first] = listening().listeners ?? [];
    const before = { listeners: ["a", "b"].flatMap((unit) => (first ? [{ ...first, unit: `${unit}.service` }] : [])) };
    expect(worse(before, {})).toEqual([text]);
    const others = { listeners: before.listeners.map((each) => ({ ...each, program: "haproxy" })) };
    expect(worse(before, others)).toEqual(["port 80/tcp: nginx listened, now haproxy"]);
  });

  it("have their units inspected each time, also transient ones", () => {
    const listeners = [...(listening({ unit: "cockpit.service" }).listeners ?? []), ...(listening().listeners ?? [])];
    expect(watchedUnitsOf(fakeCondition({ units: { "web.service": "active" }, listeners }))).toEqual([
      "web.service",
      "cockpit.service",
    ]);
  });
});

describe("ports that the kernel may have given out", () => {
  const units = { "db.service": "active", "runner.service": "active" };
  /** Of the main process of db.service, unless said. */
  const at = (port: number, given: Partial<Listener> = {}): Listener => ({
    protocol: "tcp",
    port,
    isLoopback: false,
    program: "mysqld",
    holder: { unit: "db.service", isMain: true },
    ...given,
  });
  const missed = (before: readonly Listener[], now: readonly Listener[], running: Given["units"] = units) =>
    worse({ units: running, listeners: before }, { units: running, listeners: now });
  const text = "port 33060/tcp: mysqld listened, now nothing does";

  it("are worse where a running service has none of them left", () => {
    expect(missed([at(33_060)], [])).toEqual([text]);
    expect(missed([at(33_060)], [{ protocol: "tcp", port: 3306, isLoopback: false, program: "mysqld" }])).toEqual([
      text,
    ]);
    expect(missed([at(33_060)], [at(33_060, { program: "eve", holder: { unit: null, isMain: false } })])).toEqual([
      "port 33060/tcp: mysqld listened, now eve",
    ]);
  });

  it("are not worse where it has another one, or a process of it has the same one", () => {
    expect(missed([at(36_543)], [at(41_237)])).toEqual([]);
    expect(missed([at(50_000), at(36_543)], [at(50_000)])).toEqual([]);
    expect(missed([at(36_543)], [at(41_237, { holder: { unit: "db.service", isMain: false } })])).toEqual([]);
    expect(missed([at(33_060)], [at(33_060, { holder: { unit: null, isMain: false } })])).toEqual([]);
    // Anyone who was given the old one.
    expect(missed([at(36_543)], [at(41_237), at(36_543, { holder: { unit: null, isMain: true } })])).toEqual([]);
  });

  it("are worse where another one is reached from less far, or is another service's", () => {
    expect(missed([at(33_060)], [at(41_237, { isLoopback: true })])).toEqual([text]);
    expect(missed([at(33_060, { isLoopback: true })], [at(41_237)])).toEqual([]);
    expect(missed([at(33_060)], [at(41_237, { holder: { unit: "runner.service", isMain: true } })])).toEqual([text]);
  });

  it("are not missed of what services start, of users, and of what does not stay", () => {
    for (const holder of [
      { unit: "runner.service", isMain: false },
      { unit: "session-3.scope", isMain: true },
      { unit: "user@1000.service", isMain: true },
      { unit: "idle.service", isMain: true },
      { unit: null, isMain: true },
    ])
      expect([holder, missed([at(40_000, { holder })], [])]).toEqual([holder, []]);
    expect(missed([at(40_000)], [], {})).toEqual([]);
  });

  it("are worse where systemd waited at them for others", () => {
    const waiting = at(50_000, { program: "systemd", holder: { unit: "init.scope", isMain: true } });
    expect(missed([waiting], [])).toEqual(["port 50000/tcp: systemd listened, now nothing does"]);
    expect(missed([waiting], [at(50_000)])).toEqual([]);
    expect(missed([waiting], [{ ...waiting, port: 50_001 }])).toHaveLength(1);
  });
});

describe("checks", () => {
  it.each([
    ["skip", "warn"],
    ["skip", "fail"],
    ["pass", "warn"],
    ["warn", "fail"],
  ] as const)("that were %s and are %s are worse, whatever was removed", (was, is) => {
    for (const removal of ["none", "along", "asked"] as const)
      expect(worse(checks(was), checks(is), removal)).toEqual([`check sshd: was ${was}, now ${is} (so it is)`]);
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
    for (const removal of ["along", "asked"] as const) expect(worse(checks(was), checks("skip"), removal)).toEqual([]);
  });

  it("of resources count only when they fail, and stay so", () => {
    expect(worse(checks("pass", "failure"), checks("warn", "failure"))).toEqual([]);
    expect(worse(checks("pass", "failure"), checks("skip", "failure"))).toEqual([]);
    const found = worseThan(fakeCondition(checks("pass", "failure")), fakeCondition(checks("fail", "failure")), "none");
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
    { name: "off.service", loadState: "masked" },
    { ...runningUnit("waiting.socket"), waitsAt: [{ protocol: "tcp", port: 9090 }] },
    { name: "stuck.service", activeState: "failed", jobResult: "failed", after: { activeState: "failed" } },
  ]);
  const host = createHostCondition({
    units,
    sockets: createFakeListeningSockets(
      [
        fakeOpenPort(),
        fakeOpenPort({ port: 2049, inode: 0 }),
        fakeOpenPort({ port: 50_000, inode: 4712 }),
        fakeOpenPort({ port: 9090, inode: 4713 }),
        fakeOpenPort({ port: 9091, inode: 4713 }),
      ],
      {
        4711: "nginx",
        4712: "web",
        4713: { program: "systemd", unit: "init.scope", isMain: true },
      },
    ),
    report: () => Promise.resolve(checks("pass").checks),
  });

  it("has its units, ports and checks", async () => {
    const running = { state: "active (running)", activeState: "active", staysActive: true, hasFile: true };
    expect(await host.look(["gone.service"], signal)).toEqual({
      checks: checks("pass").checks,
      units: {
        "web.service": running,
        "hostnamed.service": running,
        "waiting.socket": running,
        "off.service": { state: "inactive (dead)", activeState: "inactive", staysActive: false, isAbsent: true },
        "old.service": { state: "failed (failed)", activeState: "failed", staysActive: false },
        "stuck.service": { state: "failed (dead)", activeState: "failed", staysActive: false },
        "gone.service": { state: "not found", activeState: "inactive", staysActive: false, isAbsent: true },
      },
      failedUnits: { "old.service": { result: "signal" }, "stuck.service": { result: "success" } },
      listeners: [
        { protocol: "tcp", port: 80, isLoopback: false, program: "nginx", unit: "nginx.service" },
        {
          protocol: "tcp",
          port: 50_000,
          isLoopback: false,
          program: "web",
          unit: "web.service",
          holder: { unit: "web.service", isMain: true },
        },
        // Systemd waits at both of them; nobody knows for whom at the second one.
        { protocol: "tcp", port: 9090, isLoopback: false, program: "systemd", unit: "waiting.socket" },
        { protocol: "tcp", port: 9091, isLoopback: false, program: "systemd" },
      ],
    });
  });

  it("restarts a unit, also a failed one, and reports when that did not help", async () => {
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
