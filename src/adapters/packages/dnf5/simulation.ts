import { CommandFailed } from "#adapters/exec/command.ts";
import { UpdateRefused } from "#domain/ports/packages.ts";
import { nevraOf, withoutZeroEpoch } from "../common/rpm/names.ts";
import { availableFormat } from "../common/rpm/queries.ts";
import type { Asking, Simulate, TableRow } from "../common/rpm/table.ts";
import type { Dnf5 } from "./host.ts";
import { failureReason } from "./output.ts";

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

/**
 * What dnf5 would do, by the table that it shows: a transaction that it stores would be easier to read, but it downloads the packages
 * for that.
 */
export const createSimulate =
  ({ tryAsking }: Pick<Dnf5, "tryAsking">): Simulate =>
  async (words, signal) => {
    const { exitCode, stdout, stderr } = await tryAsking(["--assumeno", ...words], signal);
    const rows = parsePlan(stdout);
    if (rows !== undefined) return rows;
    if (exitCode === 0) return [];
    throw new UpdateRefused(failureReason(`${stdout}\n${stderr}`, exitCode));
  };

export const askOffered =
  ({ ask }: Pick<Dnf5, "ask">): Asking =>
  (nevras, signal) =>
    ask(["repoquery", `--queryformat=${availableFormat}\\n`, "--", ...nevras], signal);
