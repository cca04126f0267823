import { describe, expect, it } from "vitest";
import { type PluginEnd, type PluginManifest, PluginNotRun } from "#domain/ports/plugins.ts";
import { plainManifest } from "../../../test/fakes/plugin-directories.ts";
import { hookKind } from "./kinds.ts";
import type { ExtensionPoints, LoadedPlugin, PluginHook, RunResult } from "./plugin-kind.ts";

const role = { type: "hook", events: ["pre_fix", "post_fix"], onFailure: "veto" } as const;
const manifest: PluginManifest = { ...plainManifest("freeze"), role };

/** A hook that leaves this, whatever it is given. */
function connected(end: Partial<PluginEnd>) {
  const hooks: PluginHook[] = [];
  const results: RunResult[] = [];
  const notified: (string | undefined)[] = [];
  const limits: (number | undefined)[] = [];
  const points: ExtensionPoints = {
    checks: { isTaken: () => false, add: () => () => undefined },
    commands: { add: () => () => undefined },
    hooks: {
      add(hook) {
        hooks.push(hook);
        return () => hooks.pop();
      },
    },
  };
  const run: LoadedPlugin["run"] = (input, read) => {
    notified.push(input.stdin);
    limits.push(input.timeoutMs);
    const { result, value } = read({ exitCode: 0, stdout: "", stderr: "", isTruncated: false, ...end });
    results.push(result);
    return Promise.resolve(value);
  };
  const release = hookKind.connect({ manifest, run: async (...args) => run(...args) }, role, points);
  return { hooks, results, notified, limits, release };
}
const call = async (end: Partial<PluginEnd>, event: "pre_fix" | "post_fix" = "pre_fix") => {
  const { hooks, results } = connected(end);
  const answer = await hooks[0]?.call(event, "{}");
  return { answer, results };
};

describe("a hook plugin", () => {
  it.each(["", " \n", "{}", '{"veto": false, "reason": "no"}', '{"veto": false}'])("agrees by %j", async (stdout) => {
    expect(await call({ stdout })).toEqual({ answer: undefined, results: ["success"] });
  });

  it.each([
    ['{"veto": true, "reason": "change freeze"}', "change freeze"],
    ['{"veto": true, "reason": "two\\nlines \\u001b[31m\\u202ered"}\n', "two lines [31m red"],
    ['{"veto": true}', "it gives no reason"],
    [JSON.stringify({ veto: true, reason: "x".repeat(2_000) }), "x".repeat(1_000)],
  ])("vetoes by %j", async (stdout, answer) => {
    expect(await call({ stdout })).toEqual({ answer, results: ["veto"] });
  });

  it.each([
    [{ exitCode: 1, stdout: '{"veto": true}' }, "it ended with exit code 1"],
    [{ exitCode: 137, stderr: "\n" }, "it ended with exit code 137"],
    [{ stdout: "true" }, "its output is not a single JSON object"],
    [{ stdout: '{"veto": true}{' }, "its output is not a single JSON object"],
    [
      { stdout: `{"veto": true, "reason": "${"x".repeat(50)}`, isTruncated: true },
      "it printed more than is kept of it",
    ],
    [{ stdout: '{"veto": 1}' }, "it printed a veto that is neither true nor false"],
  ])("fails by %j", async (end, why) => {
    await expect(call(end)).rejects.toThrow(new PluginNotRun(why));
  });

  it("has less time before checks", async () => {
    const { hooks, limits } = connected({});
    for (const event of ["pre_check", "pre_fix", "post_check"] as const) await hooks[0]?.call(event, "{}");
    expect(limits).toEqual([10_000, undefined, undefined]);
  });

  it("may print anything after the fact", async () => {
    expect(await call({ stdout: "posted" }, "post_fix")).toEqual({ answer: undefined, results: ["success"] });
    expect(await call({ stdout: '{"veto": true}' }, "post_fix")).toEqual({ answer: undefined, results: ["success"] });
    await expect(call({ exitCode: 1 }, "post_fix")).rejects.toThrow("it ended with exit code 1");
  });
});
