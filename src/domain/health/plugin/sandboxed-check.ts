import type { Severity } from "#contract/checks.ts";
import type { Check } from "../check.ts";
import { jsonOutcome } from "./json-outcome.ts";
import { nagiosOutcome } from "./plugin-check.ts";
import type { PluginRun } from "./ports.ts";

const outcomes = { nagios: nagiosOutcome, json: jsonOutcome } as const;

/** To end what runs too long, and to hear what it had written, takes a moment. */
const graceMs = 10_000;

/** A check that is run elsewhere, in a sandbox. */
export function sandboxedCheck(plugin: {
  readonly id: string;
  readonly name: string;
  readonly severity: Severity;
  readonly intervalMs: number | undefined;
  readonly timeoutMs: number;
  /** How its output is read. */
  readonly output: "nagios" | "json";
  readonly run: (signal: AbortSignal) => Promise<PluginRun>;
}): Check {
  const { id, name, severity, intervalMs, timeoutMs, output } = plugin;
  return {
    id,
    name,
    category: "custom",
    severity,
    ...(intervalMs !== undefined && { intervalMs }),
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
