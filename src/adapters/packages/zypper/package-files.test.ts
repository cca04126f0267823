import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { automaticAs, isExact, wordsToReturn } from "./package-files.ts";

const app = { name: "app", version: "1:1.0-1", architecture: "noarch" };
const lib = { name: "lib", version: "2.0-1", architecture: "x86_64" };
const left = { install: [{ ...app, path: "/srv/it's here.rpm" }], remove: [lib] };

describe("returning to packages", () => {
  it("names files and exact versions, after the end of options", () => {
    const words = wordsToReturn(left);
    expect(words.slice(words.indexOf("--") + 1)).toEqual(["/srv/it's here.rpm", "!lib.x86_64=2.0-1"]);
    expect(words).toContain("--allow-unsigned-rpm");
    expect(words).not.toContain("--no-gpg-checks");
  });

  it("is only what is wanted, older or not", () => {
    const changes = [
      { name: "app", architecture: "noarch", from: "1:2.0-1", to: "1:1.0-1" },
      { name: "lib", architecture: "x86_64", from: "2.0-1", to: null },
    ];
    expect(isExact(changes, left)).toBe(true);
    expect(isExact([...changes].reverse(), left)).toBe(true);
    expect(isExact(changes.slice(1), left)).toBe(false);
    expect(isExact([...changes, { name: "more", architecture: "noarch", from: "1-1", to: null }], left)).toBe(false);
    expect(isExact(changes, { install: left.install, remove: [] })).toBe(false);
  });

  it("marks what is there as it was, and leaves others", () => {
    const names = fc.uniqueArray(fc.constantFrom<string>("a", "b", "c", "d"));
    fc.assert(
      fc.property(names, names, names, names, (present, automatic, known, manual) => {
        const wanted = known.map((name) => ({
          ...{ name, version: "1-1", architecture: "noarch", isHeld: false },
          isManual: manual.includes(name),
        }));
        const found = automaticAs(wanted, {
          packages: present.map((name) => ({ name, version: "1-1", architecture: "noarch" })),
          automatic: new Set(automatic),
          isHeld: () => false,
          mark: "",
        });
        for (const name of ["a", "b", "c", "d"]) {
          const isAutomatic = known.includes(name) ? !manual.includes(name) : automatic.includes(name);
          expect(found.has(name)).toBe(present.includes(name) && isAutomatic);
        }
      }),
    );
  });
});
