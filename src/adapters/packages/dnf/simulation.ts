import { CommandFailed } from "#adapters/exec/command.ts";
import { UpdateRefused } from "#domain/ports/packages.ts";
import { availableFormat } from "../common/rpm/queries.ts";
import type { Asking, Simulate, TableRow } from "../common/rpm/table.ts";
import type { Dnf } from "./host.ts";
import { failureReason } from "./output.ts";

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

/** What dnf would do, by the table that it shows. */
export const createSimulate =
  ({ tryAsking }: Pick<Dnf, "tryAsking">): Simulate =>
  async (words, signal) => {
    // Quiet, dnf would not tell what it would do.
    const { exitCode, stdout, stderr } = await tryAsking(["--assumeno", "--verbose", ...words], signal);
    const rows = parseTable(stdout);
    if (rows !== undefined) {
      if (rows.length !== parseSummary(stdout)) throw new CommandFailed("cannot read what dnf would do");
      return rows;
    }
    if (exitCode === 0 || /^Error: No packages marked for (?:upgrade|install)/m.test(stderr)) return [];
    // Which names it does not know, and which it leaves out, it tells among the rest.
    const told = /^Error: Unable to find a match: /m.test(stderr) ? `${stdout}\n${stderr}` : stderr;
    throw new UpdateRefused(failureReason(told, exitCode));
  };

export const askOffered =
  ({ ask }: Pick<Dnf, "ask">): Asking =>
  (nevras, signal) =>
    ask(["repoquery", `--queryformat=${availableFormat}`, "--", ...nevras], signal);
