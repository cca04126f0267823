import { describe, expect, it } from "vitest";
import type { CommandResult } from "#adapters/exec/index.ts";
import { createRowPlans } from "../common/rpm/row-plans.ts";
import { createSimulate } from "./simulation.ts";

const line = "=".repeat(80);
/** Of dnf 4.14 with `--assumeno --verbose`. */
const tableOf = (rows: string, summary: string): string => `base: using metadata from Thu Nov 26 17:17:28 2026.
--> Starting dependency resolution
--> Finished dependency resolution
Dependencies resolved.
${line}
 Package           Architecture       Version            Repository        Size
${line}
${rows}
Transaction Summary
${line}
${summary}

Operation aborted.
`;
const installation = tableOf(
  `Installing:
 fancy             noarch             1.0-1              base             6.2 k
Upgrading:
 steady            noarch             2.0-1              base             6.1 k
Installing weak dependencies:
 extra             noarch             1.0-1              base             6.1 k
`,
  "Install  2 Packages\nUpgrade  1 Package\n\nTotal size: 12 k",
);
const removal = tableOf(
  `Removing:
 kernel            noarch             1.0-1              @base              4  
 kernel            noarch             2.0-1              @base              4  
Removing dependent packages:
 kuser             noarch             1.0-1              @base             12  
`,
  "Remove  3 Packages\n\nFreed space: 20  ",
);
const conflict = `Error: 
 Problem: problem with installed package steady-1.0-1.noarch
  - package rival-1.0-1.noarch conflicts with steady provided by steady-1.0-1.noarch
  - package rival-1.0-1.noarch conflicts with steady provided by steady-2.0-1.noarch
  - conflicting requests
(try to add '--allowerasing' to command line to replace conflicting packages or '--skip-broken' to skip uninstallable packages)
`;

const { signal } = new AbortController();
const packages = [
  ["kernel", "1.0-1"],
  ["kernel", "2.0-1"],
  ["kuser", "1.0-1"],
  ["steady", "1.0-1"],
].map(([name = "", version = ""]) => ({ name, version, architecture: "noarch", reason: "user", bytes: 5 }));

/** Dnf that says this. */
function recorded(answer: Partial<CommandResult>) {
  const asked: (readonly string[])[] = [];
  const tryAsking = (words: readonly string[]) => {
    asked.push(words);
    return Promise.resolve({ exitCode: 1, stdout: "", stderr: "", truncated: false, ...answer });
  };
  const ask = () => Promise.resolve("fancy|1.0-1|noarch|100|7\nextra|1.0-1|noarch|10|7\nsteady|2.0-1|noarch|1|7\n");
  const plans = createRowPlans({
    simulate: createSimulate({ tryAsking }),
    ask,
    withoutRepositories: "--disablerepo=*",
  });
  return { ...plans, asked };
}
const wanted = (name: string, architecture?: string) => ({ name, architecture });

describe("what dnf would install", () => {
  it("is the newest version, with all that comes along", async () => {
    const { planInstall, asked } = recorded({ stdout: installation });
    const { changes, sizes } = await planInstall(
      [wanted("fancy"), wanted("steady", "noarch")],
      false,
      { packages },
      signal,
    );
    expect(changes.map(({ name, from, to }) => `${name} ${from} ${to}`)).toEqual([
      "fancy null 1.0-1",
      "steady 1.0-1 2.0-1",
      "extra null 1.0-1",
    ]);
    expect(await sizes()).toEqual({ downloadBytes: 111, diskBytes: 16 });
    expect(asked[0]).toEqual(["--assumeno", "--verbose", "install", "--best", "--", "fancy", "steady.noarch"]);
    await planInstall([wanted("fancy")], true, { packages }, signal);
    expect(asked[1]).toContain("--allowerasing");
  });

  it.each([
    [conflict, "", /^Problem: problem with installed package steady-1\.0-1\.noarch - package rival/],
    [
      "Error: Unable to find a match: nowhere\n",
      "Last metadata expiration check: 0:00:02 ago on Thu Nov 26 17:18:04 2026.\nNo match for argument: nowhere\n",
      /^No match for argument: nowhere; /,
    ],
    [
      "Error: Unable to find a match: extra\n",
      "Excludes in dnf.conf: extra\nAll matches were filtered out by exclude filtering for argument: extra\n",
      /^All matches were filtered out by exclude filtering for argument: extra; /,
    ],
  ])("is refused in its words", async (stderr, stdout, reason) => {
    await expect(recorded({ stderr, stdout }).planInstall([wanted("x")], false, { packages }, signal)).rejects.toThrow(
      reason,
    );
  });
});

describe("what dnf would remove", () => {
  it("are exactly these, and what depends on them; no list is needed", async () => {
    const { planRemoval, asked } = recorded({ stdout: removal });
    const { changes, sizes } = await planRemoval(packages.slice(0, 2), { packages }, signal);
    expect(changes.map(({ name, from, to }) => `${name} ${from} ${to}`)).toEqual([
      "kernel 1.0-1 null",
      "kernel 2.0-1 null",
      "kuser 1.0-1 null",
    ]);
    expect(await sizes()).toEqual({ downloadBytes: 0, diskBytes: -15 });
    expect(asked[0]?.slice(2)).toEqual([
      "--disablerepo=*",
      "--setopt=clean_requirements_on_remove=0",
      "remove",
      "--",
      "kernel-1.0-1.noarch",
      "kernel-2.0-1.noarch",
    ]);
  });

  it("is nothing that could be taken for another word", async () => {
    const { planRemoval, asked } = recorded({});
    const odd = [{ name: "--all", version: "1-1", architecture: "noarch" }];
    await expect(planRemoval(odd, { packages }, signal)).rejects.toThrow("cannot use");
    expect(asked).toEqual([]);
  });
});
