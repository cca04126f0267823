import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scopes } from "#contract/scopes.ts";
import { allows, expandScopes, matchesPattern, notCovered, resourcesOf } from "./scopes.ts";

const letters = fc.string({ unit: fc.constantFrom("a", "b", "*", "-", "."), maxLength: 8 });
const names = fc.string({ unit: fc.constantFrom("a", "b", "-", "."), maxLength: 8 });

describe("patterns", () => {
  it("match as a star matches", () => {
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

  it("cover a narrower pattern only when they cover all that it covers", () => {
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

  it("expand roles, once each, and name what is unknown", () => {
    expect(expandScopes(["admin", "system:read"])).toEqual({ scopes });
    expect(expandScopes(["viewer", "root"])).toEqual({ unknown: "root" });
    expect(expandScopes(["toString"])).toEqual({ unknown: "toString" });
  });

  it("expand a set, whole or narrowed", () => {
    const verbs = ["restart", "start", "stop", "reload", "enable", "mask"];
    expect(expandScopes(["services:control"])).toEqual({ scopes: verbs.map((verb) => `services:${verb}`) });
    expect(expandScopes(["services:control:nginx"])).toEqual({
      scopes: verbs.map((verb) => `services:${verb}:nginx.service`),
    });
    expect(expandScopes(["services:control:"])).toEqual({ unknown: "services:control:" });
    expect(expandScopes(["services:controls"])).toEqual({ unknown: "services:controls" });
  });

  it("take a unit by its short name, when they are granted and when they are read", () => {
    const given = ["services:restart:nginx", "logs:read:nginx", "logs:read:kernel", "logs:read:app-*", "plugins:run:x"];
    const scopes = ["services:restart:nginx.service", "logs:read:nginx.service", ...given.slice(2)];
    expect(expandScopes(given)).toEqual({ scopes });
    expect(resourcesOf(given, "logs:read")).toEqual(["nginx.service", "kernel", "app-*"]);
    expect(allows(given, "services:restart", "nginx.service")).toBe(true);
  });

  it("tell the resources that they are narrowed to", () => {
    expect(resourcesOf(["logs:read"], "logs:read")).toBe("all");
    expect(resourcesOf(["logs:read:a.service", "logs:read"], "logs:read")).toBe("all");
    expect(resourcesOf(["system:read", "logs:readings"], "logs:read")).toEqual([]);
    expect(resourcesOf([], "logs:read")).toEqual([]);
  });

  it("cannot be handed on beyond what is held", () => {
    expect(
      notCovered(["services:restart:app-*"], ["services:restart:app-1.service", "services:restart", "system:read"]),
    ).toEqual(["services:restart", "system:read"]);
  });
});
