import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DpkgEntry, parseStatusFile, withUpdates } from "./database.ts";

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

  it("gives back what was written, whatever else is in between", () => {
    const word = fc.stringMatching(/^[a-z0-9][a-z0-9+.-]{1,12}$/);
    const written = fc.record({
      name: word,
      version: word,
      architecture: word,
      isMultiArchSame: fc.boolean(),
      want: word,
      flag: word,
      state: word,
    });
    const other = fc.stringMatching(/^[A-Z][a-z-]{2,8}X: [^\n\r]{0,20}$/);
    fc.assert(
      fc.property(fc.array(fc.tuple(written, fc.array(other))), (rows) => {
        const file = rows.map(([each, others]) =>
          [
            `Package: ${each.name}`,
            ...others,
            `Status: ${each.want} ${each.flag} ${each.state}`,
            `Architecture: ${each.architecture}`,
            ...(each.isMultiArchSame ? ["Multi-Arch: same"] : []),
            `Version: ${each.version}`,
            "",
          ].join("\n"),
        );
        expect(parseStatusFile(file.join("\n"))).toEqual(rows.map(([each]) => each));
      }),
    );
  });

  it("takes any text", () => {
    fc.assert(fc.property(fc.string(), (any) => void parseStatusFile(any)));
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

  it("add packages that are new, and keep architectures that live side by side apart", () => {
    const amd64 = entry({ name: "libc6", architecture: "amd64", isMultiArchSame: true });
    const i386 = { ...amd64, architecture: "i386" };
    expect(withUpdates([amd64], [i386])).toEqual([amd64, i386]);
    expect(withUpdates([], [])).toEqual([]);
  });
});
