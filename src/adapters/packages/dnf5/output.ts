import { type ScriptError, scriptFailuresBy } from "../common/asking.ts";
import type { OutputReader } from "../common/transactions.ts";

const most = 3;

/** Scripts that failed. Dnf5 goes on after those that run when the files of a package are there already. */
export function parseScriptErrors(text: string): readonly ScriptError[] {
  const errors: ScriptError[] = [];
  const lines = text.split("\n");
  for (const [at, line] of lines.entries()) {
    const [, script, name] =
      /^>>> (?:Error|Non-critical error) in (%\S+) scriptlet: (\S+)-[^\s-]+-[^\s-]+$/.exec(line) ?? [];
    if (script === undefined || name === undefined) continue;
    const [, said] = /^>>> (?:\[RPM\] |Scriptlet output: *)?(.+)$/.exec(lines[at + 1] ?? "") ?? [];
    errors.push({ name, script, said: said?.trim() });
  }
  return errors;
}

export const scriptFailures = scriptFailuresBy(parseScriptErrors);

function mistrusted(text: string): readonly string[] {
  const found = text.matchAll(/^OpenPGP check for package "(\S+)" .*has failed: (.*)$/gm);
  return [...found]
    .slice(0, most)
    .map(([, name = "", why = ""]) =>
      /not signed/.test(why)
        ? `${name} is not signed, so it cannot be verified: ask its publisher why`
        : `${name} is signed with a key that is not among those of its repository (${why.replace(/\.$/, "")}): compare it with the key that the publisher announces before you add it to gpgkey`,
    );
}

const unresolved = "Failed to resolve the transaction:";

/** Whether dnf5 says that a stored transaction cannot be done as it is. */
export const isUnresolved = (reason: string): boolean => reason.startsWith(unresolved);

/** What is below the heading, up to the advice that follows. */
function whyUnresolved(lines: readonly string[]): string | undefined {
  const at = lines.indexOf(unresolved);
  if (at < 0) return undefined;
  const below = lines.slice(at + 1);
  const end = below.findIndex((line) => line.startsWith("You can try to add"));
  const told = below.slice(0, end < 0 ? undefined : end).map((line) => line.trim().replace(/^- /, ""));
  return [unresolved, told.slice(0, most + 1).join("; ")].join(" ");
}

export function failureReason(text: string, exitCode: number): string {
  const scripts = scriptFailures(text);
  if (scripts !== "") return scripts;
  const trust = mistrusted(text);
  if (trust.length > 0) return trust.join("; ");
  const lines = text
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line) => line !== "" && !line.startsWith("Cannot open log file: "));
  const why = whyUnresolved(lines);
  if (why !== undefined) return why;
  const own = lines.filter((line) =>
    /^(?:Failed to |Cannot |No match |No package |Transaction failed: |>>> (?!Already downloaded|Running ))/.test(line),
  );
  const told = own.length > 0 ? own.slice(-most) : lines.slice(-1);
  return told.map((line) => line.replace(/^>>> /, "").trim()).join("; ") || `exit code ${exitCode}`;
}

export const parseLockConflict = (text: string): { readonly pid: number | undefined } | undefined =>
  /^.*(?:Failed to obtain rpm transaction lock|Waiting for a lock on the system repository)/m.test(text)
    ? { pid: undefined }
    : undefined;

export const dnf5Output: OutputReader = { failureReason, parseLockConflict };
