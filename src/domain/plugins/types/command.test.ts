import { describe, expect, it } from "vitest";
import { plainManifest } from "../../../../test/fakes/plugin-folders.ts";
import type { ExtensionPoints, PluginCommand, PluginInput, RunResult } from "../plugin-kind.ts";
import { commandKind } from "./command.ts";

describe("a command", () => {
  it.each([
    [0, "success"],
    [1, "failure"],
  ] as const)("that ends with %i is a %s, and hands on what it is given", async (exitCode, result) => {
    const commands: PluginCommand[] = [];
    const results: RunResult[] = [];
    const inputs: PluginInput[] = [];
    const points: ExtensionPoints = {
      hooks: { add: () => () => undefined },
      checks: { isTaken: () => true, add: () => () => undefined },
      commands: {
        add(command) {
          commands.push(command);
          return () => commands.pop();
        },
      },
    };
    const manifest = plainManifest("greet");
    expect(commandKind.faultOf(manifest, points)).toBeUndefined();
    const release = commandKind.connect(
      {
        manifest,
        run(input, read) {
          inputs.push(input);
          const answer = read({ exitCode, stdout: "Hello", stderr: "", isTruncated: false });
          results.push(answer.result);
          return Promise.resolve(answer.value);
        },
      },
      { type: "command", usage: undefined },
      points,
    );
    const input = { args: ["you"], stdin: "" };
    expect(await commands[0]?.run(input, new AbortController().signal)).toMatchObject({ exitCode, stdout: "Hello" });
    expect([results, inputs, commands[0]?.name]).toEqual([[result], [input], "greet"]);
    release();
    expect(commands).toEqual([]);
  });
});
