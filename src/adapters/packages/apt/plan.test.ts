import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PackageChange } from "#domain/ports/packages.ts";
import { aptOffer, dpkgEntry } from "../../../../test/ports/support/dpkg.ts";
import { areSame, describeChanges } from "../common/changes.ts";
import { changesOf, parseSimulation } from "./simulation.ts";

const change = (name: string, rest: Partial<PackageChange> = {}): PackageChange => ({
  name,
  architecture: "amd64",
  from: "1.0",
  to: "1.1",
  isSecurity: false,
  ...rest,
});

describe("what a simulation says", () => {
  const entries = [
    dpkgEntry("dpkg"),
    dpkgEntry("libc6", { isMultiArchSame: true }),
    dpkgEntry("old", { architecture: "all" }),
  ];
  const wine = dpkgEntry("wine32", { architecture: "i386" });

  it("is changes with their architectures, whole versions and origins", () => {
    const steps = parseSimulation(`Inst libc6 [1.0] (1.1 Debian-Security:12/stable-security [amd64]) []
Inst libc6:i386 [1.0] (1.1 Debian:12.4/stable [i386])
Inst fresh (2:1.0-1 Debian:12.4/stable [all])
Remv old [1.0]
Remv wine32:i386 [1.0]
Conf libc6 (1.1 Debian-Security:12/stable-security [amd64])
`);
    expect(changesOf(steps, { entries: [...entries, wine], offers: [] })).toEqual([
      change("fresh", { architecture: "all", from: null, to: "2:1.0-1" }),
      change("libc6", { isSecurity: true }),
      change("libc6", { architecture: "i386" }),
      change("old", { architecture: "all", to: null }),
      change("wine32", { architecture: "i386", to: null }),
    ]);
  });

  it("is a security update too where the newer version passes one over", () => {
    const steps = parseSimulation("Inst both [1.0] (1.2 Debian:12.4/stable [amd64])\n");
    const offers = [aptOffer("both", { suites: ["stable-security"], securityVersion: "1.1" })];
    expect(changesOf(steps, { entries, offers })).toEqual([change("both", { to: "1.2", isSecurity: true })]);
  });

  it("is one change for a package that goes and comes back", () => {
    const steps = parseSimulation("Remv old [1.0]\nInst old (1.1 Debian:12.4/stable [all])\n");
    expect(changesOf(steps, { entries, offers: [] })).toEqual([change("old", { architecture: "all" })]);
  });

  it("is compared whatever its order, and by every part of it", () => {
    const plan = fc.uniqueArray(fc.stringMatching(/^[a-z]{2,5}$/), { minLength: 1 });
    fc.assert(
      fc.property(plan, (names) => {
        const changes = names.map((name) => change(name));
        expect(areSame(changes, changes.toReversed())).toBe(true);
        for (const other of [{ name: "another-one" }, { architecture: "i386" }, { from: null }, { to: "1.2" }])
          expect(areSame(changes, changes.with(0, { ...change(names[0] ?? ""), ...other }))).toBe(false);
        expect(areSame(changes, changes.slice(1))).toBe(false);
      }),
    );
  });

  it("is told to people in short", () => {
    expect(describeChanges([])).toBe("nothing");
    expect(describeChanges([change("a"), change("b", { to: null }), change("c")], 2)).toBe("a 1.1, b removed, 1 more");
  });
});
