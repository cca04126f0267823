import type { CheckStatus, Severity } from "#contract/checks.ts";
import type { PluginRun, PluginRunner } from "#domain/ports/plugins.ts";
import { defined } from "#kernel/values.ts";
import type { Check, Outcome } from "../check.ts";
import { type PluginOutput, parseOutput, printable } from "./output.ts";
import type { PerfValue } from "./perfdata.ts";

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

/** Cuts without leaving half of a surrogate pair. */
const cut = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…` : text;

function fitting(values: readonly PerfValue[]): readonly PerfValue[] {
  let room = maxPerfdataChars;
  const first = values.findIndex((value) => {
    room -= JSON.stringify(value).length + 1;
    return room < 0;
  });
  return first === -1 ? values : values.slice(0, first);
}

export type Ended = Extract<PluginRun, { isEnded: true }>;

function pluginDetails({ exitCode, stderr, isCut }: Ended, output: PluginOutput): Record<string, unknown> {
  const { text, longText, perfdata } = output;
  const values = fitting(perfdata.values);
  const errors = printable(stderr).trim();
  return {
    exit_code: exitCode,
    output: cut(text, maxTextChars),
    long_output: cut(longText, maxLongTextChars),
    perfdata: values,
    perfdata_malformed: perfdata.malformed,
    perfdata_omitted: perfdata.values.length - values.length,
    truncated: isCut || longText.length > maxLongTextChars || text.length > maxTextChars,
    ...(errors !== "" && { stderr: cut(errors, maxTextChars) }),
  };
}

function messageText({ text }: PluginOutput, { stderr, exitCode }: Ended): string {
  if (text !== "") return text;
  const [complaint = ""] = printable(stderr).trim().split("\n");
  const silence = `The plugin printed no text and ended with exit code ${exitCode}`;
  return complaint === "" ? silence : `${silence}; its error output begins: ${complaint}`;
}

/** The outcome of a run by the plugin interface of Nagios. */
export function nagiosOutcome(run: Ended): Outcome {
  const output = parseOutput(run.stdout, run.isCut);
  const details = pluginDetails(run, output);
  const text = messageText(output, run);
  const status = statuses[run.exitCode];
  if (status !== undefined) return { status, message: text, details };
  const error = `exit code ${run.exitCode}`;
  const said = output.text === "" ? "" : `: ${output.text}`;
  const message = `The plugin ended with ${error}, which means nothing to a monitoring system (0 to 3 do)${said}`;
  return { status: "fail", message, details: { ...details, error } };
}

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
      if (run.isEnded) return nagiosOutcome(run);
      const message = `The plugin gave no result: ${command[0]} ${run.reason}`;
      return { status: "fail", message, details: { error: run.reason } };
    },
  };
}
