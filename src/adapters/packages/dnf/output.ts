import { type ScriptError, scriptFailuresBy } from "../common/asking.ts";
import type { OutputReader } from "../common/transactions.ts";

const most = 3;

/** Where a terminal would show only what follows the last return. */
const terminalLines = (text: string): readonly string[] =>
  text.split("\n").map((line) => line.replace(/\r+$/, "").replace(/^.*\r/, "").trimEnd());

/** Rpm tells of a step, and what was printed before belongs to another one. */
const step = /^ +\S[^:]* : .* \d+\/\d+$/;

/** Scripts that failed. Dnf goes on after those that run when the files of a package are there already. */
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
  const told = own.length > 0 ? own : lines.slice(-1).map((line) => line.trim());
  return told.length > 0 ? told.join("; ") : `exit code ${exitCode}`;
}

export function parseLockConflict(text: string): { readonly pid: number | undefined } | undefined {
  const [, by] =
    /^(?:.*already locked by|Waiting for process with pid|\s*The application with PID) (\d+)/m.exec(text) ?? [];
  if (by !== undefined) return { pid: Number(by) };
  return /^.*(?:can't create transaction lock|Failed to obtain the transaction lock)/m.test(text)
    ? { pid: undefined }
    : undefined;
}

export const dnfOutput: OutputReader = { failureReason, parseLockConflict };
