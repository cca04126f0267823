import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { byPreference, createCollector, type Described } from "./catalog.ts";
import { rpmNames } from "./rpm/present.ts";

const rpm = (
  name: string,
  version: string,
  repository: string,
  { arch = "noarch", description = "" } = {},
): Described => ({
  ...{ name, version, architecture: arch, repository, section: "", packager: "Somebody", homepage: "" },
  ...{ summary: "a summary", description, depends: [], provides: [`${name} = 1`], installedBytes: 9, downloadBytes: 7 },
});

describe("what is searched", () => {
  it("has each name once: the host's own architecture, then the newest, then what the lists say of it", () => {
    const collector = createCollector(rpmNames);
    collector.take(rpm("app", "2.0-1", ""));
    collector.take(rpm("app", "1.0-1", "base"));
    collector.take(rpm("app", "2.0-1", "updates", { description: "listed" }));
    collector.take(rpm("app", "2.0-1", "other", { description: "again" }));
    collector.take(rpm("lib", "3.0-1", "base", { arch: "s390" }));
    collector.take(rpm("lib", "1.0-1", "base"));
    collector.take(rpm("gpg-pubkey", "1-1", ""));
    collector.take(rpm("../evil", "1-1", "base"));
    const store = collector.finish();
    expect(store.search([]).map((at) => store.at(at).split("\n").slice(0, 3).join(" "))).toEqual([
      "app noarch 2.0-1",
      "lib noarch 1.0-1",
    ]);
    expect(store.search(["listed"])).toHaveLength(1);
    expect(store.search(["again"])).toEqual([]);
  });

  it("is chosen in an order", () => {
    const version = fc.record({
      name: fc.constant("app"),
      architecture: fc.constantFrom("noarch", "s390"),
      version: fc.stringMatching(/^[0-2]:[0-9~]{1,3}-1$/),
    });
    fc.assert(
      fc.property(version, version, (one, other) => {
        expect(Math.sign(byPreference(one, other))).toBe(0 - Math.sign(byPreference(other, one)));
      }),
    );
  });
});
