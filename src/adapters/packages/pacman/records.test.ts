import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createInfoReader,
  type DescribedPackage,
  isPackageName,
  parseEntry,
  parseFields,
  parseFiles,
  parseInstalled,
  parseOffered,
  parseUnmet,
} from "./records.ts";

const word = fc.stringMatching(/^[a-z0-9][a-z0-9._+]{0,8}$/);
const name = fc.stringMatching(/^[a-z0-9][a-z0-9._+-]{0,12}$/);
const version = fc.tuple(fc.nat(3), word, word).map(([epoch, main, release]) => {
  return `${epoch === 0 ? "" : `${epoch}:`}${main}-${release}`;
});

describe("entries", () => {
  it("are parsed as they were written", () => {
    fc.assert(
      fc.property(name, version, (name, version) => {
        expect(parseEntry(`${name}-${version}`)).toEqual({ name, version });
      }),
    );
  });

  it.each(["", "ALPM_DB_VERSION", "name", "name-1.0", "name-1.0 1-1"])("are not read from %j", (text) =>
    expect(parseEntry(text)).toBeUndefined(),
  );

  it("have names that are never options or paths", () => {
    for (const text of ["", "-y", "--help", "a b", "a/b", "*", ".a", "a\nb", "a=1", "a<1"])
      expect(isPackageName(text)).toBe(false);
    for (const text of ["a", "gtk+", "libc++", "python-x", "@scope", "_x"]) expect(isPackageName(text)).toBe(true);
  });
});

describe("records", () => {
  it("have fields with any values that are not empty", () => {
    const value = fc.stringMatching(/^[^\n]+$/);
    const fields = fc.dictionary(fc.stringMatching(/^[A-Z][A-Z0-9]{0,8}$/), fc.array(value, { maxLength: 4 }));
    fc.assert(
      fc.property(fields, (given) => {
        const entries = Object.entries(given);
        const text = entries.map(([field, values]) => `${[`%${field}%`, ...values].join("\n")}\n\n`).join("");
        expect([...parseFields(text)]).toEqual(entries);
      }),
    );
  });

  it.each(["", "%NAME%\n", "%NAME%\nlib\n\n", "%VERSION%\n1-1\n"])("%j is incomplete", (text) =>
    expect(parseInstalled(text)).toBeUndefined(),
  );
});

describe("lists of pacman", () => {
  it("are updates, and ones that are held", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(name, version, version, fc.boolean())), (given) => {
        const text = given.map(([name, from, to, isHeld]) => `${name} ${from} -> ${to}${isHeld ? " [ignored]" : ""}\n`);
        expect(parseOffered(text.join(""))).toEqual(
          given.map(([name, from, to, isHeld]) => ({ name, from, to, isHeld })),
        );
      }),
    );
  });

  it("is what packages need and what they do not go with", () => {
    const text = [
      "error: missing 'library>=2' dependency for 'app'",
      "error: 'one' conflicts with 'other'",
      "error: 'ghost-1.0-1': description file is missing",
      "warning: something",
    ];
    expect(parseUnmet(text.join("\n"))).toEqual([
      { name: "app", needs: "library>=2" },
      { name: "one", needs: "that other is not there" },
    ]);
  });

  it("is nothing in other text", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[^\->]*$/), (text) => {
        expect(parseOffered(text)).toEqual([]);
      }),
    );
  });
});

function read(text: string, size = 7): readonly DescribedPackage[] {
  const found: DescribedPackage[] = [];
  const reader = createInfoReader((each) => found.push(each));
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) reader.take(bytes.subarray(at, at + size));
  reader.end();
  return found;
}

/** Of pacman 6.0.2 and 7.0.0. */
const recorded = `Repository      : core
Name            : app
Version         : 1:2.0-1
Description     : made for: a test | € x
Architecture    : x86_64
URL             : https://app.example/
Licenses        : GPL
Groups          : base  base-devel
Provides        : painter=3  libx.so=1-64
Depends On      : library>=2
                  extra
Optional Deps   : extra: for more
                  other
Conflicts With  : painter
Replaces        : older  other<2
Download Size   : 464.00 B
Installed Size  : 1.50 KiB
Packager        : nobody <n@e>
Build Date      : Tue Nov 14 22:13:20 2023
Validated By    : SHA-256 Sum

Repository      : core
Name            : bare
Version         : 1.0-1
Description     : None
Architecture    : any
Groups          : None
Provides        : None
Depends On      : None
Optional Deps   : None
`;

describe("pacman's description of packages", () => {
  it("is read", () => {
    expect(read(recorded)).toEqual([
      {
        name: "app",
        version: "1:2.0-1",
        architecture: "x86_64",
        repository: "core",
        section: "base, base-devel",
        groups: ["base", "base-devel"],
        summary: "made for: a test | € x",
        description: "made for: a test | € x",
        homepage: "https://app.example/",
        packager: "nobody <n@e>",
        installedBytes: 1536,
        downloadBytes: 464,
        depends: ["library>=2", "extra"],
        optional: ["extra: for more", "other"],
        provides: ["painter=3", "libx.so=1-64"],
        replaces: ["older", "other<2"],
        conflicts: ["painter"],
      },
      {
        name: "bare",
        version: "1.0-1",
        architecture: "any",
        repository: "core",
        section: "",
        groups: [],
        summary: "",
        description: "",
        homepage: "",
        packager: "",
        installedBytes: undefined,
        downloadBytes: undefined,
        depends: [],
        optional: [],
        provides: [],
        replaces: [],
        conflicts: [],
      },
    ]);
  });

  it("is parsed the same in pieces of any size, cut off or damaged", () => {
    const whole = read(recorded, 1_000_000);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), (size) => {
        expect(read(recorded, size)).toEqual(whole);
      }),
    );
    const line = fc.oneof(fc.constantFrom(...recorded.split("\n")), fc.string());
    fc.assert(
      fc.property(fc.array(line, { maxLength: 40 }), (lines) => {
        for (const { name, version } of read(lines.join("\n"), 64)) expect([name, version]).not.toContain("");
      }),
    );
    expect(read(`Name : a\nVersion : 1\n${"  x\n".repeat(100_000)}\n\nName : b\nVersion : 1\n`, 65_536)).toHaveLength(
      2,
    );
  });
});

/** Of pacman 6.0.2. */
const installed = `%NAME%
app

%VERSION%
2.0-1

%DESC%
made for a test | € x

%ARCH%
any

%SIZE%
4096

%CONFLICTS%
painter

%GROUPS%
grp

%DEPENDS%
library>=2
extra

%OPTDEPENDS%
other: for more

%PROVIDES%
painter=3

`;

it("reads what pacman has written of an installed package", () => {
  expect(parseInstalled(installed)).toEqual({
    name: "app",
    version: "2.0-1",
    architecture: "any",
    repository: "",
    section: "grp",
    groups: ["grp"],
    summary: "made for a test | € x",
    description: "made for a test | € x",
    homepage: "",
    packager: "",
    installedBytes: 4096,
    downloadBytes: undefined,
    depends: ["library>=2", "extra"],
    optional: ["other: for more"],
    provides: ["painter=3"],
    replaces: [],
    conflicts: ["painter"],
    isManual: true,
  });
  expect(parseInstalled(`${installed}%REASON%\n1\n\n`)?.isManual).toBe(false);
  expect(parseInstalled("%NAME%\n\n%VERSION%\n1\n")).toBeUndefined();
  expect(parseFiles("%FILES%\netc/\netc/app/conf\n\n%BACKUP%\netc/app/conf\t2cd6\n")).toEqual([
    "/etc",
    "/etc/app/conf",
  ]);
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constantFrom(...installed.split("\n")), fc.string())), (lines) => {
      const found = parseInstalled(lines.join("\n"));
      if (found !== undefined) expect([found.name, found.version]).not.toContain("");
      for (const path of parseFiles(lines.join("\n"))) expect(path).toMatch(/^\//);
    }),
  );
});
