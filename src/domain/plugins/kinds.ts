import type { PluginType } from "#contract/plugins.ts";
import { type PluginEnd, PluginNotRun } from "#domain/ports/plugins.ts";
import { parseJsonObject } from "#kernel/values.ts";
import type { PluginKind, RunResult } from "./plugin-kind.ts";

const commandKind: PluginKind<"command"> = {
  faultOf: () => undefined,
  connect({ manifest: { name }, run }, _role, points) {
    return points.commands.add({
      name,
      run: (input, signal) =>
        run(input, (end) => ({ result: end.exitCode === 0 ? "success" : "failure", value: end }), signal),
    });
  },
};

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

const maxReasonChars = 1000;
/** Checks wait for it, few at a time: one that hangs must not stop them for long. */
const maxPreCheckMs = 10_000;
/** Control, bidirectional and invisible characters. */
const unruly = /[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

const inert = (text: string): string => text.replaceAll(unruly, " ").trim().slice(0, maxReasonChars);

/** The objection of a hook. A failed objection must not pass for consent. */
function objection({ stdout, isTruncated }: PluginEnd): string | undefined {
  if (isTruncated) throw new PluginNotRun("it printed more than is kept of it");
  if (stdout.trim() === "") return undefined;
  const answer = parseJsonObject(stdout);
  if (answer === undefined) throw new PluginNotRun("its output is not a single JSON object");
  const { veto, reason } = answer;
  if (veto === undefined || veto === false) return undefined;
  if (veto !== true) throw new PluginNotRun("it printed a veto that is neither true nor false");
  return (typeof reason === "string" ? inert(reason) : "") || "it gives no reason";
}

function requireSuccess({ exitCode, stderr }: PluginEnd): void {
  if (exitCode === 0) return;
  const complaint = inert(stderr.trim().split("\n")[0] ?? "");
  throw new PluginNotRun(`it ended with exit code ${exitCode}${complaint === "" ? "" : `: ${complaint}`}`);
}

/** Called before and after events, with the event as JSON on standard input. */
export const hookKind: PluginKind<"hook"> = {
  faultOf: () => undefined,
  connect({ manifest: { name, timeoutMs }, run }, { events, onFailure }, points) {
    return points.hooks.add({
      name,
      events,
      onFailure,
      call: (event, message) =>
        run(
          { stdin: message, ...(event === "pre_check" && { timeoutMs: Math.min(timeoutMs, maxPreCheckMs) }) },
          (end) => {
            requireSuccess(end);
            const value = event.startsWith("pre_") ? objection(end) : undefined;
            return { result: value === undefined ? "success" : "veto", value };
          },
        ),
    });
  },
};

export const pluginKinds: { readonly [T in PluginType]: PluginKind<T> } = {
  command: commandKind,
  check: checkKind,
  hook: hookKind,
};
