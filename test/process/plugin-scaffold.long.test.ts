import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { lookHere } from "#adapters/exec/look.ts";
import { createPluginFolders } from "#adapters/plugins/folders.ts";
import { makePlugin, pluginLanguages } from "#cli/commands/plugins/scaffold.ts";
import { type PluginType, pluginTypes } from "#contract/plugins.ts";
import { parseOutput } from "#domain/health/plugin/output.ts";
import type { FoundPlugin } from "#domain/ports/plugins.ts";
import { runProgram, runSteward } from "./support/program.ts";
import { mainFile } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
const parent = workspace.path("plugins");
afterAll(workspace.dispose);
beforeAll(() => {
  // Others have to be able to go in, as below /etc.
  chmodSync(workspace.path(), 0o755);
  mkdirSync(parent);
  chmodSync(parent, 0o755);
});

const combinations = pluginTypes.flatMap((type) => pluginLanguages.map((language) => ({ type, language })));
const basics = { type: "check", language: "node", author: "Ada", parent } as const;

const load = (path: string): Promise<FoundPlugin | undefined> =>
  createPluginFolders({ dirs: [parent], now: () => Date.now(), look: lookHere }).read(path);
const manifestOf = async (path: string) => {
  const found = await load(path);
  if (found === undefined || !("manifest" in found.loaded)) throw new Error(`no plugin: ${JSON.stringify(found)}`);
  return found.loaded;
};
const run = (program: string, args: readonly string[] = [], input = "") =>
  runProgram(workspace, [program, ...args], { input });
const python = { environment: { PYTHONDONTWRITEBYTECODE: "1" } };

/** What each does when it is called as the service does. */
const uses: Readonly<Record<PluginType, (command: readonly [string, ...string[]]) => Promise<void>>> = {
  async check([program]) {
    const { code, stdout } = await run(program, ["--dir", parent, "--warn", "100", "--crit", "1000"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^\w+ OK - \d+ entries in /) });
    const { perfdata } = parseOutput(stdout);
    expect(perfdata).toMatchObject({ malformed: 0, values: [{ label: "entries", value: readdirSync(parent).length }] });
  },
  async command([program]) {
    const { code, stdout } = await run(program, ["--json"]);
    expect([code, Object.keys(JSON.parse(stdout) as object)]).toEqual([0, ["host", "kernel"]]);
    expect((await run(program, ["--nonsense"])).code).toBe(2);
  },
  async hook([program]) {
    const freeze = workspace.path("freeze");
    writeFileSync(freeze, 'a "quoted" reason\n');
    const event = `${JSON.stringify({ event: "pre_update", at: "2026-01-01T00:00:00.000Z", subject: { type: "all" } })}\n`;
    expect(await run(program, [workspace.path("none")], event)).toEqual({ code: 0, stdout: "", stderr: "" });
    const vetoed = await run(program, [freeze], event);
    expect(JSON.parse(vetoed.stdout)).toEqual({ veto: true, reason: expect.stringMatching(/^a "?quoted"? reason$/) });
  },
};

describe("steward plugins new", () => {
  it.each(combinations)("makes a $type in $language that is valid, works, and passes its own test", async (choice) => {
    const { type, language } = choice;
    const name = `my_${type}-${language}`;
    const made = await runSteward(workspace, [
      ...["plugins", "new", name, "--type", type, "--lang", language, "--dir", parent, "--author", 'Ada "A" Byron'],
    ]);
    expect(made).toMatchObject({ code: 0, stderr: "" });
    const path = join(parent, name);
    // Every word of the templates is filled in.
    for (const file of readdirSync(path))
      expect([file, readFileSync(join(path, file), "utf8")]).toEqual([file, expect.not.stringMatching(/\{ ?\{ ?\w/)]);
    const validated = await runSteward(workspace, ["plugins", "validate", path]);
    expect(validated).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining(": no fault\n") });
    const { manifest, digest } = await manifestOf(path);
    expect(manifest).toMatchObject({ name, author: 'Ada "A" Byron', role: { type } });
    await uses[type](manifest.command);

    const [, command = ""] = /^test it there: (.*)$/m.exec(made.stdout) ?? [];
    const [program = "", ...args] = command.split(" ");
    const tested = await runProgram(workspace, ["env", "-C", path, program, ...args]);
    expect(tested).toMatchObject({ code: 0 });
    // The test left nothing behind that would keep the plugin from running.
    expect((await manifestOf(path)).digest).toBe(digest);
    // A test that cannot fail would be no test.
    writeFileSync(join(path, manifest.command[0].slice(path.length + 1)), "#!/bin/true\n");
    expect((await runProgram(workspace, ["env", "-C", path, program, ...args], python)).code).not.toBe(0);
  });

  it("makes what the service accepts, whatever the name is as YAML and whatever the umask", async () => {
    for (const name of ["null", "true", "123", "1e3", "no"]) {
      const { path } = makePlugin({ ...basics, name });
      expect(parse(readFileSync(join(path, "plugin.yaml"), "utf8"))).toMatchObject({ name });
      expect((await manifestOf(path)).manifest.name).toBe(name);
    }
    for (const mask of ["0", "77"]) {
      const path = join(parent, `umask-${mask}`);
      const argv = ["plugins", "new", `umask-${mask}`, "--type", "check", "--lang", "sh", "--dir", parent];
      const shell = ["sh", "-c", 'umask "$1"; shift; exec "$@"', "-", mask] as const;
      expect(await runProgram(workspace, [...shell, process.execPath, mainFile, ...argv])).toMatchObject({ code: 0 });
      const { manifest } = await manifestOf(path);
      const modes = [path, manifest.command[0], join(path, "plugin.yaml")].map((each) => statSync(each).mode & 0o777);
      expect(modes).toEqual([0o755, 0o755, 0o644]);
    }
  });

  it("overwrites nothing, leaves nothing where it cannot be made, and refuses odd names", () => {
    mkdirSync(join(parent, "folder"));
    writeFileSync(join(parent, "file"), "mine");
    symlinkSync("/nowhere", join(parent, "link"));
    for (const name of ["folder", "file", "link"]) {
      expect(() => makePlugin({ ...basics, name })).toThrow(`cannot make ${join(parent, name)}: it is there already`);
    }
    expect([readdirSync(join(parent, "folder")), readFileSync(join(parent, "file"), "utf8")]).toEqual([[], "mine"]);
    for (const [where, reason] of [
      [join(parent, "missing"), "there is no folder to make it in"],
      [join(parent, "file"), "ENOTDIR"],
    ] as const) {
      expect(() => makePlugin({ ...basics, name: "new", parent: where })).toThrow(reason);
      expect(existsSync(join(where, "new"))).toBe(false);
    }
    for (const name of ["", "-a", "_a", "A", "a b", "a/b", "..", "a\n", "x".repeat(65), "ä"])
      expect(() => makePlugin({ ...basics, name })).toThrow(/^cannot name a plugin/);
  });
});

describe("steward plugins validate", () => {
  it("prints every fault of the manifest and the files, however many there are, with its place", async () => {
    const { path } = makePlugin({ ...basics, name: "faulty", language: "sh" });
    const file = join(path, "plugin.yaml");
    const unknown = Array.from({ length: 30 }, (_, at) => `x${at}: 1\n`).join("");
    writeFileSync(file, `name: 12\nversion: 1.0.0\ntype: thing\nexec: ../sh\n${unknown}`);
    const faulty = await runSteward(workspace, ["plugins", "validate", path]);
    expect(faulty).toMatchObject({ code: 1, stderr: "" });
    const lines = faulty.stdout.trimEnd().split("\n");
    for (const place of ["1:7: name", "3:7: type", "4:7: exec", "5:1: x0", "34:1: x29"])
      expect(lines).toContainEqual(expect.stringContaining(`${file}:${place}`));
    expect(lines).toHaveLength(33);
    const open = makePlugin({ ...basics, name: "open", language: "sh" }).path;
    for (const name of ["check.sh", "test.sh"]) chmodSync(join(open, name), 0o777);
    const { code, stdout } = await runSteward(workspace, ["plugins", "validate", open, "--json"]);
    const { faults } = JSON.parse(stdout) as { faults: { text: string }[] };
    expect([code, faults.map(({ text }) => text)]).toEqual([1, Array(2).fill(expect.stringContaining("chmod go-w"))]);
  });
});
