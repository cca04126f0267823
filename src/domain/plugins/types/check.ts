import type { PluginEnd } from "#domain/ports/plugins.ts";
import type { PluginKind, RunResult } from "../plugin-kind.ts";

/** The highest exit code with a meaning: `UNKNOWN`. */
const highestCode = 3;

/** A check that finds a problem has run successfully. */
function resultOf({ exitCode }: PluginEnd, output: "nagios" | "json"): RunResult {
  return exitCode === 0 || (output === "nagios" && exitCode <= highestCode) ? "success" : "failure";
}

export const checkKind: PluginKind<"check"> = {
  faultOf: ({ name }, points) =>
    points.checks.isTaken(name) ? `cannot be a check named ${name}: the service has one of that name` : undefined,
  connect({ manifest: { name, timeoutMs }, run }, role, points) {
    return points.checks.add({
      ...role,
      id: name,
      timeoutMs,
      run: (limitMs, signal) =>
        run({ timeoutMs: limitMs }, (end) => ({ result: resultOf(end, role.output), value: end }), signal),
    });
  },
};
