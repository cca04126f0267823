import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { versionOf } from "../common/rpm/names.ts";
import {
  advisedFor,
  parseAutoInstalled,
  parseHeld,
  parseInstalled,
  parsePatches,
  parsePatchInfo,
  parseRepositories,
  parseUnmet,
  parseUpdates,
} from "./lists.ts";

const app = { name: "app", version: "1:1.0-1", architecture: "noarch" };
const lib = { name: "lib-a", version: "2.0-1", architecture: "x86_64" };

describe("rpm's list of installed packages", () => {
  it("is read without keys", () => {
    const text = "app|1|1.0|1|noarch\nlib-a|0|2.0|1|x86_64\ngpg-pubkey|0|d4f5adb9|6b025184|(none)\n\nnonsense\n";
    expect(parseInstalled(text)).toEqual([app, lib]);
  });

  it("is parsed as it was written", () => {
    const part = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9._+~^]{0,8}$/);
    fc.assert(
      fc.property(part, fc.nat(3), part, part, (name, epoch, version, release) => {
        const expected = { name, version: versionOf(String(epoch), version, release), architecture: "noarch" };
        expect(parseInstalled(`${name}|${epoch}|${version}|${release}|noarch\n`)).toEqual([expected]);
      }),
    );
  });
});

describe("what zypper lists", () => {
  it("repositories that count", () => {
    const repo = (alias: string, enabled: number): string => `<repo alias="${alias}" name="x" enabled="${enabled}"/>`;
    expect(parseRepositories(`<stream>${repo("a&amp;b", 1)}${repo("off", 0)}</stream>`)).toEqual(["a&b"]);
  });

  it("updates of packages", () => {
    const update = (kind: string): string =>
      `<update kind="${kind}" name="app" edition="0:2.0-1" arch="noarch" edition-old="1.0-1"><summary>x</summary></update>`;
    expect(parseUpdates(`${update("package")}${update("patch")}`)).toEqual([{ ...app, version: "2.0-1" }]);
  });

  it("needed security patches, each once", () => {
    const patch = (name: string, status: string, category: string): string =>
      `<update kind="patch" name="${name}" edition="1" status="${status}" category="${category}"/>`;
    const text = [
      patch("one", "needed", "security"),
      patch("one", "needed", "security"),
      patch("two", "needed", "recommended"),
      patch("three", "applied", "security"),
    ].join("\n");
    expect(parsePatches(text)).toEqual(["one"]);
  });

  it("held packages that are installed", () => {
    const match = (installed: boolean): string =>
      `<match kind="package" name="app" edition="1:1.0-1" arch="noarch" installed="${installed}" repo="x"></match>`;
    expect(parseHeld(match(true))).toEqual(new Set(["app-1:1.0-1.noarch"]));
    expect(parseHeld(match(false))).toEqual(new Set());
  });

  it("names of packages that nobody asked for", () => {
    expect(parseAutoInstalled("# AutoInstalled generated\n#\nextra\nlibrary\n#\n")).toEqual(
      new Set(["extra", "library"]),
    );
  });
});

describe("what a patch is for", () => {
  const info = (conflicts: string, name = "TEST-1"): string =>
    `<message type="info">Repository  : base\nName        : ${name}\nStatus      : needed\nDescription : \n    Conflicts : fake &lt; 9\nProvides    : patch:x = 1\nConflicts   : ${conflicts}\n</message>`;

  it("is one package or several", () => {
    expect(parsePatchInfo(info("app &lt; 1:1.1-1"))).toEqual([{ patch: "TEST-1", subject: "app", version: "1:1.1-1" }]);
    const several = "[3]\n    srcpackage:app &lt; 1\n    app.noarch &lt; 1:1.1-1\n    lib-a.x86_64 &lt; 0:2.1-1";
    expect(parsePatchInfo(info(several) + info("b &lt; 2", "TEST-2"))).toEqual([
      { patch: "TEST-1", subject: "app.noarch", version: "1:1.1-1" },
      { patch: "TEST-1", subject: "lib-a.x86_64", version: "2.1-1" },
      { patch: "TEST-2", subject: "b", version: "2" },
    ]);
  });

  it("counts for what is installed and older", () => {
    const patched = [
      { patch: "one", subject: "app", version: "1:1.1-1" },
      { patch: "two", subject: "app", version: "0.9-1" },
      { patch: "three", subject: "lib-a.noarch", version: "3-1" },
      { patch: "four", subject: "lib-a.x86_64", version: "3-1" },
    ];
    expect(advisedFor(patched, [app, lib])).toEqual([
      { ...app, version: "1:1.1-1", advisory: "one" },
      { ...lib, version: "3-1", advisory: "four" },
    ]);
  });
});

describe("what does not fit together", () => {
  it("is parsed from rpm's report", () => {
    const text =
      "Unsatisfied dependencies for app-1:1.0-1.noarch:\n\tlibrary >= 2 is needed by (installed) app-1:1.0-1.noarch\n\tother conflicts with (installed) lib-a-2.0-1.x86_64\n";
    expect(parseUnmet(text)).toEqual([
      { name: "app", needs: "Requires: library >= 2" },
      { name: "lib-a", needs: "Conflicts: other" },
    ]);
    expect(parseUnmet("")).toEqual([]);
  });
});
