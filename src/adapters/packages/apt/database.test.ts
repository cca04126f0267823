import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { PresentPackage } from "#domain/ports/packages.ts";
import { dpkgEntry } from "../../../../test/ports/support/dpkg.ts";
import { marksOf } from "../common/marks.ts";
import { isPackageName, isVersion } from "./arguments.ts";
import {
  createDatabase,
  type DpkgEntry,
  findUnremovable,
  markCommands,
  parseExtendedStates,
  parseStatusFile,
  presentPackages,
  withUpdates,
  wordFor,
} from "./database.ts";

const text = `Package: slow
Status: install reinstreq half-installed
Maintainer: Nobody <nobody@example.org>
Architecture: all
Version: 1.0
Description: one line
 Status: install ok installed is what this line only looks like
 .
 Package: neither

Package: libc6
Status: hold ok installed
Priority: optional
Architecture: amd64
Multi-Arch: same
Version: 2.36-9+deb12u14
Conffiles:
 /etc/ld.so.conf.d/x86_64-linux-gnu.conf d4e7a7b88a71b5ffd9e2644e71a0cfab

Package: removed
Status: deinstall ok config-files
Architecture: amd64
Version: 2
`;

const entry = (changes: Partial<DpkgEntry> = {}): DpkgEntry => ({
  name: "slow",
  version: "1.0",
  architecture: "all",
  isMultiArchSame: false,
  want: "install",
  flag: "ok",
  state: "installed",
  ...changes,
});

describe("dpkg's status file", () => {
  it("is not kept in memory by what was read of it", () => {
    setFlagsFromString("--expose-gc");
    const collect: unknown = runInNewContext("gc");
    if (typeof collect !== "function") throw new Error("cannot collect garbage: V8 has no gc here");
    const used = (): number => {
      collect();
      return process.memoryUsage().heapUsed;
    };
    const describedBytes = 3 * 1024 * 1024;
    const read = () =>
      parseStatusFile(
        `Package: ${"long-name".repeat(4)}\nStatus: install ok half-configured\nArchitecture: an-architecture-of-its-own\nVersion: 1:2.3.4-5+deb12u6~bpo\nDescription: ${"x".repeat(describedBytes)}\n`,
      );
    read();
    const before = used();
    const entries = Array.from({ length: 10 }, read).flat();
    expect(used() - before).toBeLessThan(2 * describedBytes);
    expect(entries.map(({ version }) => version)).toEqual(Array.from({ length: 10 }, () => "1:2.3.4-5+deb12u6~bpo"));
  });

  it("is read", () => {
    expect(parseStatusFile(text)).toEqual([
      entry({ flag: "reinstreq", state: "half-installed" }),
      entry({ name: "libc6", version: "2.36-9+deb12u14", architecture: "amd64", isMultiArchSame: true, want: "hold" }),
      entry({ name: "removed", version: "2", architecture: "amd64", want: "deinstall", state: "config-files" }),
    ]);
  });

  it("holds nothing where it is empty, padded or broken", () => {
    for (const broken of [
      "",
      "\n\n\n",
      "#padding\n#padding\n",
      "Package: x\n",
      "Status: install ok installed\n",
      "Package:\nStatus: a b c\n",
    ]) {
      expect(parseStatusFile(broken)).toEqual([]);
    }
  });
});

describe("updates of dpkg", () => {
  it("replace the entry of their package, the last one counts", () => {
    const before = [entry({ architecture: "amd64" }), entry({ name: "other" })];
    const updates = [entry({ state: "unpacked", version: "2" }), entry({ state: "half-configured", version: "2" })];
    expect(withUpdates(before, updates)).toEqual([
      entry({ state: "half-configured", version: "2" }),
      entry({ name: "other" }),
    ]);
  });

  it("add new packages, and distinguish architectures that are installed beside each other", () => {
    const amd64 = entry({ name: "libc6", architecture: "amd64", isMultiArchSame: true });
    const i386 = { ...amd64, architecture: "i386" };
    expect(withUpdates([amd64], [i386])).toEqual([amd64, i386]);
    expect(withUpdates([], [])).toEqual([]);
  });
});

const states = `Package: libfoo
Architecture: amd64
Auto-Installed: 1

Package: data
Architecture: amd64
Auto-Installed: 1

Package: asked
Architecture: amd64
Auto-Installed: 0
`;

const stanza = (name: string, status: string, rest = "Architecture: amd64"): string =>
  `Package: ${name}\nStatus: ${status}\n${rest}\nVersion: 1:2-3\n`;

describe("packages that are present", () => {
  it("are automatic as apt says, whichever architecture they are for", () => {
    expect(parseExtendedStates(states)).toEqual(new Set(["libfoo:amd64", "data:amd64"]));
    expect(parseExtendedStates("")).toEqual(new Set());
  });

  it("are distinguished from those of which only something is left", () => {
    const text = [
      stanza("libfoo", "install ok installed"),
      stanza("data", "install ok installed", "Architecture: all"),
      stanza("asked", "hold ok installed"),
      stanza("left", "deinstall ok config-files"),
      stanza("torn", "install reinstreq half-installed"),
      stanza("damaged", "install reinstreq installed"),
      stanza("waiting", "install ok triggers-pending"),
      "Package: never\nStatus: unknown ok not-installed\nArchitecture: amd64\n",
    ].join("\n");
    const found = presentPackages(parseStatusFile(text), parseExtendedStates(states));
    expect(found.map((each) => [each.name, each.state, each.isManual, each.isHeld])).toEqual([
      ["libfoo", "installed", false, false],
      ["data", "installed", false, false],
      ["asked", "installed", true, true],
      ["left", "configuration", false, false],
      ["torn", "unfinished", true, false],
      ["damaged", "unfinished", true, false],
      ["waiting", "unfinished", true, false],
    ]);
    expect(found.every(({ version }) => version === "1:2-3")).toBe(true);
  });

  it("get only the marks that differ", () => {
    const is = (name: string, isManual: boolean, isHeld: boolean): PresentPackage => {
      return { name, architecture: "amd64", version: "1", state: "installed", isManual, isHeld };
    };
    const present = [is("a", true, true), is("b", false, false), is("c", true, false)];
    const wanted = [is("a", false, false), is("b", true, true), is("c", true, false), is("gone", false, true)];
    expect(markCommands(wanted, present)).toEqual([
      { verb: "auto", names: ["a:amd64"] },
      { verb: "manual", names: ["b:amd64"] },
      { verb: "hold", names: ["b:amd64"] },
      { verb: "unhold", names: ["a:amd64"] },
    ]);
    expect(markCommands(present, present)).toEqual([]);
  });
});

describe("words for packages", () => {
  it("have an architecture where it is needed", () => {
    expect(wordFor(dpkgEntry("one"), "amd64")).toBe("one");
    expect(wordFor(dpkgEntry("one", { architecture: "all" }), "amd64")).toBe("one");
    expect(wordFor(dpkgEntry("one", { isMultiArchSame: true }), "amd64")).toBe("one:amd64");
    expect(wordFor(dpkgEntry("one", { architecture: "i386" }), "amd64")).toBe("one:i386");
  });

  it("are names and versions as Debian's policy has them", () => {
    expect(["g++", "libstdc++6:i386", "0ad", "python3.11"].every(isPackageName)).toBe(true);
    expect(["", "-o", "a b", "A", "a=1", "a\n", "../x", "a:b:c"].some(isPackageName)).toBe(false);
    expect(["1", "2:1.0~rc1-1+b2", "1.0+dfsg"].every(isVersion)).toBe(true);
    expect(["", "-1", "1 --purge", "1\n", "$(x)", "1/2"].some(isVersion)).toBe(false);
  });
});

describe("the database of dpkg", () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "steward-dpkg-"));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  it("is marked as outdated when it changes while it is read", async () => {
    const paths = { status: join(root, "status"), updates: join(root, "updates") };
    // A pipe is read only once it is written to, so that there is time for a change in between.
    execFileSync("mkfifo", ["--", paths.status]);
    const reading = createDatabase(paths)();
    const writer = await open(paths.status, "w");
    chmodSync(paths.status, 0o640);
    await writer.writeFile("Package: dpkg\nStatus: install ok installed\nVersion: 1\n");
    await writer.close();
    const { entries, mark } = await reading;
    expect(entries.map(({ name }) => name)).toEqual(["dpkg"]);
    expect(mark).not.toBe(await marksOf([paths.status, paths.updates]));
  });
});

it("packages that are essential or protected, the package manager, systemd and the running kernel cannot be removed", () => {
  const stanzas = [
    "Package: bash\nEssential: yes",
    "Package: e2fsprogs\nImportant: yes",
    "Package: grub-common\nProtected: yes",
    "Package: apt",
    "Package: systemd-sysv",
    "Package: linux-image-6.1.0-18-amd64",
    "Package: linux-image-6.1.0-17-amd64",
    "Package: editor\nDescription: x\n Essential: yes",
  ];
  const found = findUnremovable(stanzas.join("\n\n"), "6.1.0-18-amd64");
  expect(Object.fromEntries(found)).toEqual({
    bash: "it is essential",
    e2fsprogs: "it is essential",
    "grub-common": "it is essential",
    apt: "it is the package manager",
    "systemd-sysv": "the host starts with it",
    "linux-image-6.1.0-18-amd64": "its kernel runs",
  });
});
