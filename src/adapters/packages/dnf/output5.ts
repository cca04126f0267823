import { CommandFailed } from "#adapters/exec/command.ts";
import { type ScriptError, scriptFailuresBy } from "../common/output.ts";
import { nevraOf, withoutZeroEpoch } from "../common/rpm/names.ts";
import type { TableRow } from "./dialect.ts";

const most = 3;

/** Scripts that failed. Dnf5 continues after those that run when the files of a package are there already. */
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
  const reported = below.slice(0, end < 0 ? undefined : end).map((line) => line.trim().replace(/^- /, ""));
  return [unresolved, reported.slice(0, most + 1).join("; ")].join(" ");
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
  const reported = own.length > 0 ? own.slice(-most) : lines.slice(-1);
  return reported.map((line) => line.replace(/^>>> /, "").trim()).join("; ") || `exit code ${exitCode}`;
}

export const parseLockConflict = (text: string): { readonly pid: number | undefined } | undefined =>
  /^.*(?:Failed to obtain rpm transaction lock|Waiting for a lock on the system repository)/m.test(text)
    ? { pid: undefined }
    : undefined;

/** Reads `[ 3/11] Upgrading library-0:2.0-1.noarch 100% | …`; downloads have no verb. */
export function parseStep(line: string): { readonly percent: number; readonly what: string } | undefined {
  const [, at, of, what] =
    /^\[ *(\d+)\/(\d+)\] (Verify package files|Prepare transaction|[A-Z][a-z]+ing \S+) +\d+% \|/.exec(line) ?? [];
  if (what === undefined || Number(of) === 0) return undefined;
  const percent = Math.min(100, Math.round((Number(at) / Number(of)) * 100));
  return { percent, what: `${what.charAt(0).toLowerCase()}${what.slice(1)}` };
}

/** Headings of the table. What dnf5 skips is listed below others, and is not done. */
const headings: readonly (readonly [RegExp, TableRow["kind"] | undefined])[] = [
  [/^Installing(?: dependencies| weak dependencies| group\/module packages)?:$/, "install"],
  [/^Upgrading:$/, "upgrade"],
  [/^Downgrading:$/, "downgrade"],
  [/^Reinstalling:$/, "reinstall"],
  [/^Removing(?: dependent packages| unused dependencies)?:$/, "remove"],
  [/^\S/, undefined],
];

/** Reads the table that dnf5 shows before it begins, as long as a terminal is not narrow; undefined where there is none. */
export function parseTable(text: string): readonly TableRow[] | undefined {
  const [, table] =
    /^Package +Arch +Version +Repository +Size *\n([\s\S]*?)\n\nTransaction Summary:\n/m.exec(text) ?? [];
  if (table === undefined) return undefined;
  const rows: (TableRow & { replaces: string[] })[] = [];
  let kind: TableRow["kind"] | undefined;
  for (const line of table.split("\n")) {
    const heading = headings.find(([pattern]) => pattern.test(line));
    if (heading !== undefined) kind = heading[1];
    if (heading !== undefined || kind === undefined) continue;
    const [, replacing, name = "", architecture = "", version = "", repository = ""] =
      /^ ( {2}replacing )?(\S+) +(\S+) +(\S+) +(\S+) +[\d.]+ +\S+ *$/.exec(line) ?? [];
    const found = { name, architecture, version: withoutZeroEpoch(version) };
    if (name === "") continue;
    if (replacing !== undefined) rows.at(-1)?.replaces.push(nevraOf(found));
    else rows.push({ kind, ...found, repository, replaces: [] });
  }
  return rows;
}

/** How many packages are counted below the table, for what is done and for what is replaced by it. */
function parseSummary(text: string): { readonly done: number; readonly replaced: number } {
  const [, summary = ""] = /^Transaction Summary:\n((?: .+\n)+)/m.exec(text) ?? [];
  const sum = (pattern: RegExp): number =>
    [...summary.matchAll(pattern)].reduce((total, [, count]) => total + Number(count), 0);
  return {
    done: sum(/^ (?:Installing|Upgrading|Downgrading|Reinstalling|Removing): +(\d+) packages?$/gm),
    replaced: sum(/^ Replacing: +(\d+) packages?$/gm),
  };
}

/** Reads what dnf5 would do. Of what a row replaces the older version of itself is left out. @throws CommandFailed when it cannot be read. */
export function parsePlan(text: string): readonly TableRow[] | undefined {
  const rows = parseTable(text);
  if (rows === undefined) return undefined;
  const { done, replaced } = parseSummary(text);
  if (rows.length !== done || rows.flatMap(({ replaces }) => replaces).length !== replaced)
    throw new CommandFailed("cannot read what dnf5 would do");
  return rows.map((row) => {
    const isItself = (nevra: string): boolean =>
      row.kind !== "install" && nevra.startsWith(`${row.name}-`) && nevra.endsWith(`.${row.architecture}`);
    const own = row.replaces.find((nevra) => isItself(nevra));
    return { ...row, replaces: row.replaces.filter((nevra) => nevra !== own) };
  });
}
