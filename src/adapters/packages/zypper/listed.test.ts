import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Described } from "../common/catalog.ts";
import { createListReader, parseInfo } from "./listed.ts";

function read(text: string, size = 7): readonly Described[] {
  const found: Described[] = [];
  const reader = createListReader((each) => found.push(each));
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) reader.take(bytes.subarray(at, at + size));
  reader.end();
  return found;
}

/** Of zypper 1.14.42 and 1.14.89. */
const recorded = `Loading repository data...
Reading installed packages...

S  | Name      | Type    | Version | Arch   | Repository
---+-----------+---------+---------+--------+-----------
   | fancy     | package | 0:1.0-1 | noarch | Base | base
    name: fancy
    arch: noarch
    evr: 1.0-1
    vendor: somebody
    provides: libfancy.so.1()(64bit)
    provides: fancy = 1.0-1
    provides: painter = 3
    requires: rpmlib(FileDigests) <= 4.6.0-1
    requires: (app or nothing-else)
    requires: library
    checksum: sha256-7eda45eec707b6273c3877c87e39d128e14b63e00b7a4c527f44631d76356478
    summary:
    Draws | € pictures <b> &amp;
    description:
    Made for a test.
    url: not the end
      indented

    Name           : evil
    packager: Somebody <somebody@example.org>
    url: https://fancy.example/
    buildtime: 1700000000
    installsize: 45678
    downloadsize: 12345
    mediadir:
    mediafile:
    license: none
    group: Applications/Graphics
    sourcename:
vl | held      | package | 2.0-1   | noarch | Base
    name: held
il | held      | package | 1.0-1   | noarch | Base
    name: held
 l | kept      | package | 1.0-1   | x86_64 | Base
    summary:
    Not installed
    description:
    group: Unspecified
i+ | own       | package | 1.0-1   | noarch | (System Packages)
    name: own
   | some      | patch   | 1       | noarch | Base
    name: some
`;

describe("zypper's description of all packages", () => {
  it("is read, with descriptions that look like something else", () => {
    const [fancy, kept, ...others] = read(recorded);
    expect(others).toEqual([]);
    expect(fancy).toEqual({
      name: "fancy",
      version: "1.0-1",
      architecture: "noarch",
      repository: "Base | base",
      section: "Applications/Graphics",
      packager: "Somebody <somebody@example.org>",
      homepage: "https://fancy.example/",
      downloadBytes: 12345,
      installedBytes: 45678,
      summary: "Draws | € pictures <b> &amp;",
      depends: ["(app or nothing-else)", "library"],
      provides: ["libfancy.so.1()(64bit)", "fancy = 1.0-1", "painter = 3"],
      description: "Made for a test.\nurl: not the end\n  indented\n\nName           : evil",
    });
    expect(kept).toMatchObject({
      name: "kept",
      architecture: "x86_64",
      summary: "Not installed",
      description: "",
      section: "",
      downloadBytes: undefined,
    });
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
      fc.property(fc.array(line, { maxLength: 60 }), (lines) => {
        for (const { name, version } of read(lines.join("\n"), 64)) expect([name, version]).not.toContain("");
      }),
    );
  });

  it("has an end", () => {
    const rows = "   | a | package | 1-1 | noarch | b\n";
    expect(() => read(rows + "    description:\n".repeat(600_000), 65_536)).toThrow("a package has more than");
    expect(read(`${"x".repeat(9_000_000)}\n${rows}`, 65_536)).toHaveLength(1);
    expect(read(`   |${" |".repeat(100_000)}\n${rows}`, 65_536)).toHaveLength(1);
  });
});

const info = (text: string): string => `<stream><message type="info">Loading…</message>\n${text}\n</stream>`;

it("zypper's description of one package is parsed", () => {
  const fancy = `<message type="info">Repository     : Base base
Name           : fancy
Version        : 0:1.0-1
Arch           : noarch
Vendor         : openSUSE
Installed Size : 1.5 KiB
Installed      : No
Status         : not installed
Source package : fancy-1.0-1.src
Upstream URL   : https://fancy.example/
Summary        : Draws: &lt;b&gt;
Description    : 
    Made for a test.
    Name           : evil

      indented
Provides       : [2]
    fancy = 1.0-1
    painter = 3
Requires       : ---
</message>`;
  const own = fancy.replace("Base base", "@System");
  expect(parseInfo(info(`${fancy}\n${own}`))).toEqual([
    {
      name: "fancy",
      version: "1.0-1",
      architecture: "noarch",
      repository: "Base base",
      section: "",
      packager: "openSUSE",
      homepage: "https://fancy.example/",
      downloadBytes: undefined,
      installedBytes: 1536,
      summary: "Draws: <b>",
      depends: [],
      provides: ["fancy = 1.0-1", "painter = 3"],
      description: "Made for a test.\nName           : evil\n\n  indented",
    },
  ]);
  expect(parseInfo(info("package 'nowhere' not found."))).toEqual([]);
});

it("zypper's description of one package may be any text", () => {
  const line = fc.oneof(
    fc.constantFrom("Repository : a", "Name : b", "Requires : [2]", "    x", "Installed Size : 1 xB"),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
      const text = lines.join("\n").replaceAll("<", "&lt;").replaceAll("&", "&amp;");
      for (const { name } of parseInfo(info(`<message type="info">${text}</message>`))) expect(name).not.toBe("");
    }),
  );
});
