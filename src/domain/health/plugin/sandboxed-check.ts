import { checkStatuses, type Severity } from "#contract/checks.ts";
import type { PluginRun } from "#domain/ports/plugins.ts";
import { defined, isRecord, parseJsonObject } from "#kernel/values.ts";
import type { Check, Outcome } from "../check.ts";
import { printable } from "./output.ts";
import { type Ended, nagiosOutcome } from "./plugin-check.ts";

const outcomes = { nagios: nagiosOutcome, json: jsonOutcome } as const;

/** Time to end a plugin and read what it has written. */
const graceMs = 10_000;

export function sandboxedCheck(plugin: {
  readonly id: string;
  readonly name: string;
  readonly severity: Severity;
  readonly intervalMs: number | undefined;
  readonly timeoutMs: number;
  readonly output: "nagios" | "json";
  readonly guardsUpdates: boolean;
  readonly run: (signal: AbortSignal) => Promise<PluginRun>;
}): Check {
  const { id, name, severity, intervalMs, timeoutMs, output, guardsUpdates } = plugin;
  return {
    id,
    name,
    category: "custom",
    severity,
    ...defined({ intervalMs }),
    ...(guardsUpdates && { guardedBy: "change" }),
    timeoutMs,
    graceMs,
    async run(_settings, signal) {
      const run = await plugin.run(signal);
      if (run.isEnded) return outcomes[output](run);
      const message = `The plugin gave no result: ${run.reason}`;
      return { status: "fail", message, details: { error: run.reason, ...run.output } };
    },
  };
}

const maxStderrChars = 1000;

function broken({ exitCode, stderr }: Ended, why: string): Outcome {
  const errors = printable(stderr).trim().slice(0, maxStderrChars);
  const details = { exit_code: exitCode, error: why, ...(errors !== "" && { stderr: errors }) };
  return { status: "fail", message: `The plugin gave no result: ${why}`, details };
}

/** The outcome in one JSON object: `{"status": "pass|warn|fail|skip", "message": "…", "details": {…}}`. */
export function jsonOutcome(run: Ended): Outcome {
  if (run.exitCode !== 0) return broken(run, `it ended with exit code ${run.exitCode}`);
  if (run.isCut) return broken(run, "it printed too much");
  const answer = parseJsonObject(run.stdout);
  if (answer === undefined) return broken(run, "it printed something else than one JSON object");
  const { status: said, message, details = {} } = answer;
  const status = checkStatuses.find((each) => each === said);
  if (status === undefined) return broken(run, `its status is none of ${checkStatuses.join(", ")}`);
  if (typeof message !== "string" || message.trim() === "") return broken(run, "it has no message");
  if (!isRecord(details)) return broken(run, "its details are no object");
  return { status, message: printable(message).trim(), details: { ...details } };
}
