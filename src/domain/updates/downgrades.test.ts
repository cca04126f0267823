import { describe, expect, it } from "vitest";
import { downgradeRules, harmfulDowngrades } from "./downgrades.ts";

const refused = (name: string, from: string, to: string, rules = downgradeRules()): boolean =>
  harmfulDowngrades([{ name, from: to, to: from }], rules).length > 0;

describe("what must not be downgraded", () => {
  it.each([
    ["mysql-server-8.0", "8.0.36-1", "8.0.35-1", true],
    ["mysql-server-8.0", "8.0.36-2", "8.0.36-1", false],
    ["mysql-server-8.0", "8.0.35-1", "8.0.36-1", false],
    ["mysql-client-8.0", "8.0.36-1", "8.0.35-1", false],
    ["mariadb-server", "1:10.11.6-0+deb12u1", "1:10.11.4-1", false],
    ["mariadb-server", "1:11.4.2-1", "1:10.11.6-1", true],
    ["mariadb-server", "1:10.11-1", "10.11-1", true],
    ["postgresql-15", "15.8-1", "15.5-1", false],
    ["postgresql-server", "16.1-2.el9", "13.14-1.el9", true],
    ["postgresql16-server", "16.4-1PGDG", "16.1-1PGDG", false],
    ["redis-server", "5:7.2.1-1", "5:7.0.15-1", true],
    ["grafana", "11.1.0", "11.0.3", true],
    ["openssl", "3.0.15-1", "3.0.14-1", false],
  ])("%s from %s to %s: %s", (name, from, to, expected) => {
    expect(refused(name, from, to)).toBe(expected);
  });

  it("is what settings add, and not what they take away", () => {
    const rules = downgradeRules({ "shop-*": "its tables are migrated", grafana: false });
    expect(refused("shop-data", "2", "1", rules)).toBe(true);
    expect(refused("grafana", "11.1.0", "10.0.0", rules)).toBe(false);
    expect(refused("slapd", "2.6.1", "2.4.1", rules)).toBe(true);
    // Neither what came nor what went is one.
    expect(harmfulDowngrades([{ name: "slapd", from: null, to: "2" }], rules)).toEqual([]);
  });
});
