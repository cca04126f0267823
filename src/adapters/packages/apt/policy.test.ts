import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  newerVersions,
  type PackageFile,
  parsePackageFiles,
  parsePolicies,
  securitySuites,
  securityVersion,
} from "./policy.ts";

const filesText = `Package files:
 100 /var/lib/dpkg/status
     release a=now
 500 http://deb.example.org/debian-security bookworm-security/main amd64 Packages
     release v=12,o=Debian,a=stable-security,n=bookworm-security,l=Debian-Security,c=main,b=amd64
     origin deb.example.org
1000 https://example.org/repo stable/main all Packages
     release o=Acme, Inc.,a=stable,n=stable,l=Acme, Inc.,c=main,b=all
     origin example.org
Pinned packages:
     foo -> 1.0 with priority 1000
`;

const security: PackageFile = {
  location: "http://deb.example.org/debian-security bookworm-security/main amd64 Packages",
  origin: "Debian",
  label: "Debian-Security",
  archive: "stable-security",
  codename: "bookworm-security",
  component: "main",
};
const plain: PackageFile = {
  location: "http://deb.example.org/debian bookworm/main amd64 Packages",
  origin: "Debian",
  label: "Debian",
  archive: "stable",
  codename: "bookworm",
  component: "main",
};

const policiesText = `openssl:
  Installed: 3.0.11-1~deb12u1
  Candidate: 3.0.13-1~deb12u1
  Version table:
     3.0.13-1~deb12u1 500
        500 http://deb.example.org/debian bookworm/main amd64 Packages
     3.0.11-1~deb12u2 500 (phased 50%)
        500 http://deb.example.org/debian-security bookworm-security/main amd64 Packages
 *** 3.0.11-1~deb12u1 100
        100 /var/lib/dpkg/status
libc6:i386:
  Installed: (none)
  Candidate: (none)
  Version table:
N: Unable to locate package nosuch
`;

describe("apt-cache policy", () => {
  it("reports archives", () => {
    expect(parsePackageFiles(filesText)).toEqual([
      { location: "/var/lib/dpkg/status", origin: "", label: "", archive: "now", codename: "", component: "" },
      security,
      {
        location: "https://example.org/repo stable/main all Packages",
        origin: "Acme, Inc.",
        label: "Acme, Inc.",
        archive: "stable",
        codename: "stable",
        component: "main",
      },
    ]);
  });

  it("reports versions", () => {
    expect(parsePolicies(policiesText)).toEqual([
      {
        name: "openssl",
        installed: "3.0.11-1~deb12u1",
        candidate: "3.0.13-1~deb12u1",
        versions: [
          { version: "3.0.13-1~deb12u1", locations: [plain.location] },
          { version: "3.0.11-1~deb12u2", locations: [security.location] },
          { version: "3.0.11-1~deb12u1", locations: ["/var/lib/dpkg/status"] },
        ],
      },
      { name: "libc6:i386", installed: null, candidate: null, versions: [] },
    ]);
  });

  it("parses the versions that were written", () => {
    const version = fc.stringMatching(/^[0-9][A-Za-z0-9.+~:-]{0,15}$/);
    const row = fc.record({ version, priority: fc.integer({ min: -1, max: 1001 }), locations: fc.array(fc.webUrl()) });
    fc.assert(
      fc.property(fc.array(row), (rows) => {
        const lines = rows.flatMap(({ version: each, priority, locations }) => [
          `     ${each} ${priority}`,
          ...locations.map((location) => `        ${String(priority).padStart(3)} ${location} x/main amd64 Packages`),
        ]);
        const [policy] = parsePolicies(
          ["p:", "  Installed: 1", "  Candidate: 2", "  Version table:", ...lines].join("\n"),
        );
        expect(policy?.versions).toEqual(
          rows.map((each) => ({
            version: each.version,
            locations: each.locations.map((location) => `${location} x/main amd64 Packages`),
          })),
        );
      }),
    );
  });
});

describe("security updates", () => {
  it.each([
    ["1", "2", "2 security, 1 main", true],
    ["1", "2", "2 main, 1 security", false],
    // A newer version has what the security archive has.
    ["1", "3", "3 main, 2 security, 1 main", true],
    ["2", "2", "3 security, 2 main", false],
    [null, "2", "2 security", false],
    ["2", null, "2 security", false],
    ["2", "1", "2 main, 1 security", false],
    ["1", "9", "2 security, 1 main", false],
  ])("from %j to %j of %s: %s", (installed, candidate, table, expected) => {
    const versions = table.split(", ").map((row) => {
      const [version = "", place] = row.split(" ");
      return { version, locations: [place === "main" ? plain.location : security.location] };
    });
    const policy = { name: "p", installed, candidate, versions };
    expect(securitySuites(policy, [plain, security])).toEqual(expected ? ["stable-security"] : []);
  });

  it.each([
    [{ archive: "jammy-security", label: "Ubuntu", origin: "Ubuntu" }, ["jammy-security"]],
    [{ archive: "jammy-apps-security", label: "UbuntuESMApps", origin: "UbuntuESMApps" }, ["jammy-apps-security"]],
    [{ archive: "oldstable", label: "Debian-Security" }, ["oldstable"]],
    [{ archive: "", codename: "bookworm-security" }, ["bookworm-security"]],
    [{ archive: "jammy-updates", label: "Ubuntu", origin: "Ubuntu", codename: "jammy" }, []],
    [{ archive: "security-tools" }, []],
  ])("are recognized by the archive %j", (changes, expected) => {
    const file = { ...plain, codename: "", ...changes };
    const locations = [file.location];
    const versions = ["2", "1"].map((version) => ({ version, locations }));
    expect(securitySuites({ name: "p", installed: "1", candidate: "2", versions }, [file])).toEqual(expected);
  });
});

describe("the version of a security archive", () => {
  const versions = ["4", "3", "2", "1"].map((version) => ({
    version,
    locations: [version === "3" || version === "1" ? security.location : plain.location],
  }));
  const policy = (installed: string | null, candidate: string | null) => ({
    name: "p",
    installed,
    candidate,
    versions,
  });

  it.each([
    ["1", "4", "3"],
    ["2", "3", "3"],
    ["3", "4", null],
    ["1", "2", null],
    ["4", "1", null],
    [null, "4", null],
    ["1", null, null],
    ["1", "unknown", null],
  ])("between %j and %j is %j", (installed, candidate, expected) => {
    expect(securityVersion(policy(installed, candidate), [plain, security])).toBe(expected);
  });

  it("is never older than what is installed, nor newer than what may be", () => {
    expect(newerVersions(policy("2", "3")).map(({ version }) => version)).toEqual(["3"]);
    expect(newerVersions(policy("3", "3"))).toEqual([]);
  });
});
