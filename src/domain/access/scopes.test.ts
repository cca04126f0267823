import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseScope, type Scope, scopes } from "#contract/scopes.ts";
import {
  allows,
  describeUnknown,
  expandScopes,
  knownScopes,
  matchesPattern,
  notCovered,
  resourcesOf,
  scopesOn,
  withProposals,
} from "./scopes.ts";

const letters = fc.string({ unit: fc.constantFrom("a", "b", "*", "-", "."), maxLength: 8 });
const names = fc.string({ unit: fc.constantFrom("a", "b", "-", "."), maxLength: 8 });

describe("patterns of scopes", () => {
  it("match names with a star for any characters", () => {
    fc.assert(
      fc.property(letters, names, (pattern, name) => {
        const oracle = new RegExp(
          `^${pattern
            .split("*")
            .map((part) => part.replaceAll(/[.-]/g, "\\$&"))
            .join(".*")}$`,
        );
        expect(matchesPattern(pattern, name)).toBe(oracle.test(name));
      }),
      { numRuns: 5000 },
    );
  });

  it("cover a narrower pattern only when they match all that it matches", () => {
    fc.assert(
      fc.property(letters, letters, names, (wide, narrow, name) => {
        if (matchesPattern(wide, narrow) && matchesPattern(narrow, name)) expect(matchesPattern(wide, name)).toBe(true);
      }),
      { numRuns: 5000 },
    );
  });
});

describe("scopes", () => {
  it("allow what they name and nothing else", () => {
    expect(allows([], "system:read")).toBe(false);
    expect(allows(["system:read"], "system:read")).toBe(true);
    expect(allows(["system:read"], "health:read")).toBe(false);
    expect(allows(["services:restart"], "services:restart", "nginx.service")).toBe(true);
    expect(allows(["services:restart:nginx.service"], "services:restart", "nginx.service")).toBe(true);
    expect(allows(["services:restart:nginx.service"], "services:restart", "cron.service")).toBe(false);
    expect(allows(["services:restart:nginx.service"], "services:restart")).toBe(false);
    expect(allows(["nonsense", "services:restart:"], "services:restart", "")).toBe(false);
  });

  it("expand roles and sets, once each, whole or narrowed", () => {
    expect(expandScopes(["admin", "system:read"])).toEqual({ scopes });
    expect(expandScopes(["viewer", "root"])).toEqual({ unknown: "root" });
    expect(expandScopes(["toString"])).toEqual({ unknown: "toString" });
    const verbs = ["restart", "start", "stop", "reload", "enable", "mask"];
    expect(expandScopes(["services:control"])).toEqual({ scopes: verbs.map((verb) => `services:${verb}`) });
    expect(expandScopes(["services:control:nginx"])).toEqual({
      scopes: verbs.map((verb) => `services:${verb}:nginx.service`),
    });
    expect(expandScopes(["services:control:"])).toEqual({ unknown: "services:control:" });
    expect(expandScopes(["services:controls"])).toEqual({ unknown: "services:controls" });
  });

  it("take a unit by its short name", () => {
    const given = ["services:restart:nginx", "logs:read:nginx", "logs:read:kernel", "logs:read:app-*", "plugins:run:x"];
    const scopes = ["services:restart:nginx.service", "logs:read:nginx.service", ...given.slice(2)];
    expect(expandScopes(given)).toEqual({ scopes });
    expect(resourcesOf(given, "logs:read")).toEqual(["nginx.service", "kernel", "app-*"]);
    expect(allows(given, "services:restart", "nginx.service")).toBe(true);
  });

  it("have the resources that they are narrowed to", () => {
    expect(resourcesOf(["logs:read"], "logs:read")).toBe("all");
    expect(resourcesOf(["logs:read:a.service", "logs:read"], "logs:read")).toBe("all");
    expect(resourcesOf(["system:read", "logs:readings"], "logs:read")).toEqual([]);
    expect(resourcesOf([], "logs:read")).toEqual([]);
  });

  it("do not cover wider scopes", () => {
    expect(
      notCovered(["services:restart:app-*"], ["services:restart:app-1.service", "services:restart", "system:read"]),
    ).toEqual(["services:restart", "system:read"]);
  });
});

const on = (hostName: string, granted: readonly string[]): readonly string[] => scopesOn(granted, () => hostName);

describe("scopes of hosts", () => {
  it.each([
    ["services:restart:nginx.service@web-*", "nginx.service", "web-*"],
    ["services:restart:getty@tty1.service@WEB-1", "getty@tty1.service", "web-1"],
    ["services:restart:*.service@web-1", "*.service", "web-1"],
    ["services:restart@web-1.example.org", undefined, "web-1.example.org"],
    ["system:reboot@web-*", undefined, "web-*"],
    ["logs:read:kernel@web-*", "kernel", "web-*"],
    ["packages:install:libc6:amd64@db", "libc6:amd64", "db"],
    ["health:fix:disk_space@db", "disk_space", "db"],
    // Instances of templates stay what they are.
    ["services:restart:getty@tty1", "getty@tty1", undefined],
    ["services:restart:getty@*", "getty@*", undefined],
    ["services:restart:getty@tty1.service", "getty@tty1.service", undefined],
    ["logs:read:user@*.service", "user@*.service", undefined],
  ])("are parsed from %s", (text, resource, host) => {
    expect(parseScope(text)).toMatchObject({ resource, host });
  });

  it.each([
    "services:restart:nginx.service@",
    "services:restart:nginx.service@web 1",
    "services:restart:nginx.service@web/1",
    "system:reboot@",
    "system:reboot@@web",
    "system:reboot:x@web",
    "system:reboot@web\n",
    "services:restart@web@db",
    "nonsense@web",
    "@web",
  ])("are refused: %j", (text) => {
    expect(parseScope(text)).toBeUndefined();
    expect(expandScopes([text])).toEqual({ unknown: text });
    expect(knownScopes([text])).toEqual([]);
  });

  it("allow nothing until resolved for a host, and then hold up to the first dot, in any case", () => {
    const granted = ["services:restart:nginx.service@web-*", "system:reboot@db"];
    expect(on("web-1", granted)).toEqual(["services:restart:nginx.service"]);
    expect(on("WEB-1.example.org.", granted)).toEqual(["services:restart:nginx.service"]);
    expect(on("db.example.org", granted)).toEqual(["system:reboot"]);
    expect(on("db-2", granted)).toEqual([]);
    expect(on("", granted)).toEqual([]);
    expect(allows(["system:reboot@*"], "system:reboot")).toBe(false);
    expect(resourcesOf(["logs:read:a.service@*"], "logs:read")).toEqual([]);
  });

  it("expand with roles and sets", () => {
    expect(expandScopes(["operator@web-*"])).toMatchObject({
      scopes: expect.arrayContaining(["services:restart@web-*", "system:read@web-*"]) as unknown,
    });
    expect(expandScopes(["services:control:nginx.service@Web-*"])).toMatchObject({
      scopes: expect.arrayContaining(["services:stop:nginx.service@web-*"]) as unknown,
    });
    expect(expandScopes(["services:control@web"])).toMatchObject({
      scopes: expect.arrayContaining(["services:mask@web"]) as unknown,
    });
  });

  it("do not cover scopes of other hosts", () => {
    const held = ["services:restart:*.service@web-*"];
    expect(notCovered(held, ["services:restart:a.service@web-1"])).toEqual([]);
    const wider = [
      "services:restart:a.service",
      "services:restart:a.service@*",
      "services:restart:a.service@db",
      "services:restart@web-1",
    ];
    expect(notCovered(held, wider)).toEqual(wider);
    expect(notCovered(["services:restart"], wider)).toEqual([]);
  });

  const word = fc.string({ unit: fc.constantFrom("a", "b", "*", "-"), minLength: 1, maxLength: 4 });
  const plain = fc.string({ unit: fc.constantFrom("a", "b", "-", "."), minLength: 1, maxLength: 5 });
  const entries = fc
    .tuple(
      fc.constantFrom<Scope>("services:restart", "plugins:run", "system:reboot"),
      fc.option(word, { nil: undefined }),
      fc.option(word, { nil: undefined }),
    )
    .map(([scope, resource, host]) => {
      const suffix = scope === "services:restart" ? ".service" : "";
      const narrowed = resource === undefined || scope === "system:reboot" ? "" : `:${resource}${suffix}`;
      return `${scope}${narrowed}${host === undefined ? "" : `@${host}`}`;
    });

  it("cover no scope that allows more, on any host", () => {
    fc.assert(
      fc.property(fc.array(entries, { maxLength: 4 }), entries, plain, plain, (held, wanted, hostName, name) => {
        const expanded = expandScopes([wanted]);
        if ("unknown" in expanded || notCovered(held, expanded.scopes).length > 0) return;
        for (const scope of ["services:restart", "plugins:run", "system:reboot"] as const) {
          for (const resource of [undefined, name, `${name}.service`]) {
            if (!allows(on(hostName, expanded.scopes), scope, resource)) continue;
            expect(allows(on(hostName, held), scope, resource)).toBe(true);
          }
        }
      }),
      { numRuns: 5000 },
    );
  });

  it("never allow more with a host than without", () => {
    fc.assert(
      fc.property(entries, plain, plain, (entry, hostName, name) => {
        const everywhere = [entry.replace(/@[^@]*$/, "")];
        for (const scope of ["services:restart", "plugins:run", "system:reboot"] as const) {
          for (const resource of [undefined, name, `${name}.service`]) {
            if (allows(on(hostName, [entry]), scope, resource)) expect(allows(everywhere, scope, resource)).toBe(true);
          }
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe("scopes with propose:", () => {
  it("allow nothing, except to propose a call", () => {
    const granted = ["propose:services:restart:nginx", "propose:updates:apply@web-*", "system:read"];
    expect(allows(granted, "services:restart", "nginx.service")).toBe(false);
    expect(resourcesOf(granted, "services:restart")).toEqual([]);
    const wide = withProposals(scopesOn(granted, () => "web-1"));
    expect([allows(wide, "services:restart", "nginx.service"), allows(wide, "services:restart")]).toEqual([
      true,
      false,
    ]);
    expect([allows(wide, "updates:apply"), allows(wide, "system:read")]).toEqual([true, true]);
    expect(allows(withProposals(scopesOn(granted, () => "db-1")), "updates:apply")).toBe(false);
    const plain = ["system:read"];
    expect(withProposals(plain)).toBe(plain);
  });

  it("are covered by the scope itself, and do not cover it", () => {
    expect(notCovered(["updates:apply"], ["propose:updates:apply"])).toEqual([]);
    expect(notCovered(["propose:updates:apply"], ["propose:updates:apply", "updates:apply"])).toEqual([
      "updates:apply",
    ]);
  });

  it("expand with sets and roles, without reads", () => {
    expect(expandScopes(["propose:operator@web-1"])).toEqual({
      scopes: [
        "propose:health:fix@web-1",
        "propose:services:restart@web-1",
        "propose:connectors:test@web-1",
        "propose:connectors:chat@web-1",
        "propose:plugins:run@web-1",
      ],
    });
    for (const text of [
      "propose:viewer",
      "propose:health:read",
      "propose:windows:override",
      "propose:propose:updates:apply",
      "propose:",
    ])
      expect(expandScopes([text])).toEqual({ unknown: text });
  });
});

it.each([
  ["service:restart:nginx", "services:restart:nginx"],
  ["propose:update:apply", "propose:updates:apply"],
  ["operater@web-*", "operator@web-*"],
])("the unknown scope %s was meant to be %s", (entry, meant) => {
  expect(expandScopes([entry])).toEqual({ unknown: entry });
  expect(describeUnknown(entry)).toEqual({ hint: ` (did you mean ${meant}?)`, meant });
});

it("an unknown scope that is like no other gets the known ones, and one that is narrowed wrongly gets the reason", () => {
  expect(describeUnknown("root").hint).toMatch(/^ \(there are health:read, .*, admin\)$/);
  expect(describeUnknown("updates:apply:nginx").hint).toBe(" (updates:apply is not for single resources)");
  expect(describeUnknown("services:restart:a b").hint).toBe(" (services:restart cannot be had so)");
});
