import { expect, it } from "vitest";
import type { Call, Connection } from "./connection.ts";
import { createMirror } from "./mirror.ts";

const row = (name: string, active: string, sub: string) => [
  name,
  `About ${name}`,
  "loaded",
  active,
  sub,
  "",
  `/unit/${name}`,
  0,
  "",
  "/",
];
const manager = "org.freedesktop.systemd1.Manager";
const signal = (member: string, ...body: unknown[]) => ({
  path: "/org/freedesktop/systemd1",
  interface: manager,
  member,
  body,
});
const changed = (name: string, properties: object) => ({
  path: `/unit/${name}`,
  interface: "org.freedesktop.DBus.Properties",
  member: "PropertiesChanged",
  body: ["org.freedesktop.systemd1.Unit", properties, []],
});
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A systemd that has these units, and remembers what it was asked. */
function scripted(rows: unknown[][]) {
  const asked: Call[] = [];
  const properties: Readonly<Record<string, unknown>> = {
    MainPID: 77,
    NRestarts: 2,
    Result: "success",
    ControlGroup: "/a",
    ActiveEnterTimestamp: 1_700_000_000_000_000n,
    InactiveEnterTimestamp: 1_700_000_000_000_000n,
  };
  const call: Connection["call"] = async (message, onReply) => {
    asked.push(message);
    await Promise.resolve();
    if (message.member === "ListUnitsByPatterns") {
      const [, patterns] = message.body as [unknown, string[]];
      return onReply([rows.filter(([name]) => patterns.includes("*.service") || patterns.includes(String(name)))]);
    }
    return onReply([properties[String(message.body?.[1])] ?? ""]);
  };
  return { call, asked, rows };
}

function start(rows: unknown[][]) {
  const systemd = scripted(rows);
  const changes: string[] = [];
  let reloads = 0;
  const mirror = createMirror({
    call: systemd.call,
    onChange: ({ name, activeState }) => void changes.push(`${name} ${activeState}`),
    onReload: () => {
      reloads += 1;
    },
  });
  return { ...systemd, mirror, changes, reloads: () => reloads };
}

it("the mirror of units has what systemd lists, with properties that a listing lacks", async () => {
  const { mirror } = start([
    row("a.service", "active", "running"),
    row("b.service", "inactive", "dead"),
    row("c.socket", "active", "listening"),
  ]);
  await mirror.synchronise();
  expect([...mirror.units().keys()]).toEqual(["a.service", "b.service"]);
  expect(mirror.units().get("a.service")).toMatchObject({
    description: "About a.service",
    activeState: "active",
    mainPid: 77,
    restarts: 2,
    since: 1_700_000_000_000,
  });
  expect(mirror.units().get("b.service")).toMatchObject({ mainPid: null, since: 1_700_000_000_000 });
});

it("the mirror of units follows signals, and drops removed units", async () => {
  const { mirror, changes } = start([row("a.service", "active", "running")]);
  await mirror.synchronise();
  changes.length = 0;
  mirror.onSignal(changed("a.service", { ActiveState: "failed", SubState: "failed", MainPID: 0, Irrelevant: 1 }));
  expect(mirror.units().get("a.service")).toMatchObject({ activeState: "failed", subState: "failed", mainPid: null });
  expect(changes).toEqual(["a.service failed"]);
  mirror.onSignal(changed("a.service", { Irrelevant: 2 }));
  mirror.onSignal(changed("nobody.service", { ActiveState: "active" }));
  expect(changes).toHaveLength(1);
  mirror.onSignal(signal("UnitRemoved", "a.service", "/unit/a.service"));
  expect(mirror.units().size).toBe(0);
});

it("the mirror of units never queries a new idle unit, which would load it again for ever", async () => {
  const { mirror, asked, rows } = start([]);
  await mirror.synchronise();
  rows.push(row("idle.service", "inactive", "dead"), row("busy.service", "active", "running"));
  asked.length = 0;
  mirror.onSignal(signal("UnitNew", "idle.service", "/unit/idle.service"));
  mirror.onSignal(signal("UnitNew", "busy.service", "/unit/busy.service"));
  mirror.onSignal(signal("UnitNew", "gone.service", "/unit/gone.service"));
  mirror.onSignal(signal("UnitNew", "x.socket", "/unit/x.socket"));
  await settle();
  expect(asked.filter(({ member }) => member === "ListUnitsByPatterns")).toHaveLength(1);
  expect(new Set(asked.filter(({ member }) => member === "Get").map(({ path }) => path))).toEqual(
    new Set(["/unit/busy.service"]),
  );
  expect([...mirror.units().keys()].sort()).toEqual(["busy.service", "idle.service"]);
});

it("the mirror of units queries the cgroup of a unit that starts", async () => {
  const { mirror } = start([row("a.service", "inactive", "dead")]);
  await mirror.synchronise();
  mirror.onSignal(changed("a.service", { ActiveState: "active" }));
  await settle();
  expect(mirror.units().get("a.service")).toMatchObject({ controlGroup: "/a" });
});

it("the mirror of units drops units that a later listing lacks", async () => {
  const { mirror, rows } = start([row("a.service", "active", "running"), row("b.service", "active", "running")]);
  await mirror.synchronise();
  rows.shift();
  await mirror.synchronise();
  expect([...mirror.units().keys()]).toEqual(["b.service"]);
  mirror.clear();
  expect(mirror.units().size).toBe(0);
});

it("the mirror of units keeps units that systemd unloads and loads during a reload", async () => {
  const { mirror, rows } = start([row("a.service", "active", "running"), row("b.service", "active", "running")]);
  await mirror.synchronise();
  mirror.onSignal(signal("Reloading", true));
  mirror.onSignal(signal("UnitRemoved", "a.service", "/unit/a.service"));
  mirror.onSignal(signal("UnitRemoved", "b.service", "/unit/b.service"));
  mirror.onSignal(signal("UnitNew", "a.service", "/unit/a.service"));
  expect([...mirror.units().keys()]).toEqual(["a.service", "b.service"]);
  expect(mirror.units().get("a.service")).toMatchObject({ activeState: "active", mainPid: 77 });
  rows.pop();
  mirror.onSignal(signal("Reloading", false));
  await mirror.synchronise();
  expect([...mirror.units().keys()]).toEqual(["a.service"]);
  mirror.onSignal(signal("UnitRemoved", "a.service", "/unit/a.service"));
  expect(mirror.units().size).toBe(0);
});

it("the mirror of units reports reloads and restarts of systemd", () => {
  const { mirror, reloads } = start([]);
  mirror.onSignal(signal("Reloading", true));
  mirror.onSignal({
    ...signal("NameOwnerChanged", "org.freedesktop.systemd1", ":1.1", ""),
    interface: "org.freedesktop.DBus",
  });
  expect(reloads()).toBe(0);
  mirror.onSignal(signal("Reloading", false));
  mirror.onSignal(signal("UnitFilesChanged"));
  mirror.onSignal({
    ...signal("NameOwnerChanged", "org.freedesktop.systemd1", "", ":1.9"),
    interface: "org.freedesktop.DBus",
  });
  expect(reloads()).toBe(3);
});
