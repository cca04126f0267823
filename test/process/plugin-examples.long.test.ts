import { chmodSync, cpSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lookHere } from "#adapters/exec/look.ts";
import { createPluginFolders } from "#adapters/plugins/folders.ts";
import { runProgram, runSteward } from "./support/program.ts";
import { createWorkspace } from "./support/workspace.ts";

const examples = fileURLToPath(new URL("../../examples/plugins", import.meta.url));
const names = readdirSync(examples).sort();
const workspace = createWorkspace();
const parent = workspace.path("plugins");
afterAll(workspace.dispose);
beforeAll(() => {
  // As it is installed: the folder of the examples may belong to anybody.
  cpSync(examples, parent, { recursive: true });
  for (const folder of [workspace.path(), parent]) chmodSync(folder, 0o755);
});

/** Without these some tests of examples are skipped, in CI to nobody's knowledge: there that is a failure. */
const wanted = { restic: "apt-get install restic", borg: "apt-get install borgbackup" };
const isOnPath = (program: string): boolean =>
  (process.env["PATH"] ?? "").split(":").some((folder) => existsSync(join(folder, program)));
const missing = Object.entries(wanted).flatMap(([program, remedy]) =>
  isOnPath(program) ? [] : [`${program} (${remedy})`],
);
if (process.getuid?.() !== 0) missing.push("root");
if (missing.length > 0)
  process.stdout.write(`skipped: some tests of example plugins: missing: ${missing.join(", ")}\n`);
const passed = missing.length === 0 || process.env["CI"] === "true" ? "OK" : "OK \\(skipped=\\d+\\)";

const folders = () => createPluginFolders({ dirs: [parent], now: () => Date.now(), look: lookHere });

describe("the example plugins", () => {
  it("are of each type", async () => {
    const found = await folders().find();
    const types = found.map(({ name, loaded }) => [
      name,
      "manifest" in loaded ? loaded.manifest.role.type : loaded.fault,
    ]);
    expect(types).toEqual([
      ["backup-age", "check"],
      ["backup-repository", "check"],
      ["certificates", "command"],
      ["chat-webhook", "hook"],
    ]);
  });

  it.each(names)("%s is valid, and passes its own test, which leaves nothing behind", async (name) => {
    const path = join(parent, name);
    const before = await folders().read(path);
    expect(await runSteward(workspace, ["plugins", "validate", path])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`^${name} 1\\.0\\.0 .*: no fault\n`)),
    });
    const tested = await runProgram(workspace, ["env", "-C", path, "python3", "-B", "-m", "unittest"], {
      timeoutMs: 5 * 60_000,
    });
    const report = new RegExp(`\nRan \\d\\d? tests .*\n\n(OK|${passed})\n$`);
    expect(tested).toMatchObject({ code: 0, stderr: expect.stringMatching(report) });
    expect(await folders().read(path)).toEqual(before);
  });
});
