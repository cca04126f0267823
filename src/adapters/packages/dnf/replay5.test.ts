import { describe, expect, it } from "vitest";
import type { PlainChange } from "../common/changes.ts";
import type { InstalledRpm } from "./dialect.ts";
import { actionsForFiles, dialect5, restOf } from "./dialect5.ts";
import { parseStep } from "./output5.ts";
import { actionsFor, reporter, storedTransaction } from "./replay.ts";

const installed = (name: string, version: string, reason = "User"): InstalledRpm => ({
  name,
  version,
  architecture: "noarch",
  reason,
  bytes: 1,
});
const change = (name: string, from: string | null, to: string | null): PlainChange => ({
  name,
  architecture: "noarch",
  from,
  to,
});
const reported = (actions: ReturnType<typeof actionsFor>) =>
  actions.map(({ action, nevra, reason }) => `${action} ${nevra} ${reason}`);

describe("a stored transaction", () => {
  it("keeps reasons, and gives new packages that of a dependency", () => {
    const changes = [
      change("app", "1.0-1", "2.0-1"),
      change("lib", "1:1.0-1", "0.9-1"),
      change("extra", null, "1.0-1"),
      change("gone", "1.0-1", null),
    ];
    const present = [
      installed("app", "1.0-1"),
      installed("lib", "1:1.0-1", "Dependency"),
      installed("gone", "1.0-1", "Weak Dependency"),
    ];
    expect(reported(actionsFor(dialect5, changes, present))).toEqual([
      "Upgrade app-2.0-1.noarch User",
      "Replaced app-1.0-1.noarch User",
      "Downgrade lib-0.9-1.noarch Dependency",
      "Replaced lib-1:1.0-1.noarch Dependency",
      "Install extra-1.0-1.noarch Dependency",
      "Remove gone-1.0-1.noarch Weak Dependency",
    ]);
    expect(JSON.parse(storedTransaction(dialect5, actionsFor(dialect5, [change("extra", null, "1.0-1")], [])))).toEqual(
      {
        version: "1.0",
        rpms: [{ nevra: "extra-1.0-1.noarch", action: "Install", reason: "Dependency", repo_id: "" }],
      },
    );
  });

  it("gives a package the reason of the one that it replaces", () => {
    const changes = [change("new", null, "2.0-1"), change("old", "1.0-1", null)];
    expect(reported(actionsFor(dialect5, changes, [installed("old", "1.0-1")]))).toEqual([
      "Install new-2.0-1.noarch User",
      "Remove old-1.0-1.noarch User",
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
    const present = [installed("lib", "1.0-1", "Dependency"), installed("gone", "1.0-1")];
    expect(reported(actionsFor(dialect5, changes, present))).toEqual([
      "Install rival-1.0-1.noarch User",
      "Upgrade lib-2.0-1.noarch User",
      "Replaced lib-1.0-1.noarch User",
      "Install extra-1.0-1.noarch Dependency",
      "Remove gone-1.0-1.noarch User",
    ]);
  });

  it("lets one of several versions come and another go", () => {
    const present = [installed("kernel", "1.0-1"), installed("kernel", "2.0-1")];
    expect(reported(actionsFor(dialect5, [change("kernel", "1.0-1", "3.0-1")], present))).toEqual([
      "Install kernel-3.0-1.noarch User",
      "Remove kernel-1.0-1.noarch User",
    ]);
  });

  it.each([change("a b", null, "1-1"), change("a", null, "1"), change("a", "1-1\n", null)])("refuses %j", (wrong) => {
    expect(() => actionsFor(dialect5, [wrong], [])).toThrow(/as the name of a package/);
  });

  it("of files names what each replaces, unless versions may be installed beside each other", () => {
    const present = [installed("app", "2.0-1"), installed("kernel", "2.0-1"), installed("kernel", "3.0-1")];
    const file = (name: string, version: string) => ({ ...installed(name, version), path: `/srv/${name}.rpm` });
    const left = {
      install: [file("app", "1.0-1"), file("kernel", "1.0-1"), file("lonely", "1.0-1")],
      remove: [installed("kernel", "3.0-1")],
    };
    const actions = actionsForFiles(left, present, ({ name }) => name === "kernel");
    expect(actions.map(({ action, nevra, package_path = "-" }) => `${action} ${nevra} ${package_path}`)).toEqual([
      "Downgrade app-1.0-1.noarch /srv/app.rpm",
      "Replaced app-2.0-1.noarch -",
      "Install kernel-1.0-1.noarch /srv/kernel.rpm",
      "Install lonely-1.0-1.noarch /srv/lonely.rpm",
      "Remove kernel-3.0-1.noarch -",
    ]);
  });
});

describe("what is left of a transaction", () => {
  const version = (name: string, text: string) => ({ name, version: text, architecture: "noarch" });

  it("is done to its end, and nothing twice", () => {
    const found = {
      unmet: [],
      isInterrupted: true,
      duplicates: [{ old: version("slow", "1.0-1"), kept: version("slow", "2.0-1") }],
      brought: [version("slow", "2.0-1"), version("app", "2.0-1"), version("extra", "1.0-1")],
      missing: [version("app", "2.0-1"), version("extra", "1.0-1")],
      remaining: [version("replaced", "1.0-1")],
    };
    expect(restOf(found, [version("app", "1.0-1")])).toEqual([
      change("slow", "1.0-1", null),
      change("app", "1.0-1", "2.0-1"),
      change("extra", null, "1.0-1"),
      change("replaced", "1.0-1", null),
    ]);
  });
});

describe("progress", () => {
  it("is read from the steps, and not from downloads", () => {
    expect(parseStep("[ 3/11] Upgrading library-0:2.0-1.noarc 100% |   2.9 KiB/s | 100.0   B |  00m00s")).toEqual({
      percent: 27,
      what: "upgrading library-0:2.0-1.noarc",
    });
    expect(parseStep("[ 2/11] Prepare transaction             100% |   8.8 KiB/s |   9.0   B |  00m00s")).toEqual({
      percent: 18,
      what: "prepare transaction",
    });
    expect(
      parseStep("[1/5] extra-0:1.0-1.noarch              100% |   1.6 MiB/s |   6.5 KiB |  00m00s"),
    ).toBeUndefined();
    expect(
      parseStep("[5/5] Total                             100% |   0.0   B/s |   0.0   B |  00m00s"),
    ).toBeUndefined();
  });

  it("is reported with every line that is not empty", () => {
    const seen: number[] = [];
    const lines: string[] = [];
    const report = reporter(dialect5)({
      step: (percent) => void seen.push(percent),
      line: (text) => void lines.push(text),
    });
    for (const at of [1, 2]) report(`[${at}/2] Upgrading a-0:1-1.noarch 100% | 1.0 B/s | 1.0 B | 00m00s`);
    report(" ");
    expect(seen).toEqual([50, 100]);
    expect(lines).toHaveLength(2);
  });
});
