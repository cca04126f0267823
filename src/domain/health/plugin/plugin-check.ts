import { type CheckStatus, checkStatuses, type Severity } from "#contract/checks.ts";
import type { PluginRun, PluginRunner } from "#domain/ports/plugins.ts";
import { clipText } from "#kernel/text.ts";
import { defined, isRecord, parseJsonObject } from "#kernel/values.ts";
import type { Check, Outcome } from "../check.ts";
import { type PerfValue, type PluginOutput, parseOutput, printable } from "./output.ts";

export interface Plugin extends Pick<Check, "guardedBy"> {
  readonly id: string;
  readonly name?: string;
  readonly severity?: Severity;
  readonly command: readonly [program: string, ...args: string[]];
}

/** By exit code of the plugin interface. */
const statuses: readonly CheckStatus[] = ["pass", "warn", "fail", "skip"];

/** Limits that keep details below what a check may have. */
const maxTextChars = 1000;
const maxLongTextChars = 8 * 1024;
const maxPerfdataChars = 36 * 1024;

function fitting(values: readonly PerfValue[]): readonly PerfValue[] {
  let space = maxPerfdataChars;
  const first = values.findIndex((value) => {
    space -= JSON.stringify(value).length + 1;
    return space < 0;
  });
  return first === -1 ? values : values.slice(0, first);
}

export type Ended = Extract<PluginRun, { isEnded: true }>;

function pluginDetails({ exitCode, stderr, isCut }: Ended, output: PluginOutput) {
  const { text, longText, perfdata } = output;
  const values = fitting(perfdata.values);
  const errors = printable(stderr).trim();
  return {
    exit_code: exitCode,
    output: clipText(text, maxTextChars),
    long_output: clipText(longText, maxLongTextChars),
    perfdata: values,
    perfdata_malformed: perfdata.malformed,
    perfdata_omitted: perfdata.values.length - values.length,
    truncated: isCut || longText.length > maxLongTextChars || text.length > maxTextChars,
    ...(errors !== "" && { stderr: clipText(errors, maxTextChars) }),
  };
}

/** The end of what the plugin calls healthy. */
const endOf = (range: PerfValue["warn"]): number | null =>
  range === null || range.inside ? null : (range.end ?? range.start);

const thresholdsIn = (values: readonly PerfValue[]): NonNullable<Outcome["thresholds"]> =>
  Object.fromEntries(
    values.flatMap(({ label, warn, crit }) => {
      const [warns, fails] = [endOf(warn), endOf(crit)];
      if (warns === null && fails === null) return [];
      return [[label, { ...(warns !== null && { warn: warns }), ...(fails !== null && { fail: fails }) }]];
    }),
  );

function messageText({ text }: PluginOutput, { stderr, exitCode }: Ended): string {
  if (text !== "") return text;
  const [complaint = ""] = printable(stderr).trim().split("\n");
  const silence = `The plugin printed no text and ended with exit code ${exitCode}`;
  return complaint === "" ? silence : `${silence}; its error output begins: ${complaint}`;
}

function nagiosOutcome(run: Ended): Outcome {
  const output = parseOutput(run.stdout, run.isCut);
  const details = pluginDetails(run, output);
  const text = messageText(output, run);
  const status = statuses[run.exitCode];
  const thresholds = thresholdsIn(details.perfdata);
  if (status !== undefined)
    return { status, message: text, details, ...(Object.keys(thresholds).length > 0 && { thresholds }) };
  const error = `exit code ${run.exitCode}`;
  const said = output.text === "" ? "" : `: ${output.text}`;
  const message = `The plugin ended with ${error}, which is not a status of a monitoring plugin (0 to 3 are)${said}`;
  return { status: "fail", message, details: { ...details, error } };
}

const noResult = (why: string, details: Outcome["details"]): Outcome => ({
  status: "fail",
  message: `The plugin gave no result: ${why}`,
  details,
});

export function pluginCheck({ runner, ...plugin }: Plugin & { readonly runner: PluginRunner }): Check {
  const { id, name = id, severity = "medium", command, guardedBy } = plugin;
  return {
    id,
    name,
    category: "custom",
    severity,
    ...defined({ guardedBy }),
    async run(_settings, signal) {
      const run = await runner.run(command, signal);
      return run.isEnded ? nagiosOutcome(run) : noResult(`${command[0]} ${run.reason}`, { error: run.reason });
    },
  };
}

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
      return run.isEnded ? outcomes[output](run) : noResult(run.reason, { error: run.reason, ...run.output });
    },
  };
}

function broken({ exitCode, stderr }: Ended, why: string): Outcome {
  const errors = printable(stderr).trim().slice(0, maxTextChars);
  const details = { exit_code: exitCode, error: why, ...(errors !== "" && { stderr: errors }) };
  return noResult(why, details);
}

/** The outcome in one JSON object: `{"status": "pass|warn|fail|skip", "message": "…", "details": {…}}`. */
export function jsonOutcome(run: Ended): Outcome {
  if (run.exitCode !== 0) return broken(run, `it ended with exit code ${run.exitCode}`);
  if (run.isCut) return broken(run, "it printed too much");
  const answer = parseJsonObject(run.stdout);
  if (answer === undefined) return broken(run, "its output is not a single JSON object");
  const { status: said, message, details = {} } = answer;
  const status = checkStatuses.find((each) => each === said);
  if (status === undefined) return broken(run, `its status is not one of ${checkStatuses.join(", ")}`);
  if (typeof message !== "string" || message.trim() === "") return broken(run, "it has no message");
  if (!isRecord(details)) return broken(run, "its details are not an object");
  return { status, message: printable(message).trim(), details: { ...details } };
}
