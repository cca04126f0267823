import { CommandFailed } from "#adapters/exec/command.ts";
import type { CommandOptions, CommandResult, Exec } from "#adapters/exec/index.ts";
import { createLineSplitter, type OutputLine } from "#adapters/exec/line-splitter.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import { type MissingPlan, type PackageRepairs, UpdateRefused } from "#domain/ports/packages.ts";
import { toError } from "#kernel/errors.ts";
import { areSame } from "./changes.ts";
import type { Argv } from "./ports.ts";

const maxReasonChars = 1000;

/** It was only asked, and says why it does not answer: somebody has to mend its settings, or what it has on disk. */
export class ManagerRefuses extends HostUnavailable {
  override readonly name = "ManagerRefuses";

  constructor(manager: string, reason: string) {
    const details = { missing: "answer of the package manager", retryable: false };
    super(`${manager} refuses to answer: ${reason.trim().slice(0, maxReasonChars)}`, details);
  }
}

export async function askWhole(
  { exec, manager }: { readonly exec: Exec; readonly manager: string },
  argv: Argv,
  signal: AbortSignal,
  options: Pick<CommandOptions, "timeoutMs" | "onOutput"> = {},
): Promise<CommandResult> {
  const result = await exec(argv, { signal, timeoutMs: 120_000, maxOutputBytes: 64 * 1024 * 1024, ...options });
  if (result.truncated) throw new CommandFailed(`cannot ask ${manager}: its answer has no end`);
  return result;
}

/** Of a longer line its beginning is told. */
const maxLineBytes = 1024 * 1024;

/** Tells the lines of what a program prints, as it comes: the program is not stopped by what is wrong with one. */
export function createOutputLines(onLine: (line: string) => void) {
  const splitter = createLineSplitter(maxLineBytes);
  let fault: Error | undefined;
  const tell = (lines: readonly OutputLine[]): void => {
    if (fault !== undefined) return;
    try {
      for (const { bytes } of lines) onLine(bytes.toString());
    } catch (error) {
      fault = toError(error);
    }
  };
  return {
    take: (chunk: Buffer): void => tell(splitter.push(chunk)),
    /** @throws Error what was wrong. */
    end(): void {
      tell(splitter.end());
      if (fault !== undefined) throw fault;
    },
  };
}

/** Fields as programs show them, `Name : value`, with more lines of a value below it, further in. */
export function parseShownFields(lines: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const fields = new Map<string, string[]>();
  let values: string[] | undefined;
  for (const line of lines) {
    const [, name, value = ""] = /^(\S[^:]*?) *: ?(.*)$/.exec(line) ?? [];
    if (name === undefined) values?.push(line);
    else {
      values = [value];
      fields.set(name, values);
    }
  }
  return fields;
}

function joinFailures(failures: readonly string[], most = 3): string {
  const more = failures.length > most ? [`and ${failures.length - most} more scripts`] : [];
  return [...failures.slice(0, most), ...more].join("; ");
}

/** A script of a package that failed, and the last that it said. */
export interface ScriptError {
  readonly name: string;
  /** Which of them, where that is told. */
  readonly script?: string;
  readonly said: string | undefined;
}

const describeScript = ({ name, script, said }: ScriptError): string =>
  `${name}: its ${script === undefined ? "" : `${script} `}script failed${said === undefined ? "" : ` (${said})`}`;

/** Says which scripts failed in an output; empty where none did. */
export const scriptFailuresBy =
  (parse: (text: string) => readonly ScriptError[]) =>
  (text: string): string =>
    joinFailures(parse(text).map(describeScript));

export async function orObstacle(plan: MissingPlan, work: () => Promise<MissingPlan>): Promise<MissingPlan> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UpdateRefused) return { ...plan, obstacle: error.message };
    throw error;
  }
}

/** The plan as it would be made now. @throws CommandFailed where it is not the one that was decided upon. */
export async function demandSamePlan(
  planMissing: PackageRepairs["planMissing"],
  plan: MissingPlan,
  signal: AbortSignal,
): Promise<MissingPlan> {
  const now = await planMissing(plan.reinstalled, signal);
  if (now.obstacle !== null) throw new CommandFailed(now.obstacle);
  if (areSame(now.changes, plan.changes)) return now;
  const found = now.changes.map(({ name, to }) => `${name} ${to}`).join(", ") || "nothing";
  throw new CommandFailed(`what has to be installed has changed meanwhile to ${found}: look at it and try again`);
}
