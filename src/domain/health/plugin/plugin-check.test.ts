import { describe, expect, it } from "vitest";
import type { PluginRun } from "#domain/ports/plugins.ts";
import { createFakePluginRunner } from "../../../../test/fakes/plugin-runner.ts";
import { type Ended, jsonOutcome, pluginCheck } from "./plugin-check.ts";

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

describe("a monitoring plugin as a check", () => {
  it.each([
    [0, "pass"],
    [1, "warn"],
    [2, "fail"],
    [3, "skip"],
  ] as const)("is, with exit code %i, %s", async (exitCode, status) => {
    expect(await outcomeOf(ended(exitCode, "THING - it is so\n"))).toEqual({
      status,
      message: "THING - it is so",
      details: { ...clean, exit_code: exitCode, output: "THING - it is so" },
    });
  });

  it.each([4, 255])("fails with the unknown exit code %i", async (exitCode) => {
    const error = `exit code ${exitCode}`;
    const why = `The plugin ended with ${error}, which is not a status of a monitoring plugin (0 to 3 are)`;
    expect(await outcomeOf(ended(exitCode, "THING OK"))).toEqual({
      status: "fail",
      message: `${why}: THING OK`,
      details: { ...clean, exit_code: exitCode, output: "THING OK", error },
    });
    expect(await outcomeOf(ended(exitCode, ""))).toMatchObject({ message: why });
  });

  it("has long output and performance data in its details", async () => {
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
      thresholds: { a: { warn: 5 } },
    });
    expect(await outcomeOf(ended(0, "OK | free=9;5:;2: used=1;@1:2;3\n"))).toMatchObject({
      thresholds: { free: { warn: 5, fail: 2 }, used: { fail: 3 } },
    });
  });

  it("reports a missing output with stderr", async () => {
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

  it("bounds its details", async () => {
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

/** A run of a plugin that speaks JSON. */
const endedWith = (stdout: string, rest: Partial<Ended> = {}): Ended => ({
  ...{ isEnded: true, exitCode: 0, stdout, stderr: "", isCut: false },
  ...rest,
});

describe("a JSON plugin as a check", () => {
  it.each(["pass", "warn", "fail", "skip"])("has the status %s", (status) => {
    const answer = { status, message: " so it is\n", details: { age: 3, deep: { list: [1] } }, extra: true };
    expect(jsonOutcome(endedWith(JSON.stringify(answer)))).toEqual({
      status,
      message: "so it is",
      details: { age: 3, deep: { list: [1] } },
    });
  });

  it.each<readonly [string, Ended, string]>([
    ["an exit code", endedWith('{"status": "pass", "message": "well"}', { exitCode: 1 }), "it ended with exit code 1"],
    ["a flood", endedWith("{}", { isCut: true }), "it printed too much"],
    ["nothing", endedWith(""), "its output is not a single JSON object"],
    ["two objects", endedWith("{} {}"), "its output is not a single JSON object"],
    ["null", endedWith("null"), "its output is not a single JSON object"],
    ["no status", endedWith('{"message": "x"}'), "its status is not one of pass, warn, fail, skip"],
    [
      "an inherited status",
      endedWith('{"status": "toString", "message": "x"}'),
      "its status is not one of pass, warn, fail, skip",
    ],
    ["no message", endedWith('{"status": "pass", "message": " "}'), "it has no message"],
    ["odd details", endedWith('{"status": "pass", "message": "x", "details": [1]}'), "its details are not an object"],
  ])("fails with %s", (_, run, error) => {
    expect(jsonOutcome(run)).toEqual({
      status: "fail",
      message: `The plugin gave no result: ${error}`,
      details: { exit_code: run.exitCode, error },
    });
  });

  it("reports stderr on failure, and needs no details", () => {
    const { details } = jsonOutcome(endedWith("", { exitCode: 3, stderr: "no\u001b such file\n" }));
    expect(details).toMatchObject({ exit_code: 3, stderr: "no such file" });
    expect(jsonOutcome(endedWith('{"status": "pass", "message": "well"}'))).toMatchObject({ details: {} });
  });
});
