import { type ScriptError, scriptFailuresBy } from "../common/output.ts";
import type { OutputReader } from "../common/transactions.ts";

const most = 3;

export function parseStep(line: string): { readonly verb: string; readonly name: string } | undefined {
  const [, verb, name] = /^(installing|upgrading|downgrading|reinstalling|removing) (\S+)\.\.\.\s*$/.exec(line) ?? [];
  return verb === undefined || name === undefined ? undefined : { verb, name };
}

const hookOf = (line: string): string | undefined => /^\( *\d+\/\d+\) (.+?)(?:\.\.\.)?\s*$/.exec(line)?.[1];

/** Scripts and hooks that failed. Pacman continues after them and says that all was done. */
export function parseScriptErrors(text: string): readonly ScriptError[] {
  const errors: ScriptError[] = [];
  let name = "a script";
  let said: string | undefined;
  for (const line of text.split("\n")) {
    const started = parseStep(line)?.name ?? hookOf(line);
    if (started !== undefined) {
      name = started;
      said = undefined;
    } else if (/^error: command (?:failed to execute correctly|terminated by signal )/.test(line)) {
      errors.push({ name, said });
      said = undefined;
    } else if (line.trim() !== "") said = line.trim();
  }
  return errors;
}

export const scriptAndHookFailures = scriptFailuresBy(parseScriptErrors);

/** What pacman says of the packages themselves goes before what it makes of that. */
const details = [
  /^\S+: .+ exists in (?:filesystem|both .+)/,
  /^:: File (?:\S*\/)?(\S+ is corrupted .+?)\.?$/,
  /^:: (.+ are in conflict(?:\b.*)?|unable to satisfy .+)$/,
];

export function failureReason(text: string, exitCode: number): string {
  const whole = text.replace(/^(error: .*:)\n(?=\()/gm, "$1 ");
  const lines = whole.split("\n").map((line) => line.trim());
  const reported = lines.flatMap((line) => {
    const found = details.map((detail) => detail.exec(line)).find((match) => match !== null);
    return found === undefined ? [] : [found[1] ?? found[0]];
  });
  const errors = lines.flatMap((line) => /^error: (.+)$/.exec(line)?.[1] ?? []);
  // The last error says what could not be done; the first ones, why.
  const own = [...new Set([...reported, ...errors])].slice(0, most);
  if (own.length > 0) return own.join("; ");
  return lines.findLast((line) => line !== "") ?? `exit code ${exitCode}`;
}

export const parseLockConflict = (text: string): { readonly pid: undefined } | undefined =>
  /^error: .*unable to lock database/m.test(text) ? { pid: undefined } : undefined;

export const pacmanOutput: OutputReader = { failureReason, parseLockConflict };
