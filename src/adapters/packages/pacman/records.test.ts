import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPackageName, parseEntry, parseFields, parseOffered, parseRecord, parseUnmet } from "./records.ts";

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

  it("have what is installed, and whether it was asked for", () => {
    const text = "%NAME%\nlib\n\n%VERSION%\n1:2.0-3\n\n%ARCH%\nx86_64\n\n%SIZE%\n4096\n\n%GROUPS%\nbase\ndevel\n\n";
    const found = { name: "lib", version: "1:2.0-3", architecture: "x86_64", bytes: 4096, groups: ["base", "devel"] };
    expect(parseRecord(text)).toEqual({ ...found, isManual: true });
    expect(parseRecord(`${text}%REASON%\n1\n\n`)).toEqual({ ...found, isManual: false });
  });

  it.each(["", "%NAME%\n", "%NAME%\nlib\n\n", "%VERSION%\n1-1\n"])("%j is incomplete", (text) =>
    expect(parseRecord(text)).toBeUndefined(),
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
