import { expect, it } from "vitest";
import { unitVerbs } from "#domain/ports/units.ts";
import { changedAlong, conditionIn, parseUnitFile, portsIn, startingOf, staysActive } from "./parse.ts";

const bytes = Array.from({ length: 16 }, (_, index) => index);
const hex = "000102030405060708090a0b0c0d0e0f";

it.each([
  [
    { InvocationID: bytes, Job: [0, "/"] },
    { invocation: hex, hasJob: false },
  ],
  [
    { InvocationID: Buffer.from(bytes), Job: [7, "/job/7"] },
    { invocation: hex, hasJob: true },
  ],
  [
    { InvocationID: [], Job: "nonsense" },
    { invocation: "", hasJob: false },
  ],
  [undefined, { invocation: "", hasJob: false }],
])("the run of a unit is read from %j", (properties, run) => {
  expect(startingOf(properties)).toMatchObject(run);
});

it.each([
  [{ CanStart: true, CanStop: true }, ["start", "stop", "restart"]],
  [{ CanStart: false, CanStop: true, CanReload: true }, ["stop", "reload"]],
  [{ CanStart: true, CanStop: false, CanReload: false }, ["start"]],
  [{}, ["start", "stop", "restart"]],
])("the verbs of a unit are read from %j", (properties, expected) => {
  const { can } = startingOf(properties);
  expect(unitVerbs.filter((verb) => can[verb])).toEqual(expected);
});

it("the units that change along with one are read", () => {
  const properties = {
    Requires: ["a.service"],
    Wants: ["b.service"],
    RequiredBy: ["c.service"],
    ConsistsOf: ["d.service"],
    Conflicts: ["shutdown.target"],
    TriggeredBy: ["e.socket"],
    PropagatesReloadTo: ["f.service"],
  };
  expect(unitVerbs.map((verb) => changedAlong(verb, properties))).toEqual([
    { same: ["a.service", "b.service"], stopped: ["shutdown.target"], triggers: [] },
    { same: ["c.service", "d.service"], stopped: [], triggers: ["e.socket"] },
    { same: ["c.service", "d.service"], stopped: [], triggers: [] },
    { same: ["f.service"], stopped: [], triggers: [] },
  ]);
  expect(changedAlong("stop", undefined)).toEqual({ same: [], stopped: [], triggers: [] });
});

it.each([
  [{ ConditionTimestamp: 0n, ConditionResult: false }, undefined],
  [{ ConditionTimestamp: 1_700_000_000_000_000n, ConditionResult: false }, false],
  [{ ConditionTimestamp: 1_700_000_000_000_000n, ConditionResult: true }, true],
  [{}, undefined],
])("the conditions of a unit are read from %o", (properties, held) => {
  expect(conditionIn(properties)).toBe(held);
});

const running = { ActiveState: "active", FragmentPath: "/usr/lib/systemd/system/web.service", TriggeredBy: [] };

it.each([
  ["web.service", running, {}, true],
  ["web.target", running, {}, false],
  ["web.service", { ...running, Transient: true }, {}, false],
  ["web.service", { ...running, FragmentPath: "" }, {}, false],
  ["web.service", { ...running, TriggeredBy: ["web.socket"] }, {}, false],
  ["web.service", { ...running, TriggeredBy: ["web.socket"], WantedBy: ["multi-user.target"] }, {}, true],
  ["web.service", running, { BusName: "org.example.Web" }, false],
  ["web.service", { ...running, Conditions: [["ConditionPathExists", false, false, "/srv", 1]] }, {}, true],
  // They are active at the boot that comes after an update, and not at the next.
  ["ldconfig.service", { ...running, Conditions: [["ConditionNeedsUpdate", true, false, "/etc", 1]] }, {}, false],
  ["seed.service", { ...running, Conditions: [["ConditionFirstBoot", false, false, "yes", 1]] }, {}, false],
  // What is read of a service for one connection that has ended between the list and the question.
  ["web@1-2-3.service", { ...running, ActiveState: "inactive" }, {}, false],
  ["web@1-2-3.service", { ...running, ActiveState: "deactivating" }, {}, false],
])("the unit %s with %j %j is to stay active: %s", (name, properties, ofKind, stays) => {
  expect(staysActive(name, properties, ofKind)).toBe(stays);
});

it("the ports of a socket unit are read, without addresses of others", () => {
  const listens = [
    ["Stream", "[::]:22"],
    ["Stream", "127.0.0.1:9090"],
    ["Datagram", "0.0.0.0:69"],
    ["Stream", "[fe80::1]%eth0:80"],
    ["Stream", "/run/dbus/socket"],
    ["Stream", "/run/strange:80"],
    ["Stream", "vsock:2:1234"],
    ["Netlink", "kobject-uevent 1"],
    ["SequentialPacket", "@abstract:5"],
    "nonsense",
  ];
  expect(portsIn({ Listen: listens }).map(({ protocol, port }) => `${port}/${protocol}`)).toEqual([
    "22/tcp",
    "9090/tcp",
    "69/udp",
    "80/tcp",
  ]);
  expect(portsIn(undefined)).toEqual([]);
});

it("a unit file has the last description of its Unit section, over continued lines", () => {
  const text =
    "# comment\n[Unit]\nDescription=First\nDescription = The  second one \n[Service]\nDescription=not this\n";
  expect(parseUnitFile(text)).toEqual({ description: "The  second one", install: "none" });
  expect(parseUnitFile("[Unit]\nDescription=one \\\n# why\ntwo\n").description).toBe("one  two");
});

it("a unit file shows what enabling would do", () => {
  expect(parseUnitFile("[Install]\nWantedBy=multi-user.target\n").install).toBe("links");
  expect(parseUnitFile("[Install]\nAlias=other.service\nAlso=x.socket\n").install).toBe("links");
  expect(parseUnitFile("[Install]\nAlso=x.socket\n").install).toBe("also");
  expect(parseUnitFile("[Install]\nWantedBy=\n").install).toBe("none");
  expect(parseUnitFile("[Unit]\nWantedBy=x\n").install).toBe("none");
  expect(parseUnitFile("")).toEqual({ description: "", install: "none" });
});
