import { CommandFailed } from "#adapters/exec/command.ts";
import { type ScriptError, scriptFailuresBy } from "../common/output.ts";
import type { TableRow } from "./dialect.ts";

const most = 3;

/** Where a terminal would show only what follows the last return. */
const terminalLines = (text: string): readonly string[] =>
  text.split("\n").map((line) => line.replace(/\r+$/, "").replace(/^.*\r/, "").trimEnd());

/** Rpm announces a step, and what was printed before belongs to another one. */
const step = /^ +\S[^:]* : .* \d+\/\d+$/;

/** Scripts that failed. Dnf continues after those that run when the files of a package are there already. */
export function parseScriptErrors(text: string): readonly ScriptError[] {
  const errors: ScriptError[] = [];
  let said: string | undefined;
  for (const line of terminalLines(text)) {
    const [, script, name] = /^Error in (\S+) scriptlet in rpm package (\S+)$/.exec(line) ?? [];
    if (script !== undefined && name !== undefined) {
      errors.push({ name, script, said });
      said = undefined;
    } else if (step.test(line)) said = undefined;
    else if (/^warning: %\S+ scriptlet failed/.test(line) && said !== undefined) continue;
    else if (line !== "") said = line.trim();
  }
  return errors;
}

export const scriptFailures = scriptFailuresBy(parseScriptErrors);

const ownLine =
  /^(?:No match for argument: |All matches were filtered out |\[FAILED\] |Package ".*" from local repository )/;

function ownWords(lines: readonly string[]): readonly string[] {
  const words: string[] = [];
  for (const [at, line] of lines.entries()) {
    const [found, own] = /(?:^| )Error:(?: (.*))?$/.exec(line) ?? [];
    if (found !== undefined) {
      const below = lines.slice(at + 1).findIndex((next) => !/^ +\S/.test(next));
      const details = lines.slice(at + 1, below < 0 ? undefined : at + 1 + below).map((next) => next.trim());
      words.push([own ?? "", ...details.slice(0, most)].join(" ").trim());
    } else if (ownLine.test(line)) words.push(line);
  }
  return words.filter((word) => word !== "");
}

function mistrusted(text: string): readonly string[] {
  if (!/^Error: GPG check FAILED$/m.test(text)) return [];
  const unsigned = [...text.matchAll(/^Package (\S+) is not signed$/gm)].map(
    ([, file = ""]) => `${file} is not signed, so it cannot be verified: ask its publisher why`,
  );
  const foreign = [...text.matchAll(/Failing package is: (\S+)$/gm)].map(
    ([, name = ""]) =>
      `${name} is signed with a key that is not among those of its repository: compare it with the key that the publisher announces before you add it to gpgkey`,
  );
  return [...unsigned, ...foreign].slice(0, most);
}

export function failureReason(text: string, exitCode: number): string {
  const scripts = scriptFailures(text);
  if (scripts !== "") return scripts;
  const trust = mistrusted(terminalLines(text).join("\n"));
  if (trust.length > 0) return trust.join("; ");
  const lines = terminalLines(text).filter((line) => line.trim() !== "");
  const own = ownWords(lines).slice(-most);
  const reported = own.length > 0 ? own : lines.slice(-1).map((line) => line.trim());
  return reported.length > 0 ? reported.join("; ") : `exit code ${exitCode}`;
}

export function parseLockConflict(text: string): { readonly pid: number | undefined } | undefined {
  const [, by] =
    /^(?:.*already locked by|Waiting for process with pid|\s*The application with PID) (\d+)/m.exec(text) ?? [];
  if (by !== undefined) return { pid: Number(by) };
  return /^.*(?:can't create transaction lock|Failed to obtain the transaction lock)/m.test(text)
    ? { pid: undefined }
    : undefined;
}

export function parseStep(line: string): { readonly percent: number; readonly what: string } | undefined {
  const [, verb, name, at, of] = /^ +(\S[^:]*?) *: (\S+) +(\d+)\/(\d+)\s*$/.exec(line.replace(/\r/g, "")) ?? [];
  if (verb === undefined || name === undefined || Number(of) === 0) return undefined;
  return { percent: Math.min(100, Math.round((Number(at) / Number(of)) * 100)), what: `${verb.toLowerCase()} ${name}` };
}

/** To verify is the last tenth; the numbers begin again there. */
export function parseProgress(line: string): ReturnType<typeof parseStep> {
  const found = parseStep(line);
  if (found === undefined) return undefined;
  const { percent, what } = found;
  return { percent: what.startsWith("verifying") ? 90 + Math.floor(percent / 10) : Math.floor(percent * 0.9), what };
}

/** Headings of the table. What dnf skips or has broken is listed below others, and is not done. */
const headings: readonly (readonly [RegExp, TableRow["kind"] | undefined])[] = [
  [/^(Installing|Installing dependencies|Installing weak dependencies|Installing group\/module packages):$/, "install"],
  [/^Upgrading:$/, "upgrade"],
  [/^Downgrading:$/, "downgrade"],
  [/^Reinstalling:$/, "reinstall"],
  [/^(Removing|Removing dependent packages|Removing unused dependencies|Removing replaced packages):$/, "remove"],
  [/^\S.*:?$/, undefined],
];

interface Section {
  readonly kind: TableRow["kind"] | undefined;
  readonly lines: string[];
}

function joinWrapped(lines: readonly string[]): readonly string[] {
  const whole: string[] = [];
  for (const line of lines) {
    const last = whole.at(-1);
    const isRest = /^ {2,}\S/.test(line) && !/^ +replacing /.test(line);
    if (isRest && last !== undefined) whole.splice(-1, 1, `${last} ${line.trim()}`);
    else whole.push(line);
  }
  return whole;
}

function tableRows({ kind, lines }: Section): readonly TableRow[] {
  if (kind === undefined) return [];
  const rows: (TableRow & { replaces: string[] })[] = [];
  for (const line of joinWrapped(lines)) {
    const [, old, oldArchitecture, oldVersion] = /^ +replacing +(\S+)\.(\S+) (\S+)$/.exec(line) ?? [];
    const [, name, architecture, version, repository] =
      /^ (\S+) +(\S+) +(\S+) +(\S+) +[\d.]+(?: +[kMGTP]?)?$/.exec(line) ?? [];
    if (old !== undefined) rows.at(-1)?.replaces.push(`${old}-${oldVersion}.${oldArchitecture}`);
    else if (name !== undefined && architecture !== undefined && version !== undefined)
      rows.push({ kind, name, architecture, version, repository: repository ?? "", replaces: [] });
  }
  return rows;
}

export function parseTable(text: string): readonly TableRow[] | undefined {
  const [, table] = /\n=+\n Package +Arch.*\n=+\n([\s\S]*?)\n\nTransaction Summary\n/.exec(`\n${text}`) ?? [];
  if (table === undefined) return undefined;
  const sections: Section[] = [];
  for (const line of table.split("\n")) {
    const heading = headings.find(([pattern]) => pattern.test(line));
    if (heading !== undefined) sections.push({ kind: heading[1], lines: [] });
    else sections.at(-1)?.lines.push(line);
  }
  return sections.flatMap(tableRows);
}

export function parseSummary(text: string): number {
  const [, summary = ""] = /\nTransaction Summary\n=+\n((?:\S+ +\d+ Packages?\n)+)/.exec(text) ?? [];
  const counted = summary.split("\n").filter((line) => !line.startsWith("Skip"));
  return counted.reduce((sum, line) => sum + Number(/(\d+) Packages?$/.exec(line)?.[1] ?? 0), 0);
}

/** @throws CommandFailed when it cannot be read. */
export function parsePlan(text: string): readonly TableRow[] | undefined {
  const rows = parseTable(text);
  if (rows !== undefined && rows.length !== parseSummary(text))
    throw new CommandFailed("cannot read what dnf would do");
  return rows;
}
