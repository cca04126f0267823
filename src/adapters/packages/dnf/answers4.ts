import type { CommandResult } from "#adapters/exec/index.ts";
import type { PackageVersion } from "#domain/ports/packages.ts";
import type { Findings } from "../common/rpm/findings.ts";
import { parseNevra, withoutZeroEpoch } from "../common/rpm/names.ts";
import type { AdvisedRpm } from "../common/rpm/offers.ts";

/** Reads `check-update`: what an upgrade would bring, without what takes the place of other packages. */
export function parseCheckUpdate(text: string): readonly PackageVersion[] {
  const [list = ""] = text.split(/^Obsoleting Packages$/m);
  const lines = list.replace(/\n +/g, " ").split("\n");
  return lines.flatMap((line) => {
    const [, name, architecture, version] = /^(\S+)\.([^\s.]+) +(\S+) +(\S+) *$/.exec(line) ?? [];
    if (name === undefined || architecture === undefined || version === undefined) return [];
    return [{ name, architecture, version: withoutZeroEpoch(version) }];
  });
}

export const parseAdvisories = (text: string): readonly AdvisedRpm[] =>
  text.split("\n").flatMap((line) => {
    const [, advisory, nevra = ""] = /^(?:i )? *(\S+) +\S+ +(\S+) *$/.exec(line) ?? [];
    const found = parseNevra(nevra);
    return advisory === undefined || found === undefined ? [] : [{ ...found, advisory }];
  });

type CheckFindings = Pick<Findings, "unmet" | "duplicates">;

export function parseCheck(text: string): CheckFindings {
  const unmet: CheckFindings["unmet"][number][] = [];
  const duplicates: CheckFindings["duplicates"][number][] = [];
  for (const line of text.split("\n")) {
    const [, nevra = "", what = "", subject = ""] =
      /^(\S+) (has missing requires of|has installed conflict|is a duplicate with|is obsoleted by) (.+)$/.exec(line) ??
      [];
    const found = parseNevra(nevra);
    if (found === undefined) continue;
    const other = parseNevra(subject);
    if (what === "is a duplicate with" && other !== undefined) duplicates.push({ old: found, kept: other });
    else if (what === "has missing requires of") unmet.push({ name: found.name, needs: `Requires: ${subject}` });
    else if (what === "has installed conflict") unmet.push({ name: found.name, needs: `Conflicts: ${subject}` });
  }
  return { unmet, duplicates };
}

/** Whether the last transaction in the history was started and has no end. Reads `history info last`. */
export const isUnfinished = (text: string): boolean => /^End rpmdb +: +\*\*/m.test(text);
/** Packages that such a transaction was to bring and to take away. Which of it was done is not written down. */
export function unfinishedIn(text: string): {
  readonly brought: readonly PackageVersion[];
  readonly removed: readonly PackageVersion[];
} {
  const packagesOf = (pattern: RegExp): readonly PackageVersion[] =>
    [...text.matchAll(pattern)].flatMap(([, nevra = ""]) => parseNevra(nevra) ?? []);
  return {
    brought: packagesOf(/^ \*\* (?:Install|Upgrade|Downgrade|Reinstall) +(\S+)/gm),
    removed: packagesOf(/^ \*\* (?:Removed|Erase|Obsoleted) +(\S+)/gm),
  };
}
export const hasTransactions = (text: string): boolean => /^ *\d+ \|/m.test(text);

/** Reads `needs-restarting --reboothint`. */
export const asksReboot = ({ exitCode, stdout }: Pick<CommandResult, "exitCode" | "stdout">): boolean =>
  exitCode === 1 && /^Reboot is required/m.test(stdout);

/** Patterns of packages that the plugin versionlock keeps at a version; those with `!` only bar one version. */
export const parseVersionLocks = (text: string): readonly string[] =>
  text
    .split("\n")
    .map((line) => line.replace(/#.*/, "").trim())
    .filter((line) => line !== "" && !line.startsWith("!"));

export function parseExcludes(text: string): readonly string[] {
  const [, main = ""] = /(?:^|\n)\[main\][^\n]*\n([\s\S]*?)(?=\n\[|$)/.exec(text) ?? [];
  const values = main.replace(/\n[ \t]+/g, " ").matchAll(/^(?:excludepkgs|exclude)[ \t]*=(.*)$/gm);
  return [...values].flatMap(([, value = ""]) => value.split(/[\s,]+/).filter((word) => word !== ""));
}
