import { describe, expect, it } from "vitest";
import type { PluginRun } from "#domain/ports/plugins.ts";
import { createFakePluginRunner } from "../../../../test/fakes/plugin-runner.ts";
import { pluginCheck } from "./plugin-check.ts";

const program = "/usr/lib/nagios/plugins/check_thing";
const ended = (exitCode: number, stdout: string, rest: { stderr?: string; isCut?: boolean } = {}): PluginRun => ({
  isEnded: true,
  exitCode,
  stdout,
  stderr: "",
  isCut: false,
  ...rest,
});

const checkOf = (run: PluginRun) =>
  pluginCheck({ id: "thing", command: [program, "-w", "5"], runner: createFakePluginRunner({ [program]: run }) });
const outcomeOf = (run: PluginRun) => checkOf(run).run({ ignore: [] }, new AbortController().signal);
const clean = { perfdata: [], perfdata_malformed: 0, perfdata_omitted: 0, long_output: "", truncated: false };

describe("a plugin as a check", () => {
  it("is named after its id unless it is given a name", () => {
    const runner = createFakePluginRunner({});
    expect(checkOf(ended(0, ""))).toMatchObject({
      id: "thing",
      name: "thing",
      category: "custom",
      severity: "medium",
    });
    expect(pluginCheck({ id: "thing", name: "The thing", severity: "high", command: [program], runner })).toMatchObject(
      { name: "The thing", severity: "high" },
    );
  });

  it("gets its arguments", async () => {
    const runner = createFakePluginRunner({ [program]: (args) => ended(0, args.join(" ")) });
    const check = pluginCheck({ id: "thing", command: [program, "-a", "b c"], runner });
    expect(await check.run({ ignore: [] }, new AbortController().signal)).toMatchObject({ message: "-a b c" });
  });

  it.each([
    [0, "pass"],
    [1, "warn"],
    [2, "fail"],
    [3, "skip"],
  ] as const)("with exit code %i it says %s", async (exitCode, status) => {
    expect(await outcomeOf(ended(exitCode, "THING - it is so\n"))).toEqual({
      status,
      message: "THING - it is so",
      details: { ...clean, exit_code: exitCode, output: "THING - it is so" },
    });
  });

  it.each([4, 42, 127, 255])("with exit code %i it fails and says so", async (exitCode) => {
    const error = `exit code ${exitCode}`;
    const why = `The plugin ended with ${error}, which means nothing to a monitoring system (0 to 3 do)`;
    expect(await outcomeOf(ended(exitCode, "THING OK"))).toEqual({
      status: "fail",
      message: `${why}: THING OK`,
      details: { ...clean, exit_code: exitCode, output: "THING OK", error },
    });
    expect(await outcomeOf(ended(exitCode, ""))).toMatchObject({ message: why });
  });

  it("has long output and figures in its details", async () => {
    expect(await outcomeOf(ended(1, "THING | a=1s;~:5\nlong\ntext | b=U c=x\n"))).toEqual({
      status: "warn",
      message: "THING",
      details: {
        ...clean,
        exit_code: 1,
        output: "THING",
        long_output: "long\ntext",
        perfdata: [
          {
            label: "a",
            value: 1,
            unit: "s",
            warn: { text: "~:5", start: null, end: 5, inside: false },
            crit: null,
            min: null,
            max: null,
          },
          { label: "b", value: null, unit: "", warn: null, crit: null, min: null, max: null },
        ],
        perfdata_malformed: 1,
      },
    });
  });

  it("without output it says that, and what the plugin complained of", async () => {
    expect(await outcomeOf(ended(0, "\n"))).toMatchObject({
      status: "pass",
      message: "The plugin printed no text and ended with exit code 0",
    });
    expect(await outcomeOf(ended(2, "", { stderr: "no module\u001b\nat line 5\n" }))).toMatchObject({
      status: "fail",
      message: "The plugin printed no text and ended with exit code 2; its error output begins: no module",
      details: { stderr: "no module\nat line 5" },
    });
  });

  it.each(["was killed by SIGSEGV", "may not be executed"])("that %s fails", async (reason) => {
    expect(await outcomeOf({ isEnded: false, reason })).toEqual({
      status: "fail",
      message: `The plugin gave no result: ${program} ${reason}`,
      details: { error: reason },
    });
  });

  it("keeps its details within bounds, whatever it prints", async () => {
    const floods = [
      '"\\\t\n'.repeat(16_000),
      `${"\u{1f600}".repeat(3000)}\n${"a\u{1f600}".repeat(9000)}`,
      `OK | ${"a=1;2;3;4;5 ".repeat(5000)}`,
      `OK | '${'"'.repeat(60_000)}'=1`,
    ];
    for (const flood of floods) {
      const { details } = await outcomeOf(ended(0, flood, { stderr: flood, isCut: true }));
      const text = JSON.stringify(details);
      expect(text.length).toBeLessThan(64 * 1024);
      expect(text).not.toMatch(/\\ud[89a-f]/);
      expect(details).toMatchObject({ truncated: true });
    }
    const { details } = await outcomeOf(ended(0, `OK | ${"a=1;2;3;4;5 ".repeat(5000)}`));
    const { perfdata, perfdata_omitted: omitted } = details;
    expect(Array.isArray(perfdata) && perfdata.length + Number(omitted)).toBe(5000);
    expect(omitted).toBeGreaterThan(0);
  });
});
