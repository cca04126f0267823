import { describe, expect, it } from "vitest";
import type { PackageChange } from "#domain/ports/packages.ts";
import { leftovers } from "../common/rpm/findings.ts";
import type { InstalledRpm } from "./dialect.ts";
import { dialect4 } from "./dialect4.ts";
import { parseStep } from "./output4.ts";
import { actionsFor, reporter, storedTransaction } from "./replay.ts";

const installed = (name: string, version: string, reason = "user"): InstalledRpm => ({
  name,
  version,
  architecture: "noarch",
  reason,
  bytes: 1,
});
const change = (name: string, from: string | null, to: string | null): PackageChange => ({
  name,
  architecture: "noarch",
  from,
  to,
  isSecurity: false,
});
const actions = (changes: readonly PackageChange[], present: readonly InstalledRpm[]): unknown => {
  const text = storedTransaction(dialect4, actionsFor(dialect4, changes, present));
  const { rpms } = JSON.parse(text) as { rpms: readonly Record<string, string>[] };
  return rpms.map(({ action, nevra, reason }) => `${action} ${nevra} ${reason}`);
};

describe("a stored transaction", () => {
  it("keeps reasons, and gives new packages that of a dependency", () => {
    const changes = [
      change("app", "1.0-1", "2.0-1"),
      change("lib", "1.0-1", "1:0.9-1"),
      change("extra", null, "1.0-1"),
    ];
    expect(actions(changes, [installed("app", "1.0-1"), installed("lib", "1.0-1", "dependency")])).toEqual([
      "Upgrade app-2.0-1.noarch user",
      "Upgraded app-1.0-1.noarch user",
      "Upgrade lib-1:0.9-1.noarch dependency",
      "Upgraded lib-1.0-1.noarch dependency",
      "Install extra-1.0-1.noarch dependency",
    ]);
  });

  it("gives a package the reason of the one that it replaces", () => {
    const changes = [change("new", null, "2.0-1"), change("old", "1.0-1", null)];
    expect(actions(changes, [installed("old", "1.0-1")])).toEqual([
      "Install new-2.0-1.noarch user",
      "Removed old-1.0-1.noarch user",
    ]);
  });

  it("gives requested packages alone the reason of a user", () => {
    const asked = { isRequested: true } as const;
    const changes = [
      { ...change("rival", null, "1.0-1"), ...asked },
      { ...change("lib", "1.0-1", "2.0-1"), ...asked },
      change("extra", null, "1.0-1"),
      change("gone", "1.0-1", null),
    ];
    expect(actions(changes, [installed("lib", "1.0-1", "dependency"), installed("gone", "1.0-1")])).toEqual([
      "Install rival-1.0-1.noarch user",
      "Upgrade lib-2.0-1.noarch user",
      "Upgraded lib-1.0-1.noarch user",
      "Install extra-1.0-1.noarch dependency",
      "Removed gone-1.0-1.noarch user",
    ]);
  });

  it.each([change("a b", null, "1-1"), change("a", null, "1"), change("a", "1-1\n", null)])("refuses %j", (wrong) => {
    expect(() => actions([wrong], [])).toThrow(/as the name of a package/);
  });
});

describe("what an interrupted transaction left", () => {
  const version = (text: string) => ({ name: "slow", version: text, architecture: "noarch" });
  const duplicates = [{ old: version("1.0-1"), kept: version("2.0-1") }];
  const removal = (from: string) => ({ name: "slow", architecture: "noarch", from, to: null });

  it("is the older version, unless that is what it brought", () => {
    expect(leftovers({ duplicates, brought: [version("2.0-1")] })).toEqual([removal("1.0-1")]);
    expect(leftovers({ duplicates, brought: [] })).toEqual([removal("1.0-1")]);
    expect(leftovers({ duplicates, brought: [version("1.0-1")] })).toEqual([removal("2.0-1")]);
  });
});

describe("progress", () => {
  it("is read from the steps", () => {
    expect(parseStep("  Upgrading        : app-2.0-1.noarch                  3/4 ")).toEqual({
      percent: 75,
      what: "upgrading app-2.0-1.noarch",
    });
    expect(parseStep("base             3.4 MB/s | 3.5 kB     00:00")).toBeUndefined();
  });

  it("does not decrease when dnf begins to verify", () => {
    const seen: number[] = [];
    const lines: string[] = [];
    const report = reporter(dialect4)({
      step: (percent) => void seen.push(percent),
      line: (text) => void lines.push(text),
    });
    for (const verb of ["Upgrading", "Verifying"])
      for (const at of [1, 2]) report(`  ${verb} : a-1-1.noarch  ${at}/2 `);
    report(" ");
    expect(seen).toEqual([45, 90, 95, 100]);
    expect(lines).toHaveLength(4);
  });
});
