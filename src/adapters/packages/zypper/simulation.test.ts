import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UpdateRefused } from "#domain/ports/packages.ts";
import { isRolling } from "./index.ts";
import { parseSummary, simulate, tolerant } from "./simulation.ts";
import { automaticAfter, operandOf, wordsFor } from "./transaction.ts";

const signal = new AbortController().signal;
const solvable = (words: string, type = "package"): string =>
  `<solvable type="${type}" ${words} summary="x">\n<description>y</description></solvable>\n`;
const summary = (count: number, inner: string): string =>
  `<stream>\n<install-summary download-size="100" space-usage-diff="-16" packages-to-change="${count}">\n${inner}</install-summary>\n<prompt id="0"><text>Continue?</text></prompt></stream>`;
const section = (name: string, ...solvables: readonly string[]): string =>
  `<${name}>\n${solvables.join("")}</${name}>\n`;

describe("what zypper would do", () => {
  it("is read with old and new versions", () => {
    const inner = [
      section("to-upgrade", solvable('name="a" edition="2-1" arch="noarch" edition-old="1-1" arch-old="noarch"')),
      section("to-downgrade", solvable('name="b" edition="1-1" arch="noarch" edition-old="1:2-1" arch-old="noarch"')),
      section(
        "to-install",
        solvable('name="c" edition="1-1" arch="x86_64"'),
        solvable('name="P" edition="1" arch="noarch"', "patch"),
      ),
      section("to-remove", solvable('name="d" edition="0:1-1" arch="noarch"')),
      section("to-reinstall", solvable('name="e" edition="1-1" arch="noarch"')),
      section(
        "to-upgrade-change-arch",
        solvable('name="f" edition="2-1" arch="noarch" edition-old="1-1" arch-old="x86_64"'),
      ),
    ].join("");
    expect(parseSummary(summary(6, inner))).toEqual({
      changes: [
        { name: "a", architecture: "noarch", from: "1-1", to: "2-1" },
        { name: "b", architecture: "noarch", from: "1:2-1", to: "1-1" },
        { name: "c", architecture: "x86_64", from: null, to: "1-1" },
        { name: "d", architecture: "noarch", from: "1-1", to: null },
        { name: "e", architecture: "noarch", from: "1-1", to: "1-1" },
        { name: "f", architecture: "x86_64", from: "1-1", to: null },
        { name: "f", architecture: "noarch", from: null, to: "2-1" },
      ],
      downloadBytes: 100,
      diskBytes: -16,
    });
  });

  it("is nothing without a summary, and not guessed where it cannot be read", () => {
    expect(parseSummary("<stream></stream>")).toBeUndefined();
    const unknown = section("to-somewhere", solvable('name="a" edition="1-1" arch="noarch"'));
    expect(() => parseSummary(summary(1, unknown))).toThrow("cannot read what zypper would do");
    expect(() => parseSummary(summary(2, ""))).toThrow("cannot read what zypper would do");
  });
});

describe("texts of a hostile repository", () => {
  const upgrade = (name: string): string =>
    section("to-upgrade", solvable(`name="${name}" edition="2-1" arch="noarch" edition-old="1-1"`));
  const ask = (stdout: string, exitCode = 0) => simulate(answer(stdout, exitCode), ["update"], signal);
  const answer = (stdout: string, exitCode: number) => () =>
    Promise.resolve({ exitCode, stdout, stderr: "", truncated: false });

  it("are text, and never another package", async () => {
    const sly = summary(1, upgrade("a")).replace(
      "<description>y",
      '<description>&lt;/description>&lt;/solvable>&lt;solvable type="package" name="base"/> ]]&gt;',
    );
    expect((await ask(sly)).changes).toEqual([{ name: "a", architecture: "noarch", from: "1-1", to: "2-1" }]);
    const extra = summary(1, upgrade("a") + section("to-remove", solvable('name="base" edition="5-1" arch="noarch"')));
    await expect(ask(extra)).rejects.toThrow("cannot read what zypper would do");
  });

  it.each([102, 103])("make a plan although zypper would end with %i", async (exitCode) =>
    expect((await ask(summary(1, upgrade("a")), exitCode)).changes).toHaveLength(1),
  );

  it.each([4, 8, 104, 106])("are refused where zypper ends with %i", async (exitCode) =>
    expect(ask(summary(1, upgrade("a")), exitCode)).rejects.toThrow(UpdateRefused),
  );
});

describe("the words that make changes", () => {
  const change = fc.record({
    name: fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/),
    architecture: fc.constantFrom("noarch", "x86_64"),
    from: fc.constantFrom(null, "1-1"),
    to: fc.constantFrom(null, "1:2-1"),
  });

  it("name each version, and come after the end of options", () => {
    fc.assert(
      fc.property(fc.array(change), (changes) => {
        const words = wordsFor(changes);
        const operands = words.slice(words.indexOf("--") + 1);
        expect(operands).toEqual(
          changes
            .filter(({ from, to }) => from !== null || to !== null)
            .map(({ name, architecture, from, to }) =>
              to === null ? `!${name}.${architecture}=${from}` : `${name}.${architecture}=${to}`,
            ),
        );
      }),
    );
  });

  // What a repository calls its packages is its own affair; zypper would take some of it for another order.
  it.each(["a b", "", "a;b\nc", "!app", "-app", "+app", "~app", "patch:app", "*", "a/b.rpm", "--force", "a'b"])(
    "are never made of the name %j",
    (name) => {
      expect(() => operandOf({ name, version: "1-1", architecture: "noarch" })).toThrow(UpdateRefused);
      const change = { name, architecture: "noarch", from: null, to: "1-1" };
      expect(() => wordsFor([change])).toThrow("is not a package name");
    },
  );

  it.each(["1 1", "1-1\n", "1", "1-1 --force", "1-1<2"])("are never made of the version %j", (version) =>
    expect(() => operandOf({ name: "app", version, architecture: "noarch" })).toThrow("is not a package name"),
  );
});

describe("packages that nobody asked for", () => {
  const database = (automatic: readonly string[], ...names: readonly string[]) => ({
    packages: names.map((name) => ({ name, version: "1-1", architecture: "noarch" })),
    automatic: new Set(automatic),
    isHeld: () => false,
    mark: "",
  });
  const step = (name: string, from: string | null, to: string | null) => ({ name, architecture: "noarch", from, to });

  it("stay automatic, as are those that come along", () =>
    expect(
      automaticAfter([step("lib", "1-1", "2-1"), step("extra", null, "1-1")], database(["lib"], "lib", "app")),
    ).toEqual(new Set(["lib", "extra"])));

  it("do not include requested ones, new or not, and include those that come along", () => {
    const changes = [
      { ...step("editor", null, "1-1"), isRequested: true as const },
      { ...step("lib", "1-1", "2-1"), isRequested: true as const },
      step("extra", null, "1-1"),
      step("rival", "1-1", null),
    ];
    expect(automaticAfter(changes, database(["lib", "other"], "lib", "other", "rival"))).toEqual(
      new Set(["other", "extra"]),
    );
  });

  it("do not include those that replace a package that was asked for", () => {
    const changes = [step("old", "1-1", null), step("new", null, "1-1")];
    expect(automaticAfter(changes, database([], "old"))).toEqual(new Set());
    expect(automaticAfter(changes, database(["old"], "old"))).toEqual(new Set(["new"]));
  });
});

describe("exit codes", () => {
  it.each([
    [0, 0],
    [102, 0],
    [103, 0],
    [4, 4],
    [7, 7],
    [8, 8],
    [106, 106],
    [107, 107],
  ])("%i is %i", async (exitCode, seen) => {
    const run = tolerant(() => Promise.resolve({ exitCode, stdout: "", stderr: "", truncated: false }));
    expect((await run(["/usr/bin/zypper"])).exitCode).toBe(seen);
  });
});

describe("distributions without releases", () => {
  it.each([
    ['NAME=x\nID="opensuse-tumbleweed"\n', true],
    ["ID=opensuse-slowroll", true],
    ['ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', false],
    ['ID="sles"\n', false],
    ["", false],
  ])("%j", (text, rolls) => expect(isRolling(text)).toBe(rolls));
});
