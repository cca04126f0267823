import { describe, expect, it } from "vitest";
import type { PluginManifest } from "#domain/ports/plugins.ts";
import { plainManifest } from "../../../test/fakes/plugin-directories.ts";
import { checkKind } from "./kinds.ts";
import type { ExtensionPoints, PluginCheck, PluginInput, RunResult } from "./plugin-kind.ts";

const role = {
  type: "check",
  title: "Age",
  severity: "high",
  intervalMs: 900_000,
  output: "nagios",
  guardsUpdates: false,
} as const;
const manifest: PluginManifest = { ...plainManifest("age"), role };

function connected(exitCode: number, output: "nagios" | "json" = "nagios") {
  const checks: PluginCheck[] = [];
  const results: RunResult[] = [];
  const inputs: PluginInput[] = [];
  const points: ExtensionPoints = {
    hooks: { add: () => () => undefined },
    commands: { add: () => () => undefined },
    checks: {
      isTaken: (id) => id === "memory",
      add(check) {
        checks.push(check);
        return () => checks.pop();
      },
    },
  };
  const release = checkKind.connect(
    {
      manifest,
      run(input, read) {
        inputs.push(input);
        const { result, value } = read({ exitCode, stdout: "OK", stderr: "", isTruncated: false });
        results.push(result);
        return Promise.resolve(value);
      },
    },
    { ...role, output },
    points,
  );
  return { checks, results, inputs, points, release };
}

describe("a check plugin", () => {
  it.each([
    [0, "nagios", "success"],
    [2, "nagios", "success"],
    [3, "nagios", "success"],
    [4, "nagios", "failure"],
    [0, "json", "success"],
    [2, "json", "failure"],
  ] as const)("that exits with %i and prints %s counts as a %s", async (exitCode, output, result) => {
    const { checks, results, inputs } = connected(exitCode, output);
    const end = await checks[0]?.run(7_000, new AbortController().signal);
    expect(end).toMatchObject({ exitCode, stdout: "OK" });
    expect([results, inputs]).toEqual([[result], [{ timeoutMs: 7_000 }]]);
  });
});
