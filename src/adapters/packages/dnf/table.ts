/** One line of what dnf says that it would do. */
export interface TableRow {
  readonly kind: "install" | "upgrade" | "downgrade" | "reinstall" | "remove";
  readonly name: string;
  readonly architecture: string;
  /** What is installed afterwards; what goes for a removal. */
  readonly version: string;
  readonly repository: string;
  /** `name-version.architecture` of installed packages that this one takes the place of. */
  readonly replaces: readonly string[];
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

/** A name that is too long for its column goes on in the next line, which begins where the column ends. */
function joined(lines: readonly string[]): readonly string[] {
  const whole: string[] = [];
  for (const line of lines) {
    const last = whole.at(-1);
    const isRest = /^ {2,}\S/.test(line) && !/^ +replacing /.test(line);
    if (isRest && last !== undefined) whole.splice(-1, 1, `${last} ${line.trim()}`);
    else whole.push(line);
  }
  return whole;
}

function rowsOf({ kind, lines }: Section): readonly TableRow[] {
  if (kind === undefined) return [];
  const rows: (TableRow & { replaces: string[] })[] = [];
  for (const line of joined(lines)) {
    const [, old, oldArchitecture, oldVersion] = /^ +replacing +(\S+)\.(\S+) (\S+)$/.exec(line) ?? [];
    const [, name, architecture, version, repository] =
      /^ (\S+) +(\S+) +(\S+) +(\S+) +[\d.]+(?: +[kMGTP]?)?$/.exec(line) ?? [];
    if (old !== undefined) rows.at(-1)?.replaces.push(`${old}-${oldVersion}.${oldArchitecture}`);
    else if (name !== undefined && architecture !== undefined && version !== undefined)
      rows.push({ kind, name, architecture, version, repository: repository ?? "", replaces: [] });
  }
  return rows;
}

/** The table that dnf prints before it begins; undefined where there is none. */
export function parseTable(text: string): readonly TableRow[] | undefined {
  const [, table] = /\n=+\n Package +Arch.*\n=+\n([\s\S]*?)\n\nTransaction Summary\n/.exec(`\n${text}`) ?? [];
  if (table === undefined) return undefined;
  const sections: Section[] = [];
  for (const line of table.split("\n")) {
    const heading = headings.find(([pattern]) => pattern.test(line));
    if (heading !== undefined) sections.push({ kind: heading[1], lines: [] });
    else sections.at(-1)?.lines.push(line);
  }
  return sections.flatMap(rowsOf);
}

/** What the summary below the table counts: how many packages each verb has. */
export function parseSummary(text: string): number {
  const [, summary = ""] = /\nTransaction Summary\n=+\n((?:\S+ +\d+ Packages?\n)+)/.exec(text) ?? [];
  const counted = summary.split("\n").filter((line) => !line.startsWith("Skip"));
  return counted.reduce((sum, line) => sum + Number(/(\d+) Packages?$/.exec(line)?.[1] ?? 0), 0);
}
