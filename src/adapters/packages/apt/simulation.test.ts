import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PackageChange } from "#domain/ports/packages.ts";
import { aptOffer, dpkgEntry } from "../../../../test/ports/support/dpkg.ts";
import { areSame, describeChanges } from "../common/changes.ts";
import { changesOf, parseDownloadBytes, parseGrowthBytes, parseSimulation, parseUnmet } from "./simulation.ts";

describe("a rehearsal of apt-get", () => {
  it("names its steps", () => {
    const text = `Correcting dependencies... Done
The following NEW packages will be installed:
  needed
Inst libssl3 [3.0.9-1] (3.0.11-1~deb12u2 Debian-Security:12/stable-security, Debian:12.4/stable [amd64]) [other:amd64 ]
Inst needed (1.0 localhost [all])
Remv hopeless [1.0] [needy:amd64 ]
Conf needy (1.0  [all])
`;
    expect(parseSimulation(text)).toEqual([
      {
        kind: "install",
        name: "libssl3",
        from: "3.0.9-1",
        to: "3.0.11-1~deb12u2",
        architecture: "amd64",
        releases: [
          { label: "Debian-Security", suite: "stable-security" },
          { label: "Debian", suite: "stable" },
        ],
      },
      {
        kind: "install",
        name: "needed",
        from: null,
        to: "1.0",
        architecture: "all",
        releases: [{ label: "", suite: "localhost" }],
      },
      { kind: "remove", name: "hopeless", from: "1.0", to: null, architecture: "", releases: [] },
      { kind: "configure", name: "needy", from: null, to: "1.0", architecture: "all", releases: [] },
    ]);
  });

  it("is parsed to the steps that were written", () => {
    const name = fc.stringMatching(/^[a-z0-9][a-z0-9+.-]{1,12}$/);
    const version = fc.stringMatching(/^[0-9][A-Za-z0-9.+~:-]{0,15}$/);
    const suite = fc.record({ label: fc.stringMatching(/^[A-Z][A-Za-z-]{1,8}$/), suite: name });
    const row = fc.record({ name, from: fc.option(version), to: version, releases: fc.array(suite, { minLength: 1 }) });
    fc.assert(
      fc.property(fc.array(row), (rows) => {
        const lines = rows.map(({ name: each, from, to, releases }) => {
          const reported = releases.map(({ label, suite: word }) => `${label}:12/${word}`).join(", ");
          return `Inst ${each}${from === null ? "" : ` [${from}]`} (${to} ${reported} [amd64])`;
        });
        expect(parseSimulation(lines.join("\n"))).toEqual(
          rows.map((each) => ({ kind: "install", architecture: "amd64", ...each })),
        );
      }),
    );
  });
});

it("counts the bytes that come over the network", () => {
  const text = `Need to get 1500 B of archives.
'http://deb.example.org/a_1_all.deb' a_1_all.deb 1000 SHA256:00
'https://deb.example.org/it%27s_1_all.deb' b_1_all.deb 500 MD5Sum:00
'file:/srv/c_1_all.deb' c_1_all.deb 7 SHA256:00
'cdrom:[Debian]/d_1_all.deb' d_1_all.deb 7 SHA256:00
`;
  expect(parseDownloadBytes(text)).toBe(1500);
  expect(parseDownloadBytes("")).toBe(0);
});

describe("unmet dependencies", () => {
  it("are named without apt's reasons, alternatives together", () => {
    const text = `Reading package lists...
You might want to run 'apt --fix-broken install' to correct these.
The following packages have unmet dependencies:
 hopeless : Depends: nowhere-to-be-found but it is not installable
 libfoo:i386 : Depends: libbar (= 2) but 1 is to be installed
               Recommends: libbaz but it is a virtual package
 needy : Depends: first (>= 1.0) but it is not installable or
                  second but it is not going to be installed
E: Unmet dependencies. Try 'apt --fix-broken install' with no packages (or specify a solution).
`;
    expect(parseUnmet(text)).toEqual([
      { name: "hopeless", needs: "Depends: nowhere-to-be-found" },
      { name: "libfoo:i386", needs: "Depends: libbar (= 2)" },
      { name: "libfoo:i386", needs: "Recommends: libbaz" },
      { name: "needy", needs: "Depends: first (>= 1.0) | second" },
    ]);
  });

  it("are empty where apt reports none", () => {
    expect(parseUnmet("Reading package lists...\nBuilding dependency tree...\n")).toEqual([]);
  });
});

it.each([
  ["After this operation, 1234 kB of additional disk space will be used.", 1_234_000],
  ["x\nAfter this operation, 1,234 kB of additional disk space will be used.\n", 1_234_000],
  ["After this operation, 12.5 MB disk space will be freed.", -12_500_000],
  ["After this operation, 0 B of additional disk space will be used.", 0],
  ["After this operation, 0 B disk space will be freed.", 0],
  ["nothing of it", 0],
])("what the installed packages grow by is read from %j", (text, bytes) => {
  expect(parseGrowthBytes(text)).toBe(bytes);
});

const change = (name: string, rest: Partial<PackageChange> = {}): PackageChange => ({
  name,
  architecture: "amd64",
  from: "1.0",
  to: "1.1",
  isSecurity: false,
  ...rest,
});

describe("a simulation of apt", () => {
  const entries = [
    dpkgEntry("dpkg"),
    dpkgEntry("libc6", { isMultiArchSame: true }),
    dpkgEntry("old", { architecture: "all" }),
  ];
  const wine = dpkgEntry("wine32", { architecture: "i386" });

  it("is changes with architectures, complete versions and origins", () => {
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

  it("is one change for a package that is removed and installed again", () => {
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

  it("is summarized for people", () => {
    expect(describeChanges([])).toBe("nothing");
    expect(describeChanges([change("a"), change("b", { to: null }), change("c")], 2)).toBe("a 1.1, b removed, 1 more");
  });
});
