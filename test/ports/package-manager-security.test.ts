import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { apt } from "#adapters/packages/apt/index.ts";
import { aptPaths } from "#adapters/packages/apt/words.ts";
import type { PackageManager } from "#domain/ports/packages.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { createFakePackageManager, fakeSecurityUpdate } from "../fakes/package-manager.ts";

const signal = new AbortController().signal;
const refreshedAt = Date.parse("2026-01-01T00:00:00Z");
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "steward-lists-"));
  mkdirSync(join(root, "lists"));
});
afterEach(() => rmSync(root, { recursive: true }));

const status = `Package: dpkg
Status: install ok installed
Architecture: amd64
Version: 1

Package: openssl
Status: install ok installed
Architecture: amd64
Multi-Arch: same
Version: 3.0.1

Package: openssl
Status: hold ok installed
Architecture: i386
Multi-Arch: same
Version: 3.0.1

Package: gone
Status: deinstall ok config-files
Architecture: all
Version: 1

Package: -o Evil
Status: install ok installed
Architecture: all
Version: 1
`;
const files = `Package files:
 500 file:/srv/security ./ Packages
     release o=Debian,a=stable-security,n=stable-security,l=Debian-Security,c=
`;
const versions = `  Installed: 3.0.1
  Candidate: 3.0.2
  Version table:
     3.0.2 500
        500 file:/srv/security ./ Packages
 *** 3.0.1 100
        100 /var/lib/dpkg/status
`;
const policies = `openssl:\n${versions}openssl:i386:\n${versions}dpkg:\n  Installed: 1\n  Candidate: 1\n  Version table:\n *** 1 100\n`;

/** Dpkg's and apt's files, and apt-cache that says this; a real apt is in test/host. */
function onFiles() {
  writeFileSync(join(root, "status"), status);
  writeFileSync(join(root, "lists", "_srv_security_._Packages"), "");
  const folder = join(root, "lists");
  utimesSync(folder, refreshedAt / 1000, refreshedAt / 1000);
  const asked: (readonly string[])[] = [];
  const exec: Exec = (argv) => {
    asked.push(argv);
    return Promise.resolve({
      exitCode: 0,
      stdout: argv.includes("--") ? policies : files,
      stderr: "",
      truncated: false,
    });
  };
  const paths = {
    ...aptPaths,
    status: join(root, "status"),
    updates: join(root, "updates"),
    lists: folder,
    refreshStamp: join(root, "stamp"),
    settings: [join(root, "sources.list")],
  };
  const updates = apt.open({ needsReboot: () => Promise.resolve(false), exec, clock: createFakeClock(), paths });
  return { updates, asked, paths };
}

const openssl = fakeSecurityUpdate();
const offers: readonly [string, () => PackageManager][] = [
  [
    "fake",
    () =>
      Object.assign(createFakePackageManager(), {
        securityUpdates: [openssl, { ...openssl, architecture: "i386", isHeld: true }],
        listsAt: refreshedAt,
      }),
  ],
  ["apt", () => onFiles().updates],
];

describe.each(offers)("security updates: %s", (_, make) => {
  it("are named with both versions and their archive, those of held packages too", async () => {
    expect(await make().security(signal)).toEqual([openssl, { ...openssl, architecture: "i386", isHeld: true }]);
  });

  it("come from lists of a certain age", async () => {
    expect(await make().refreshedAt()).toBe(refreshedAt);
  });
});

describe("security updates: apt", () => {
  it("are asked for again only when something changes", async () => {
    const { updates, asked, paths } = onFiles();
    await updates.security(signal);
    await updates.security(signal);
    expect(asked).toHaveLength(2);
    writeFileSync(join(paths.lists, "another_Packages"), "");
    await updates.security(signal);
    expect(asked).toHaveLength(4);
    writeFileSync(paths.settings[0] ?? "", "deb file:/srv ./\n");
    await updates.security(signal);
    expect(asked).toHaveLength(6);
  });

  it("passes only names of installed packages on, after the end of the options", async () => {
    const { updates, asked } = onFiles();
    await updates.security(signal);
    const words = asked[1] ?? [];
    expect(words.slice(words.indexOf("--") + 1)).toEqual(["dpkg", "openssl:amd64", "openssl:i386"]);
  });

  it("takes the newest trace of a refresh, and knows when there are no lists", async () => {
    const { updates, paths } = onFiles();
    writeFileSync(paths.refreshStamp, "");
    const later = refreshedAt + 60_000;
    utimesSync(paths.refreshStamp, later / 1000, later / 1000);
    expect(await updates.refreshedAt()).toBe(later);
    rmSync(join(paths.lists, "_srv_security_._Packages"));
    writeFileSync(join(paths.lists, "lock"), "");
    mkdirSync(join(paths.lists, "partial"));
    expect(await updates.refreshedAt()).toBeUndefined();
  });
});
