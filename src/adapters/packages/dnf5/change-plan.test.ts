import { describe, expect, it } from "vitest";
import type { CommandResult } from "#adapters/exec/index.ts";
import { createRowPlans } from "../common/rpm/row-plans.ts";
import { createSimulate } from "./simulation.ts";

/** Of dnf5 5.4.6 with `--assumeno`. */
const installation = `Package "steady-1.0-1.noarch" is already installed.

Package              Arch   Version Repository      Size
Removing dependent packages:
 other               noarch 0:1.0-1 base        12.0   B
Upgrading:
 steady              noarch 0:2.0-1 base        12.0   B
   replacing steady  noarch 0:1.0-1 base        12.0   B
Installing:
 fancy               noarch 0:1.0-1 base        12.0   B
Installing weak dependencies:
 extra               noarch 0:1.0-1 base        12.0   B

Transaction Summary:
 Installing:         2 packages
 Upgrading:          1 package
 Replacing:          1 package
 Removing:           1 package

Operation aborted by the user.
`;
const unknown = `Failed to resolve the transaction:
Argument 'extra' matches only excluded packages.
No match for argument: nowhere
You can try to add to command line:
  --skip-unavailable to skip unavailable packages
`;
const isProtected = `Failed to resolve the transaction:
Problem 1: The operation would result in broken dependencies for the following protected packages: app
Problem 2: installed package app-1.0-1.noarch requires library, but none of the providers can be installed
  - conflicting requests
  - problem with installed package
`;

const { signal } = new AbortController();
const packages = ["steady", "other"].map((name) => {
  return { name, version: "1.0-1", architecture: "noarch", reason: "User", bytes: 5 };
});
function recorded(answer: Partial<CommandResult>) {
  const tryAsking = () => Promise.resolve({ exitCode: 1, stdout: "", stderr: "", truncated: false, ...answer });
  const ask = () => Promise.resolve("");
  return createRowPlans({ simulate: createSimulate({ tryAsking }), ask, withoutRepositories: "--setopt=reposdir=" });
}

describe("what dnf5 would install or remove", () => {
  it("is read with all that comes along and goes for it", async () => {
    const wanted = [{ name: "fancy", architecture: undefined }];
    const { changes } = await recorded({ stdout: installation }).planInstall(wanted, true, { packages }, signal);
    expect(changes.map(({ name, from, to }) => `${name} ${from} ${to}`)).toEqual([
      "steady 1.0-1 2.0-1",
      "fancy null 1.0-1",
      "extra null 1.0-1",
      "other 1.0-1 null",
    ]);
    const nothing = { exitCode: 0, stdout: 'Package "steady-2.0-1.noarch" is already installed.\n\nNothing to do.\n' };
    expect((await recorded(nothing).planInstall(wanted, false, { packages }, signal)).changes).toEqual([]);
  });

  it.each([
    [unknown, /Argument 'extra' matches only excluded packages\.; No match for argument: nowhere$/],
    [isProtected, /for the following protected packages: app; /],
  ])("is refused in its words", async (stderr, reason) => {
    await expect(recorded({ stderr }).planRemoval(packages, { packages }, signal)).rejects.toThrow(reason);
  });
});
