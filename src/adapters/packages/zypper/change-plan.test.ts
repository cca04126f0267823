import { describe, expect, it } from "vitest";
import type { CommandResult } from "#adapters/exec/index.ts";
import { createPlans } from "./change-plan.ts";

/** Of zypper 1.14.42 with `--xmlout … --dry-run`. */
const conflict = `<?xml version='1.0'?>
<stream>
<message type="info">Resolving package dependencies...</message>
<prompt id="1">
<description>Problem: rival-1.0-1.noarch conflicts with steady provided by steady-1.0-1.noarch
 Solution 1: deinstallation of steady-1.0-1.noarch
 Solution 2: do not install rival-1.0-1.noarch
</description>
<text>Choose from above solutions by number or cancel</text>
<option value="1" desc="Choose solution 1"/>
</prompt>
</stream>
`;
const erasing = `<?xml version='1.0'?>
<stream>
<install-summary download-size="6343" space-usage-diff="-3" packages-to-change="2">
<to-install>
<solvable type="package" name="rival" edition="1.0-1" arch="noarch" summary="made">
<description>x</description></solvable>
</to-install>
<to-remove>
<solvable type="package" name="steady" edition="1.0-1" arch="noarch" summary="made">
<description>x</description></solvable>
</to-remove>
</install-summary>
</stream>
`;
const unknown = `<stream>\n<message type="error">Package &apos;nowhere&apos; not found.</message>\n</stream>\n`;

const { signal } = new AbortController();
/** Zypper that says this, asked with repositories or without. */
function recorded(answer: Partial<CommandResult>) {
  const asked: string[] = [];
  const say = (where: string) => (words: readonly string[]) => {
    asked.push(`${where}: ${words.join(" ")}`);
    return Promise.resolve({ exitCode: 0, stdout: "", stderr: "", truncated: false, ...answer });
  };
  return { ...createPlans({ tryAsking: say("all"), tryInstalled: say("installed") }), asked };
}
const rival = [{ name: "rival", architecture: "noarch" }];

describe("what zypper would install or remove", () => {
  it("is read with what goes for it, by names and not by what others provide", async () => {
    const { planInstall, asked } = recorded({ stdout: erasing });
    const { changes, sizes } = await planInstall(rival, true, undefined, signal);
    expect(changes.map(({ name, from, to }) => `${name} ${from} ${to}`)).toEqual([
      "rival null 1.0-1",
      "steady 1.0-1 null",
    ]);
    expect(await sizes()).toEqual({ downloadBytes: 6343, diskBytes: -3 });
    await planInstall(rival, false, undefined, signal);
    expect(asked).toEqual([
      "all: install --dry-run --name --force-resolution -- rival.noarch",
      "all: install --dry-run --name --no-force-resolution -- rival.noarch",
    ]);
  });

  it.each([
    [conflict, 4, "rival-1.0-1.noarch conflicts with steady provided by steady-1.0-1.noarch"],
    [unknown, 104, "Package 'nowhere' not found."],
  ])("is refused in its words", async (stdout, exitCode, reason) => {
    const { planInstall } = recorded({ stdout, exitCode });
    await expect(planInstall(rival, false, undefined, signal)).rejects.toThrow(reason);
  });

  it("needs no list to remove exact versions, and leaves what nothing needs", async () => {
    const { planRemoval, asked } = recorded({});
    await planRemoval([{ name: "app", version: "1.0-1", architecture: "noarch" }], undefined, signal);
    expect(asked).toEqual(["installed: remove --dry-run --no-clean-deps -- app.noarch=1.0-1"]);
  });
});
